// Reuse between similar texts: where a chunk's own KV is not there, that of another text stands in
// for it if the two are alike enough. Such KV is of other text, so the hit is approximate whatever
// the score: opposites score above 0.8, reversed questions up to 0.9997. `cosine` takes texts whose
// embeddings are near; `or_levenshtein` also those that few edits turn into each other, where the
// cosine says no (it only adds); `and_tokens` only near ones with equal tokens, which leaves copies
// under another name. A chunk's own KV is taken first, and counts as blended. Left out: recomputing
// tokens that deviate, a threshold for each entry (vCache).
#include <algorithm>

#include "policies/blending.hpp"

namespace refrain {
namespace {

class similar final : public reuse {
 public:
  explicit similar(const parameters& values)
      : edits_{values.choice("match") == "or_levenshtein"},
        equal_{values.choice("match") == "and_tokens"},
        similarity_{values.real("similarity_threshold")},
        levenshtein_{values.real("levenshtein_threshold")},
        span_max_{values.integer("max_cache_span")},
        hit_rate_{values.real("min_hit_rate")} {}

  bool shares() const override { return true; }
  std::int64_t plan(const reuse_offer& offer) override { return offer.leading_blocks; }
  std::optional<chunk_choice> blend(const chunk_offer& offer) override {
    return chunk_choice{std::min(offer.resident, token_count{span_max_}), token_count{0},
                        blend_placement::head};
  }
  bool is_worth(const reuse_total& total) override {
    token_count all = total.exact + total.blended + total.approximate;
    return static_cast<double>(all) >= hit_rate_ * static_cast<double>(total.input_tokens);
  }
  // Comparisons with nan are false: what is not known is not alike.
  bool accepts(const text_likeness& likeness) const override {
    bool near = likeness.cosine >= similarity_;
    if (equal_) {
      return near && likeness.same_tokens;
    }
    return near || (edits_ && likeness.levenshtein >= levenshtein_);
  }

 private:
  bool edits_;  // few edits are enough
  bool equal_;  // tokens must be equal, too
  double similarity_;
  double levenshtein_;
  std::int64_t span_max_;
  double hit_rate_;
};

const register_policy<reuse_entry> registration{
    {policy_info{
         .name = "similar",
         .summary = "takes KV of similar text where a chunk's own is not there: approximate",
         .source = "semantic KV caches; the thresholds are those they publish",
         .parameters =
             {{.name = "similarity_threshold",
               .type = parameter_type::real,
               .standard = "0.85",
               .description = "least cosine of two texts' embeddings",
               .low = -1,
               .high = 1},
              {.name = "match",
               .type = parameter_type::choice,
               .standard = "or_levenshtein",
               .description = "what is alike: near, near or few edits apart, near and equal",
               .choices = {"cosine", "or_levenshtein", "and_tokens"}},
              {.name = "levenshtein_threshold",
               .type = parameter_type::real,
               .standard = "0.8",
               .description = "least 1 - edit distance / longer length, in tokens",
               .low = 0,
               .high = 1},
              {.name = "max_cache_span",
               .type = parameter_type::integer,
               .standard = "384",
               .description = "most leading tokens of a chunk that are taken",
               .low = 1},
              {.name = "min_hit_rate",
               .type = parameter_type::real,
               .standard = "0.6",
               .description = "least share of the prompt reused in all; below it only exact KV is",
               .low = 0,
               .high = 1}}},
     [](const parameters& values) -> std::unique_ptr<reuse> {
       return std::make_unique<similar>(values);
     },
     [](const parameters& values) {
       return reuse_needs{.chunk_kinds = retrieved_kinds,
                          .neighbours = true,
                          .edit_distances = values.choice("match") == "or_levenshtein"};
     }}};

}  // namespace
}  // namespace refrain
