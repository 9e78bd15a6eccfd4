#include "gpu/recorded_engine.hpp"

#include <fmt/format.h>

#include "traces/error.hpp"

namespace refrain {
namespace {

std::string words_of(const timed_iteration& of) {
  return fmt::format("{} prefill tokens over {} and {} decodes over {}", of.prefill_tokens,
                     of.prefill_context, of.decodes, of.decode_context);
}

}  // namespace

timed_iteration timed(const batch& work, sim_time took) {
  timed_iteration of{.decodes = work.decodes, .decode_context = work.decode_context, .took = took};
  for (const prefill_chunk& chunk : work.prefill) {
    of.prefill_tokens += chunk.new_tokens;
    of.prefill_context += chunk.cached_tokens;
  }
  return of;
}

sim_time recorded_engine::iteration(const batch& work) {
  if (next_ == iterations_.size()) {
    throw run_error{fmt::format(
        "execution.replay: the recorded run ended after {} iterations, and this one goes on",
        next_)};
  }
  const timed_iteration& then = iterations_[next_];
  timed_iteration now = timed(work, then.took);
  if (now != then) {
    throw run_error{fmt::format(
        "execution.replay: the recorded run was another one: its iteration {} had {}, not {}",
        next_, words_of(then), words_of(now))};
  }
  ++next_;
  return then.took;
}

decode_line recorded_engine::decode(std::int64_t) {
  REFRAIN_ASSERT(!"a line of times that were measured one by one");
  return {};
}

}  // namespace refrain
