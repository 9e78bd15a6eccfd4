#include "actors/reporter.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/messages.hpp"

namespace refrain {

namespace {

// One message that all receivers read, so it is not copied for each.
void send_to_all(caf::event_based_actor& sender, const std::vector<caf::actor>& receivers,
                 sim_time delay, const caf::message& what) {
  for (const caf::actor& each : receivers) {
    if (delay > sim_time{0}) {
      sender.delayed_send(each, delay, what);
    } else {
      sender.send(each, what);
    }
  }
}

}  // namespace

routing_needs needs_of_routing(const contender_plan& plan) {
  routing_needs needs = registry<routing_entry>::find(plan.routing.name, "policies.routing").needs;
  if (plan.disaggregation.prefill_executors > 0) {
    const policy_choice& decode = plan.disaggregation.routing;
    routing_needs more = registry<routing_entry>::find(decode.name, "policies.routing").needs;
    needs.matches = needs.matches || more.matches;
    needs.progress = needs.progress || more.progress;
  }
  needs.matches = needs.matches || plan.routers.watch;
  return needs;
}

reporter::reporter(caf::event_based_actor& executor, contender_context& context,
                   std::uint32_t index)
    : executor_{executor},
      context_{context},
      index_{index},
      needs_{needs_of_routing(context.plan)} {}

void reporter::tell_blocks(const kv_news& news) {
  if (!needs_.matches) {
    return;
  }
  std::size_t before = gathered_.size();
  for (const auto* gone : {&news.evicted, &news.withdrawn}) {
    for (block_key key : *gone) {
      gathered_.push_back({key, false});
    }
  }
  for (const chained_key& block : news.filled) {
    gathered_.push_back({block.key, true});
  }
  if (gathered_.size() == before) {
    return;
  }
  if (context_.truth) {
    context_.truth->apply(index_, std::span{gathered_}.subspan(before));
  }
  sim_time poll = context_.plan.routers.poll;
  if (poll == sim_time{0}) {
    send_gathered();
  } else if (before == 0) {
    sim_time now = context_.time.now();
    executor_.delayed_send(&executor_, (now / poll + 1) * poll - now, poll_due{});
  }
}

void reporter::poll() {
  send_gathered();
}

void reporter::send_gathered() {
  caf::message changes = caf::make_message(kv_changes{index_, std::exchange(gathered_, {})});
  send_to_all(executor_, context_.routers, context_.plan.routers.delay, changes);
}

void reporter::tell_first_tokens(const std::vector<request_id>& started) {
  if (needs_.progress && !started.empty()) {
    send_to_all(executor_, context_.routers, sim_time{0},
                caf::make_message(first_tokens{index_, started}));
  }
}

}  // namespace refrain
