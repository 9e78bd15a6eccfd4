// One pass. The definitions are those of the published figures that the truth tests compare with.
#include "traces/describe.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "traces/keys.hpp"

namespace refrain {

namespace {

class describer {
 public:
  describer(trace_description& into, const trace_info& info, token_count block_tokens)
      : into_{into},
        scheme_{info.block_tokens > 0 ? info.block_tokens : block_tokens, info.block_tokens} {
    into_.info = info;
    into_.endless.block_tokens = scheme_.block_tokens;
  }

  void add(const request& row) {
    add_time(row);
    if (into_.info.has_sizes) {
      add_object(row);
      return;
    }
    into_.input.add(row.input_tokens);
    into_.output.add(row.output_tokens);
    if (into_.info.has_sessions) {
      add_turn(row);
    }
    add_blocks(row);
    chunks_.add(row, into_.chunks);
  }

  void finish() {
    std::uint64_t single = 0, most = 0;
    for (const auto& [key, uses] : uses_) {
      single += uses == 1;
      most = std::max<std::uint64_t>(most, uses);
    }
    into_.endless.unique = into_.objects.objects = uses_.size();
    into_.endless.single_use = into_.objects.single_use = single;
    into_.endless.most_used = into_.objects.most_used = most;
    for (const auto& [session, turns] : open_turns_) {
      into_.turns.add(turns);
    }
  }

 private:
  void add_time(const request& row) {
    if (into_.requests++ == 0) {
      into_.first = into_.last = row.arrival;
      into_.distinct_times = 1;
    }
    into_.distinct_times += row.arrival > into_.last;
    into_.last = std::max(into_.last, row.arrival);
  }

  void add_turn(const request& row) {
    into_.sessions = std::max(into_.sessions, row.session.get() + 1);
    if (row.turn > 0) {
      into_.gaps_ms.add(std::llround(static_cast<double>(row.delay.count()) * 1e-6));
    }
    if (row.last_turn) {
      open_turns_.erase(row.session);
      into_.turns.add(row.turn + 1);
    } else {
      open_turns_[row.session] = row.turn + 1;
    }
  }

  void add_object(const request& row) {
    object_counts& sum = into_.objects;
    double size = row.object_size;
    ++sum.accesses;
    sum.accessed_size += size;
    sum.sizes.add(row.object_size);
    if (++uses_[row.blocks.at(0)] > 1) {
      ++sum.hits;
      sum.hit_size += size;
    } else {
      sum.unique_size += size;
    }
  }

  void add_blocks(const request& row) {
    endless_counts& sum = into_.endless;
    std::size_t own = block_keys(row, scheme_, keys_);
    sum.input_tokens += row.input_tokens;
    if (own == 0) {
      return;
    }
    std::size_t leading = 0;
    bool unbroken = true;
    for (std::size_t i = 0; i < own; ++i) {
      bool hit = uses_.contains(keys_[i]);
      unbroken = unbroken && hit;
      leading += unbroken;
      sum.block_hits += hit;
    }
    auto hits = static_cast<std::int64_t>(leading);
    std::int64_t block = scheme_.block_tokens;
    std::int64_t tokens = std::min<std::int64_t>(hits * block, row.input_tokens);
    sum.hit_tokens += tokens;
    sum.full_hit_tokens += std::min<std::int64_t>(hits, row.input_tokens / block) * block;
    sum.ratio_sum += static_cast<double>(leading) / static_cast<double>(own);
    sum.accesses += own;
    sum.prefix_hits += leading;
    ++sum.requests;
    sum.any_hit += leading > 0;
    sum.wholly_hit += leading == own;
    for (std::size_t i = 0; i < own; ++i) {
      ++uses_[keys_[i]];
    }
    for (std::size_t i = own; i < keys_.size(); ++i) {
      uses_.try_emplace(keys_[i], 0);
    }
  }

  trace_description& into_;
  key_scheme scheme_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> uses_;  // by prompts; 0: of an answer so far
  absl::flat_hash_map<std::uint64_t, std::uint32_t> open_turns_;
  std::vector<block_key> keys_;
  chunk_counter chunks_;
};

}  // namespace

std::vector<std::int64_t> value_counts::at(const std::vector<double>& shares) const {
  std::vector<std::pair<std::int64_t, std::uint64_t>> sorted{counts_.begin(), counts_.end()};
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> values;
  std::uint64_t below = 0;  // values before `next`
  auto next = sorted.begin();
  for (double share : shares) {
    auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    rank = std::max<std::uint64_t>(rank, 1);
    while (next != sorted.end() && below + next->second < rank) {
      below += next->second;
      ++next;
    }
    auto found = next != sorted.end() || sorted.empty() ? next : next - 1;
    values.push_back(sorted.empty() ? 0 : found->first);
  }
  return values;
}

void describe_trace(source& rows, trace_description& into, token_count block_tokens) {
  describer describe{into, rows.info(), block_tokens};
  request row;
  try {
    while (rows.next(row)) {
      describe.add(row);
    }
  } catch (...) {
    into.counts = rows.counts();
    throw;
  }
  describe.finish();
  into.info = rows.info();
  into.counts = rows.counts();
}

}  // namespace refrain
