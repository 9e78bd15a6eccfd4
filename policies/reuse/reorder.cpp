// Documents in an order of the policy's own, and then plain prefix reuse: exact for the order that
// is sent, which is not the retriever's, so answers may change. `canonical` puts the documents that
// were asked for most often so far first, so that equal sets meet in equal prefixes. `cache_aware`
// walks the prompts so far as a tree: as long as one of the documents left continues a prompt that
// was sent before, the one that continues most of them comes next; the rest is canonical. The tree
// is what was sent, not what the GPU still holds; it remembers the last one to two million nodes.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <vector>

#include "policies/reuse.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

/// Counts by name, the youngest million or two of them: a full generation replaces the one before.
class recent_counts {
 public:
  std::uint64_t of(std::uint64_t name) const {
    auto young = young_.find(name);
    if (young != young_.end()) {
      return young->second;
    }
    auto old = old_.find(name);
    return old == old_.end() ? 0 : old->second;
  }
  void add(std::uint64_t name) {
    std::uint64_t now = of(name) + 1;
    if (young_.size() >= generation_max && !young_.contains(name)) {
      old_ = std::move(young_);
      young_.clear();
    }
    young_[name] = now;
  }

 private:
  static constexpr std::size_t generation_max = std::size_t{1} << 20;
  absl::flat_hash_map<std::uint64_t, std::uint64_t> young_, old_;
};

class reorder final : public reuse {
 public:
  explicit reorder(const parameters& values)
      : walks_{values.choice("order") == "cache_aware"},
        min_tokens_{values.integer("min_tokens")} {}

  bool shares() const override { return true; }
  std::int64_t plan(const reuse_offer& offer) override {
    return offer.leading_tokens >= min_tokens_ ? offer.leading_blocks : 0;
  }

  void order(std::span<segment> documents, std::uint64_t before) override {
    std::ranges::sort(documents, [this](const segment& a, const segment& b) {
      std::uint64_t uses_a = uses_.of(a.content);
      std::uint64_t uses_b = uses_.of(b.content);
      return uses_a != uses_b ? uses_a > uses_b : a.content < b.content;
    });
    if (walks_) {
      walk(documents, before);
    }
    for (const segment& document : documents) {
      uses_.add(document.content);
    }
  }

 private:
  void walk(std::span<segment> documents, std::uint64_t node) {
    for (auto left = documents.begin(); left != documents.end(); ++left) {
      auto next = left;
      std::uint64_t most = 0;
      for (auto each = left; each != documents.end(); ++each) {
        std::uint64_t count = nodes_.of(mix64(node, each->content));
        if (count > most) {
          most = count;
          next = each;
        }
      }
      std::rotate(left, next, next + 1);
      node = mix64(node, left->content);
      nodes_.add(node);
    }
  }

  bool walks_;
  std::int64_t min_tokens_;
  recent_counts uses_;   // of documents
  recent_counts nodes_;  // of prefixes
};

const register_policy<reuse_entry> registration{
    {policy_info{.name = "reorder",
                 .summary = "puts documents into an order in which prefixes meet, and takes those",
                 .source = "CacheWeaver; RAG users' manual reordering (LMCache#1291)",
                 .parameters = {{.name = "order",
                                 .type = parameter_type::choice,
                                 .standard = "cache_aware",
                                 .description = "by popularity so far, or along earlier prompts",
                                 .choices = {"canonical", "cache_aware"}},
                                {.name = "min_tokens",
                                 .type = parameter_type::integer,
                                 .standard = "0",
                                 .description = "a shorter resident prefix is not taken, in tokens",
                                 .low = 0}}},
     [](const parameters& values) -> std::unique_ptr<reuse> {
       return std::make_unique<reorder>(values);
     },
     [](const parameters&) { return reuse_needs{.orders = true}; }}};

}  // namespace
}  // namespace refrain
