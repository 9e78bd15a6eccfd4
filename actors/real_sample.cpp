#include "actors/real_sample.hpp"

#include <algorithm>
#include <limits>

#include "gpu/cpu/cpu_engine.hpp"

namespace refrain {
namespace {

constexpr std::int64_t block_tokens = 16;

/// One request on an engine of its own.
class real_run {
 public:
  real_run(cpu_engine& computing, const std::vector<block_id>& blocks, std::vector<token_id> tokens)
      : computing_{computing}, blocks_{blocks}, tokens_{std::move(tokens)} {}

  /// Computes tokens up to `end`; the last of them may be asked for what follows it.
  sim_time compute(std::int64_t end, bool emits) {
    if (computed_ == end) {
      return sim_time{0};
    }
    batch work;
    work.sequences.push_back(
        {std::span<const token_id>{tokens_}.subspan(static_cast<std::size_t>(computed_),
                                                    static_cast<std::size_t>(end - computed_)),
         computed_, blocks_, emits});
    sim_time took = computing_.iteration(work);
    computed_ = end;
    if (emits && static_cast<std::int64_t>(tokens_.size()) == computed_) {
      tokens_.push_back(computing_.emitted().front());
    }
    return took;
  }

 private:
  cpu_engine& computing_;
  const std::vector<block_id>& blocks_;
  std::vector<token_id> tokens_;
  std::int64_t computed_ = 0;
};

table measured_table() {
  return {{integer_column("request", "1", "row of the workload, from 0"),
           integer_column("session", "1", "its session"),
           integer_column("input_tokens", "tokens", "of the prompt"),
           integer_column("hit_tokens", "tokens",
                          "leading ones that were cached in the simulation, and here beforehand"),
           integer_column("output_tokens", "tokens", "of the answer"),
           real_column("prefill_s", "s", "processor time of the others and the first output token"),
           real_column("tpot_s", "s",
                       "processor time of an output token after the first, on average; nan below "
                       "two")}};
}

}  // namespace

void real_sample::take(sampled_request request) {
  if (request.input_tokens + request.output_tokens > plan_.sample.tokens_max) {
    ++left_out_;
    return;
  }
  requests_.push_back(std::move(request));
}

table real_sample::measure(const std::function<bool()>& goes_on) {
  table rows = measured_table();
  try {
    measure(rows, goes_on);
  } catch (const computing_stopped&) {  // the rows so far are kept
  }
  return rows;
}

void real_sample::measure(table& rows, const std::function<bool()>& goes_on) {
  std::int64_t count = (plan_.sample.tokens_max + block_tokens - 1) / block_tokens;
  std::vector<block_id> blocks;
  for (std::int64_t i = 0; i < count; ++i) {
    blocks.emplace_back(static_cast<std::uint32_t>(i));
  }
  cpu_engine computing{
      plan_.sample.weights, plan_.sample.precision, count, block_tokens, sim_time{0}, goes_on};
  for (sampled_request& each : requests_) {
    std::int64_t hit = std::min(each.hit_tokens.get(), each.input_tokens - 1);
    real_run run{computing, blocks, std::move(each.tokens)};
    run.compute(hit, false);
    sim_time prefill = run.compute(each.input_tokens, true);
    sim_time decode{0};
    std::int64_t steps = each.output_tokens - 1;
    for (std::int64_t i = 0; i < steps; ++i) {
      decode += run.compute(each.input_tokens + i + 1, true);
    }
    std::size_t at = 0;
    for (std::int64_t value :
         {static_cast<std::int64_t>(each.id.get()), static_cast<std::int64_t>(each.session.get()),
          each.input_tokens.get(), hit, each.output_tokens.get()}) {
      rows.columns[at++].integers().push_back(value);
    }
    rows.columns[at++].reals().push_back(to_seconds(prefill));
    rows.columns[at].reals().push_back(steps > 0 ? to_seconds(decode) / static_cast<double>(steps)
                                                 : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace refrain
