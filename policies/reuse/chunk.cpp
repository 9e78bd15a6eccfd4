// Chunk reuse: the KV of a chunk is taken wherever the chunk stands, its keys rotated to the new
// place, and a share r of its tokens is computed again so that they see what precedes them. What
// was computed behind the very same text is exact and is taken first, unless told otherwise; all
// other reuse is blended. r = 1 takes no chunk at all. CacheBlend computes the tokens whose KV
// deviates most, which the first layer of the whole chunk tells; EPIC computes the first ones. Left
// out: that the share may differ by layer or by chunk (Cache-Craft), trained link tokens.
#include <algorithm>
#include <cmath>

#include "policies/reuse.hpp"
#include "traces/keys.hpp"

namespace refrain {
namespace {

class chunk final : public reuse {
 public:
  explicit chunk(const parameters& values)
      : ratio_{values.real("r")},
        exact_prefix_{values.boolean("exact_prefix")},
        min_tokens_{values.integer("min_tokens")} {
    std::string_view where = values.choice("placement");
    placement_ = where == "deviation" ? blend_placement::deviation
                 : where == "spread"  ? blend_placement::spread
                                      : blend_placement::head;
  }

  bool shares() const override { return true; }
  std::int64_t plan(const reuse_offer& offer) override {
    return exact_prefix_ ? offer.leading_blocks : 0;
  }
  std::optional<chunk_choice> blend(const chunk_offer& offer) override {
    if (ratio_ >= 1 || offer.resident < min_tokens_) {
      return std::nullopt;
    }
    double again = std::ceil(ratio_ * static_cast<double>(offer.resident.get()) - 1e-9);
    return chunk_choice{offer.resident, token_count{std::llround(again)}, placement_};
  }

 private:
  double ratio_;
  bool exact_prefix_;
  std::int64_t min_tokens_;
  blend_placement placement_;
};

constexpr std::uint8_t every_kind = (1u << segment_kinds) - 1;
constexpr std::uint8_t retrieved_kinds =
    kind_bit(segment_kind::document) | kind_bit(segment_kind::web);

const register_policy<reuse_entry> registration{
    {policy_info{
         .name = "chunk",
         .summary = "takes documents wherever they stand and computes a share of them again",
         .source = "CacheBlend (EuroSys 2025); EPIC (ICML 2025) for placement = head",
         .parameters =
             {{.name = "r",
               .type = parameter_type::real,
               .standard = "0.15",
               .description = "share of a reused chunk's tokens that is computed again",
               .low = 0,
               .high = 1},
              {.name = "placement",
               .type = parameter_type::choice,
               .standard = "deviation",
               .description = "which tokens: deviation also computes the first layer of the chunk",
               .choices = {"deviation", "spread", "head"}},
              {.name = "exact_prefix",
               .type = parameter_type::boolean,
               .standard = "true",
               .description = "take what was computed behind the same text as it is"},
              {.name = "chunks",
               .type = parameter_type::choice,
               .standard = "documents",
               .description = "what is a chunk: retrieved documents and pages, or every part",
               .choices = {"documents", "all"}},
              {.name = "min_tokens",
               .type = parameter_type::integer,
               .standard = "0",
               .description = "a shorter resident chunk is not taken, in tokens",
               .low = 0}}},
     [](const parameters& values) -> std::unique_ptr<reuse> {
       return std::make_unique<chunk>(values);
     },
     [](const parameters& values) {
       bool all = values.choice("chunks") == "all";
       return reuse_needs{.chunk_kinds = all ? every_kind : retrieved_kinds};
     }}};

}  // namespace
}  // namespace refrain
