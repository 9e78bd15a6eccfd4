// Three passes: how often each block is used, sessions and lengths, and the endless cache's rate;
// then the generator runs a few times to calibrate. Memory grows with distinct blocks and with the
// last prompt of every session.
#include "traces/fit.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "traces/keys.hpp"

namespace refrain {

namespace {

constexpr double head_share = 0.02;             // of the requests, to count as common to many
constexpr std::uint64_t head_requests = 16;     // and at least so many
constexpr double calibration_accesses = 1.5e6;  // blocks of the workloads that are calibrated on
constexpr int calibration_steps = 8;
constexpr double calibration_width = 0.15;      // of single_turn_share, to either side
constexpr double calibration_tolerance = 2e-3;  // of the hit rate
constexpr double share_scale = 1e6;             // shares are counted as whole millionths

using use_counts = absl::flat_hash_map<std::uint64_t, std::uint32_t>;

const std::vector<double>& table_shares() {
  static const std::vector<double> shares{0,    0.005, 0.01, 0.02,  0.05,  0.1,   0.15,  0.2,
                                          0.25, 0.3,   0.35, 0.4,   0.45,  0.5,   0.55,  0.6,
                                          0.65, 0.7,   0.75, 0.8,   0.85,  0.9,   0.925, 0.95,
                                          0.97, 0.98,  0.99, 0.995, 0.998, 0.999, 1};
  return shares;
}

/// The values' quantiles times `unit`; empty where there are none. Points on a straight line with
/// their neighbours are left out.
quantile_table table_of(const value_counts& values, double unit = 1) {
  if (values.count() == 0) {
    return {};
  }
  std::vector<std::int64_t> at = values.at(table_shares());
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < at.size(); ++i) {
    bool inside = i > 0 && i + 1 < at.size();
    if (inside && at[i] == at[i - 1] && at[i] == at[i + 1]) {
      continue;
    }
    points.emplace_back(table_shares()[i], static_cast<double>(at[i]) * unit);
  }
  return quantile_table{std::move(points)};
}

drawn_quantity quantity_of(const value_counts& values, double unit = 1) {
  return {.quantiles = table_of(values, unit)};
}

/// Exponent for which the first of `count` Zipf items has this share.
double zipf_exponent(std::size_t count, double first_share) {
  double low = 0, high = 10;
  for (int i = 0; i < 50 && count > 1; ++i) {
    double middle = (low + high) / 2, sum = 0;
    for (std::size_t rank = 1; rank <= count; ++rank) {
      sum += std::pow(static_cast<double>(rank), -middle);
    }
    (1 / sum < first_share ? low : high) = middle;
  }
  return count > 1 ? (low + high) / 2 : 1;
}

class fitter {
 public:
  fitter(const source_opener& open, std::uint64_t seed)
      : open_{open},
        seed_{seed},
        info_{open()->info()},
        scheme_{block_of(info_), info_.block_tokens} {
    fit_.block_tokens = scheme_.block_tokens;
    if (!info_.has_lengths) {
      throw input_error{info_.format, "gives no token lengths, so no workload can be fitted"};
    }
  }

  fitted_workload fit() {
    count_uses();
    find_sessions();
    fit_.sessions = sessions_.size();
    settings().requests = fit_.requests;
    fit_arrivals(starts_, seed_, fit_);
    set_head();
    set_turns();
    set_lengths();
    trace_description original;
    describe_trace(*open_(), original, fit_.block_tokens);
    fit_.hit_rate = rate_of(original);
    calibrate(original.endless);
    return std::move(fit_);
  }

 private:
  struct session_state {
    std::vector<block_key> keys;  // of the last turn's prompt and answer
    token_count prior;            // its tokens
    std::int64_t turns = 0;
    std::int64_t first_tokens = 0;  // beyond the head
    std::optional<block_key> head;  // its last block
  };
  struct last_use {
    std::uint64_t session;
    sim_time time;
  };

  static token_count block_of(const trace_info& info) {
    return info.block_tokens > 0 ? info.block_tokens : standard_block_tokens_of_segments;
  }
  generator_settings& settings() { return fit_.settings; }

  void count_uses() {
    auto rows = open_();
    std::vector<block_key> keys;
    for (request row; rows->next(row);) {
      ++fit_.requests;
      recur_ = recur_ || row.answer != content_id{};
      keys.resize(block_keys(row, scheme_, keys));
      for (block_key key : keys) {
        ++uses_[key];
      }
    }
    auto part = static_cast<std::uint64_t>(head_share * static_cast<double>(fit_.requests));
    common_ = std::max(part, head_requests);
  }

  void find_sessions() {
    auto rows = open_();
    std::vector<block_key> keys;
    std::map<session_id, std::uint64_t> named;
    for (request row; rows->next(row);) {
      std::size_t own = block_keys(row, scheme_, keys);
      std::size_t head = 0, known = 0;
      while (head < own && uses_.at(keys[head]) >= common_) {
        ++head;
      }
      while (known < own && last_.contains(keys[known])) {
        ++known;
      }
      std::optional<std::uint64_t> session;
      if (info_.has_sessions) {
        auto found = named.find(row.session);
        session = found == named.end() ? std::nullopt : std::optional{found->second};
        named.emplace(row.session, sessions_.size());
      } else if (known > head) {
        session = last_.at(keys[known - 1]).session;
      }
      add_turn(row, keys, own, head, known, session);
    }
  }

  void add_turn(const request& row, std::vector<block_key>& keys, std::size_t own, std::size_t head,
                std::size_t known, std::optional<std::uint64_t> session) {
    outputs_.add(row.output_tokens);
    longest_ = std::max<std::int64_t>(longest_, row.input_tokens);
    std::uint64_t number = session.value_or(sessions_.size());
    if (!session) {
      session_state& begun = sessions_.emplace_back();
      std::int64_t head_tokens = static_cast<std::int64_t>(head) * scheme_.block_tokens;
      begun.first_tokens = std::max<std::int64_t>(row.input_tokens - head_tokens, 1);
      if (head > 0) {
        begun.head = keys[head - 1];
      }
      head_blocks_ += static_cast<double>(head);
      starts_.push_back(to_seconds(row.arrival));
    } else {
      std::size_t gap_end = known > 0 ? known - 1 : 0;
      bool is_timed = info_.has_sessions || known == 0;
      sim_time gap = is_timed ? row.delay : row.arrival - last_.at(keys[gap_end]).time;
      add_followup(row, keys, own, sessions_[number], gap);
    }
    session_state& state = sessions_[number];
    ++state.turns;
    state.prior = row.input_tokens + (recur_ ? row.output_tokens : token_count{});
    for (block_key key : keys) {
      last_[key] = {number, row.arrival};
    }
    std::swap(state.keys, keys);
  }

  void add_followup(const request& row, const std::vector<block_key>& keys, std::size_t own,
                    const session_state& before, sim_time gap) {
    std::size_t shared = 0;
    while (shared < std::min(own, before.keys.size()) && keys[shared] == before.keys[shared]) {
      ++shared;
    }
    std::int64_t block = scheme_.block_tokens;
    std::int64_t prior = before.prior;
    std::int64_t whole = (recur_ ? prior - 1 : prior) / block;
    auto leading = static_cast<std::int64_t>(shared);
    std::int64_t kept = leading >= whole ? prior : leading * block + block / 2;
    kept = std::clamp<std::int64_t>(kept, 0, std::min<std::int64_t>(prior, row.input_tokens - 1));
    ++fit_.followups;
    kept_.add(std::llround(share_scale * static_cast<double>(kept) / static_cast<double>(prior)));
    followup_.add(row.input_tokens - kept);
    fit_.gaps_ms.add(std::llround(static_cast<double>(gap.count()) * 1e-6));
  }

  void set_head() {
    std::map<std::uint64_t, std::uint64_t> heads;
    std::uint64_t with = 0, most = 0;
    for (const session_state& each : sessions_) {
      if (each.head) {
        ++with;
        most = std::max(most, ++heads[*each.head]);
      }
    }
    auto all = static_cast<double>(sessions_.size());
    settings().system_prompts = static_cast<std::uint32_t>(heads.size());
    settings().system_share = with == 0 ? 1 : static_cast<double>(with) / all;
    if (with > 0) {
      auto blocks = std::llround(head_blocks_ / static_cast<double>(with));
      settings().system_tokens =
          token_count{std::max<std::int64_t>(blocks, 1) * scheme_.block_tokens};
      settings().system_zipf =
          zipf_exponent(heads.size(), static_cast<double>(most) / static_cast<double>(with));
    }
  }

  void set_turns() {
    value_counts turns, first, single;
    for (const session_state& each : sessions_) {
      if (each.turns == 1) {
        single.add(each.first_tokens);
      } else {
        turns.add(each.turns);
        first.add(each.first_tokens);
      }
    }
    auto all = static_cast<double>(sessions_.size());
    settings().single_turn_share = static_cast<double>(single.count()) / all;
    settings().turns = table_of(turns);
    settings().turns_mean = turns.count() == 0 ? 1 : std::max(turns.mean(), 1.0);
    settings().question_tokens = quantity_of(first.count() == 0 ? single : first);
    settings().single_question_tokens = quantity_of(single);
  }

  void set_lengths() {
    settings().rag_share = 0;
    settings().answers_recur = recur_;
    settings().followup_tokens = quantity_of(followup_);
    settings().history_kept = table_of(kept_, 1 / share_scale);
    settings().output_tokens = quantity_of(outputs_);
    if (fit_.followups > 0) {
      settings().think_seconds = quantity_of(fit_.gaps_ms, 1e-3);
    }
    std::int64_t head = settings().system_prompts > 0 ? settings().system_tokens.get() : 0;
    settings().prompt_tokens_max =
        std::min(token_count{std::max(longest_, head + 1)}, content_tokens_max);
  }

  static double rate_of(const trace_description& d) {
    return d.endless.input_tokens == 0 ? 0
                                       : static_cast<double>(d.endless.full_hit_tokens) /
                                             static_cast<double>(d.endless.input_tokens);
  }

  double generated_rate(double single_turn_share) {
    generator_settings tried = settings();
    tried.single_turn_share = single_turn_share;
    tried.requests = calibration_requests_;
    trace_description generated;
    describe_trace(*make_generator(tried, seed_), generated, fit_.block_tokens);
    return rate_of(generated);
  }

  /// More sessions of one turn mean fewer hits. Chance makes the rate a rough function of the
  /// share, so the best one tried is taken.
  void calibrate(const endless_counts& original) {
    double blocks = static_cast<double>(original.accesses) / static_cast<double>(fit_.requests);
    calibration_requests_ = static_cast<std::uint64_t>(
        std::clamp(calibration_accesses / std::max(blocks, 1.0), 2e3, 1e5));
    if (fit_.followups == 0) {
      calibration_requests_ = std::min<std::uint64_t>(fit_.requests, 2000);
    }
    double share = settings().single_turn_share, best = share;
    double low = std::max(share - calibration_width, 0.0);
    double high = std::min(share + calibration_width, 1.0);
    fit_.generated_hit_rate = generated_rate(share);
    double rate = fit_.generated_hit_rate;
    for (int i = 0; i < calibration_steps && fit_.followups > 0; ++i) {
      if (std::abs(fit_.generated_hit_rate - fit_.hit_rate) < calibration_tolerance) {
        break;
      }
      (rate > fit_.hit_rate ? low : high) = share;
      share = (low + high) / 2;
      rate = generated_rate(share);
      if (std::abs(rate - fit_.hit_rate) < std::abs(fit_.generated_hit_rate - fit_.hit_rate)) {
        fit_.generated_hit_rate = rate;
        best = share;
      }
    }
    settings().single_turn_share = best;
  }

  const source_opener& open_;
  std::uint64_t seed_;
  trace_info info_;
  key_scheme scheme_;
  fitted_workload fit_;
  use_counts uses_;
  std::uint64_t common_ = 0, calibration_requests_ = 0;
  bool recur_ = false;
  absl::flat_hash_map<std::uint64_t, last_use> last_;
  std::vector<session_state> sessions_;
  std::vector<double> starts_;
  value_counts kept_, followup_, outputs_;
  std::int64_t longest_ = 1;
  double head_blocks_ = 0;
};

}  // namespace

fitted_workload fit_trace(const source_opener& open, std::uint64_t seed) {
  return fitter{open, seed}.fit();
}

}  // namespace refrain
