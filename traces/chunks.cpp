// A prefix is known by a 64-bit chain over the contents in it; two collide as block keys do.
#include "traces/chunks.hpp"

#include <algorithm>

#include "traces/random.hpp"

namespace refrain {

void chunk_sequences::begin(std::uint64_t salt) {
  own_.clear();
  salt_ = salt;
  prefix_ = mix64(salt);
  unbroken_ = true;
}

chunk_finding chunk_sequences::add(const segment& chunk,
                                   std::initializer_list<chunk_counts*> sums) {
  std::uint64_t content = mix64(salt_, chunk.content);
  prefix_ = mix64(prefix_, content);
  bool hit = seen_.contains(content);
  bool is_new_prefix = prefixes_.insert(prefix_).second;
  unbroken_ = unbroken_ && !is_new_prefix;
  bool is_new = !hit && std::ranges::find(own_, content) == own_.end();
  own_.push_back(content);
  for (chunk_counts* sum : sums) {
    ++sum->accesses;
    sum->unique += is_new;
    sum->hits += hit;
    sum->prefix_hits += unbroken_;
    sum->tokens += chunk.tokens;
    sum->hit_tokens += hit ? chunk.tokens.get() : 0;
    sum->prefix_hit_tokens += unbroken_ ? chunk.tokens.get() : 0;
  }
  return {hit, unbroken_};
}

void chunk_sequences::end(content_id answer) {
  seen_.insert(own_.begin(), own_.end());
  if (answer != content_id{}) {
    std::uint64_t content = mix64(salt_, answer);
    seen_.insert(content);
    prefixes_.insert(mix64(prefix_, content));
  }
}

void chunk_counter::add(const request& row, chunk_description& into) {
  prompts_.begin(row.salt);
  for (chunk_sequences& kind : kinds_) {
    kind.begin(row.salt);
  }
  for (const segment& chunk : row.segments) {
    auto kind = static_cast<std::size_t>(chunk.kind);
    prompts_.add(chunk, {&into.all, &into.in_prompt.at(kind)});
    kinds_.at(kind).add(chunk, {&into.alone.at(kind)});
  }
  prompts_.end(row.answer);
  for (chunk_sequences& kind : kinds_) {
    kind.end(content_id{});
  }
}

}  // namespace refrain
