#include "actors/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <caf/all.hpp>
#include <string>
#include <vector>

#include "actors/run_monitor.hpp"

namespace refrain {

struct late_answer {
  caf::response_promise promise;
  int value;
};

}  // namespace refrain

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::late_answer)

namespace refrain {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class timeline_test : public ::testing::Test {
 protected:
  static caf::actor_system_config& with_timeline(caf::actor_system_config& config) {
    timeline::install(config);
    return config;
  }

  timeline_test() { system.await_actors_before_shutdown(false); }

  std::uint64_t run() {
    return time.run([] { return false; });
  }
  void note(const std::string& what) {
    log.push_back(what + "@" + std::to_string(time.now().count()));
  }

  caf::actor_system_config config;
  caf::actor_system system{with_timeline(config)};
  timeline& time = timeline::of(system);
  std::vector<std::string> log;
};

TEST_F(timeline_test, delayed_messages_arrive_in_order_of_time_then_of_sending) {
  auto sink = system.spawn(
      [this]() -> caf::behavior { return {[this](const std::string& what) { note(what); }}; });
  system.spawn([sink](caf::event_based_actor* self) {
    self->delayed_send(sink, nanoseconds{30}, std::string{"c"});
    self->delayed_send(sink, nanoseconds{10}, std::string{"a"});
    self->delayed_send(sink, nanoseconds{10}, std::string{"b"});
    self->send(sink, std::string{"now"});
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"now@0", "a@10", "b@10", "c@30"}));
}

TEST_F(timeline_test, a_settled_message_comes_after_everything_else_of_its_instant) {
  auto sink = system.spawn(
      [this]() -> caf::behavior { return {[this](const std::string& what) { note(what); }}; });
  system.spawn([this, sink](caf::event_based_actor* self) -> caf::behavior {
    self->delayed_send(self, nanoseconds{10}, 1);
    self->delayed_send(self, nanoseconds{10}, 2);
    return {[this, self, sink](int which) {
      if (which == 1) {
        time.send_settled(sink, std::string{"settled"});
        self->delayed_send(sink, nanoseconds{0}, std::string{"later but first"});
      } else {
        self->send(sink, std::string{"second"});
      }
    }};
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"second@10", "later but first@10", "settled@10"}));
}

TEST_F(timeline_test, requests_are_answered_after_any_virtual_time) {
  auto slow = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int x) {
              auto promise = self->make_response_promise();
              self->delayed_send(self, hours{5}, late_answer{promise, x + 1});
              return promise;
            },
            [](late_answer& late) { late.promise.deliver(late.value); }};
  });
  system.spawn([this, slow](caf::event_based_actor* self) {
    self->request(slow, seconds{6 * 3600}, 41).then([this](int x) { note(std::to_string(x)); });
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"42@18000000000000"}));
}

TEST_F(timeline_test, a_request_that_is_not_answered_in_time_fails_at_its_deadline) {
  auto silent = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int) { return self->make_response_promise(); }};
  });
  system.spawn([this, silent](caf::event_based_actor* self) {
    self->request(silent, seconds{2}, 1)
        .then([this](int) { note("answer"); },
              [this](caf::error& e) {
                note(e == caf::sec::request_timeout ? "timeout" : "other error");
              });
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"timeout@2000000000"}));
}

TEST_F(timeline_test, an_answered_request_leaves_no_timeout_behind) {
  auto quick = system.spawn([]() -> caf::behavior { return {[](int x) { return x; }}; });
  system.spawn([this, quick](caf::event_based_actor* self) -> caf::behavior {
    self->request(quick, seconds{1}, 1)
        .then([this](int) { note("answer"); }, [this](caf::error&) { note("timeout"); });
    self->delayed_send(self, seconds{3}, std::string{"end"});
    return {[this](const std::string& what) { note(what); }};
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"answer@0", "end@3000000000"}));
}

TEST_F(timeline_test, a_receive_timeout_rings_when_nothing_came) {
  system.spawn([this](caf::event_based_actor* self) -> caf::behavior {
    self->delayed_send(self, milliseconds{4}, 1);
    return {[this](int) { note("message"); }, caf::after(milliseconds{10}) >>
                                                  [this, self] {
                                                    note("idle");
                                                    self->quit();
                                                  }};
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"message@4000000", "idle@14000000"}));
}

TEST_F(timeline_test, monitors_hear_of_an_actors_end) {
  auto mortal = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    self->delayed_send(self, nanoseconds{7}, 1);
    return {[self](int) { self->quit(caf::exit_reason::user_shutdown); }};
  });
  auto watcher = system.spawn([this, mortal](caf::event_based_actor* self) -> caf::behavior {
    self->set_down_handler([this](caf::down_msg&) { note("down"); });
    self->monitor(mortal);
    return {[](int) {}};
  });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"down@7"}));
}

TEST_F(timeline_test, stops_when_it_is_told_to) {
  system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    self->send(self, 0);
    return {[self](int n) { self->delayed_send(self, nanoseconds{1}, n + 1); }};
  });
  int asked = 0;
  time.run([&asked] { return ++asked > 100; });
  EXPECT_EQ(asked, 101);
  EXPECT_LT(time.now().count(), 100);
}

TEST_F(timeline_test, a_failing_actor_is_named_with_its_own_words) {
  run_monitor monitor;
  auto failing = system.spawn([&monitor](caf::event_based_actor* self) -> caf::behavior {
    monitor.protect(self, "the failing one");
    return {[](int) { throw std::runtime_error{"no more of this"}; }};
  });
  system.spawn(
      [failing](caf::event_based_actor* self) { self->delayed_send(failing, nanoseconds{5}, 1); });
  time.run([&monitor] { return monitor.failed(); });
  EXPECT_EQ(monitor.failure(), "the failing one: no more of this");
}

TEST_F(timeline_test, an_unexpected_message_is_a_failure) {
  run_monitor monitor;
  auto picky = system.spawn([&monitor](caf::event_based_actor* self) -> caf::behavior {
    monitor.protect(self, "picky");
    return {[](int) {}};
  });
  caf::anon_send(picky, std::string{"surprise"});
  run();
  EXPECT_THAT(monitor.failure(), ::testing::HasSubstr("picky: cannot handle"));
}

TEST_F(timeline_test, an_unanswered_request_is_a_failure) {
  run_monitor monitor;
  auto silent = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int) { return self->make_response_promise(); }};
  });
  system.spawn([&monitor, silent](caf::event_based_actor* self) {
    monitor.protect(self, "asker");
    self->request(silent, seconds{1}, 1).then([](int) {});
  });
  run();
  EXPECT_THAT(monitor.failure(), ::testing::HasSubstr("request_timeout"));
}

}  // namespace
}  // namespace refrain
