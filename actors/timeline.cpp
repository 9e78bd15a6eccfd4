#include "actors/timeline.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "traces/error.hpp"

namespace refrain {

bool virtual_clock::later(const event& a, const event& b) {
  return std::tie(a.due, a.phase, a.sequence) > std::tie(b.due, b.phase, b.sequence);
}

void virtual_clock::push(event e) {
  // A message cannot arrive before it was sent.
  e.due = std::max(e.due, now_);
  heap_.push_back(std::move(e));
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void virtual_clock::schedule_message(time_point due, caf::strong_actor_ptr receiver,
                                     caf::mailbox_element_ptr content) {
  push({due, 0, sequence_++, nullptr, std::move(receiver), std::move(content)});
}

void virtual_clock::schedule_settled(caf::strong_actor_ptr receiver,
                                     caf::mailbox_element_ptr content) {
  push({now_, 1, sequence_++, nullptr, std::move(receiver), std::move(content)});
}

void virtual_clock::schedule_message(time_point due, caf::group target,
                                     caf::strong_actor_ptr sender, caf::message content) {
  auto ring = [target = std::move(target), sender = std::move(sender),
               content = std::move(content)](caf::execution_unit* unit) {
    target.get()->enqueue(sender, caf::make_message_id(), content, unit);
  };
  push({due, 0, sequence_++, std::move(ring), nullptr, nullptr});
}

void virtual_clock::set_timer(time_point due, timer_key key,
                              std::function<void(caf::execution_unit*)> ring) {
  std::uint64_t mine = sequence_++;
  live_timers_[key] = mine;
  // Only the newest timer of its kind rings; a cancelled one finds no live entry.
  auto ring_if_live = [this, key, mine, ring = std::move(ring)](caf::execution_unit* unit) {
    auto found = live_timers_.find(key);
    if (found != live_timers_.end() && found->second == mine) {
      live_timers_.erase(found);
      ring(unit);
    }
  };
  push({due, 0, mine, std::move(ring_if_live), nullptr, nullptr});
}

void virtual_clock::set_ordinary_timeout(time_point due, caf::abstract_actor* self,
                                         caf::atom_value type, std::uint64_t id) {
  auto receiver = caf::actor_cast<caf::strong_actor_ptr>(self);
  set_timer(due, {self->id(), 'o', static_cast<std::uint64_t>(type)},
            [receiver, type, id](caf::execution_unit* unit) {
              receiver->get()->eq_impl(caf::make_message_id(), receiver, unit,
                                       caf::timeout_msg{type, id});
            });
}

void virtual_clock::set_multi_timeout(time_point due, caf::abstract_actor* self,
                                      caf::atom_value type, std::uint64_t id) {
  auto receiver = caf::actor_cast<caf::strong_actor_ptr>(self);
  auto ring = [receiver, type, id](caf::execution_unit* unit) {
    receiver->get()->eq_impl(caf::make_message_id(), receiver, unit, caf::timeout_msg{type, id});
  };
  push({due, 0, sequence_++, std::move(ring), nullptr, nullptr});
}

void virtual_clock::set_request_timeout(time_point due, caf::abstract_actor* self,
                                        caf::message_id id) {
  auto receiver = caf::actor_cast<caf::strong_actor_ptr>(self);
  set_timer(due, {self->id(), 'r', id.integer_value()}, [receiver, id](caf::execution_unit* unit) {
    receiver->get()->eq_impl(id, receiver, unit, caf::sec::request_timeout);
  });
}

void virtual_clock::cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) {
  live_timers_.erase({self->id(), 'o', static_cast<std::uint64_t>(type)});
}

void virtual_clock::cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) {
  live_timers_.erase({self->id(), 'r', id.integer_value()});
}

void virtual_clock::cancel_timeouts(caf::abstract_actor* self) {
  auto first = live_timers_.lower_bound({self->id(), 0, 0});
  auto last = live_timers_.lower_bound({self->id() + 1, 0, 0});
  live_timers_.erase(first, last);
}

void virtual_clock::cancel_all() {
  live_timers_.clear();
  heap_.clear();
}

bool virtual_clock::deliver_next(caf::execution_unit* unit) {
  if (heap_.empty()) {
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), later);
  event next = std::move(heap_.back());
  heap_.pop_back();
  now_ = next.due;
  if (next.timer) {
    next.timer(unit);
  } else {
    next.receiver->enqueue(std::move(next.content), unit);
  }
  return true;
}

void timeline::install(caf::actor_system_config& config) {
  config.module_factories.push_back(
      [](caf::actor_system& sys) -> caf::actor_system::module* { return new timeline{sys}; });
}

timeline& timeline::of(caf::actor_system& system) {
  auto* found = dynamic_cast<timeline*>(&system.scheduler());
  REFRAIN_ASSERT(found != nullptr);
  return *found;
}

std::uint64_t timeline::run(const std::function<bool()>& stop) {
  std::uint64_t resumed = 0;
  for (;;) {
    while (!ready_.empty()) {
      if (stop()) {
        return resumed;
      }
      caf::resumable* job = ready_.front();
      ready_.pop_front();
      resume(job);
      ++resumed;
    }
    if (stop() || !clock_.deliver_next(unit_.get())) {
      return resumed;
    }
  }
}

void timeline::resume(caf::resumable* job) {
  constexpr std::size_t throughput = 1'000'000;
  switch (job->resume(unit_.get(), throughput)) {
    case caf::resumable::resume_later:
      ready_.push_back(job);
      break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message:
      caf::intrusive_ptr_release(job);
      break;
    default:
      break;
  }
}

void timeline::start() {
  unit_ = std::make_unique<unit>(*this);
  // CAF expects a printer; ours swallows, since no actor here prints.
  utility_actors_[printer_id] =
      system().spawn<caf::lazy_init + caf::hidden>([]() -> caf::behavior { return {[](int) {}}; });
}

void timeline::stop() {
  // What is left at the end of a failed or interrupted run must not run on.
  clock_.cancel_all();
  for (caf::actor& helper : utility_actors_) {
    caf::anon_send_exit(helper, caf::exit_reason::user_shutdown);
    helper = nullptr;
  }
  while (!ready_.empty()) {
    caf::resumable* job = ready_.front();
    ready_.pop_front();
    cleanup_and_release(job);
  }
}

}  // namespace refrain
