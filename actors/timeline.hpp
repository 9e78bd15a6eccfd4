// Virtual time for ordinary CAF actors: a scheduler that runs every ready actor on the calling
// thread and, when none is ready, jumps to the earliest delayed message or timeout. Order is (time,
// phase, sequence number), so a run is a pure function of its inputs. This is the only place that
// touches CAF's scheduler internals (CAF 0.17.6).
//
// Phases: everything that happens at an instant comes before the messages sent with send_settled
// for that instant. An executor forms its batch there, so that whatever arrives at the same
// nanosecond is seen whichever came first.
#pragma once

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// The clock that delayed sends, request timeouts and receive timeouts reach.
class virtual_clock final : public caf::actor_clock {
 public:
  time_point now() const noexcept override { return now_; }

  void schedule_message(time_point due, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;
  void schedule_message(time_point due, caf::group target, caf::strong_actor_ptr sender,
                        caf::message content) override;
  void set_ordinary_timeout(time_point due, caf::abstract_actor* self, caf::atom_value type,
                            std::uint64_t id) override;
  void set_multi_timeout(time_point due, caf::abstract_actor* self, caf::atom_value type,
                         std::uint64_t id) override;
  void set_request_timeout(time_point due, caf::abstract_actor* self, caf::message_id id) override;
  void cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) override;
  void cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) override;
  void cancel_timeouts(caf::abstract_actor* self) override;
  void cancel_all() override;

  /// Delivers `content` now, after all else that happens at this instant.
  void schedule_settled(caf::strong_actor_ptr receiver, caf::mailbox_element_ptr content);

  /// Advances to the earliest event and hands it to its receiver; false when there is none.
  bool deliver_next(caf::execution_unit* unit);

 private:
  struct event {
    time_point due;
    std::uint32_t phase;
    std::uint64_t sequence;
    std::function<void(caf::execution_unit*)> timer;  // a timeout; empty for a message
    caf::strong_actor_ptr receiver;
    caf::mailbox_element_ptr content;
  };
  // Actor, kind of timeout ('o'rdinary or 'r'equest) and its type or id: one live timeout each.
  using timer_key = std::tuple<caf::actor_id, char, std::uint64_t>;

  static bool later(const event& a, const event& b);
  void push(event e);
  void set_timer(time_point due, timer_key key, std::function<void(caf::execution_unit*)> ring);

  std::vector<event> heap_;
  std::map<timer_key, std::uint64_t> live_timers_;
  std::uint64_t sequence_ = 0;
  time_point now_{};
};

/// The scheduler module. One actor system has one timeline and runs on one thread.
class timeline final : public caf::scheduler::abstract_coordinator {
 public:
  explicit timeline(caf::actor_system& sys) : abstract_coordinator{sys} {}

  /// Installs a timeline in every actor system made from `config`.
  static void install(caf::actor_system_config& config);
  /// The timeline of a system made from such a configuration.
  static timeline& of(caf::actor_system& system);

  /// Runs until nothing is left to happen or `stop` says so; `stop` is asked before every
  /// resumption and event. Returns the number of resumed actors.
  std::uint64_t run(const std::function<bool()>& stop);

  /// Virtual time since the start of the run.
  sim_time now() const { return clock_.now().time_since_epoch(); }

  /// Sends `content` to `receiver` at this instant, after all else that happens now.
  template <class... Ts>
  void send_settled(const caf::actor& receiver, Ts&&... content) {
    clock_.schedule_settled(caf::actor_cast<caf::strong_actor_ptr>(receiver),
                            caf::make_mailbox_element(nullptr, caf::make_message_id(), {},
                                                      std::forward<Ts>(content)...));
  }

  void start() override;
  void stop() override;
  void enqueue(caf::resumable* job) override { ready_.push_back(job); }
  bool detaches_utility_actors() const override { return false; }
  virtual_clock& clock() noexcept override { return clock_; }

 private:
  struct unit final : caf::execution_unit {
    explicit unit(timeline& t) : caf::execution_unit{&t.system()}, owner{t} {}
    void exec_later(caf::resumable* job) override { owner.ready_.push_back(job); }
    timeline& owner;
  };

  void resume(caf::resumable* job);

  std::deque<caf::resumable*> ready_;
  virtual_clock clock_;
  std::unique_ptr<unit> unit_;
};

}  // namespace refrain
