// Chunk reuse: the KV of a chunk is taken wherever the chunk stands, its keys rotated to the new
// place, and a share r of its tokens is computed again so that they see what precedes them. What
// was computed behind the very same text is exact and is taken first, unless told otherwise; all
// other reuse is blended. r = 1 takes no chunk at all. CacheBlend computes the tokens whose KV
// deviates most, which the first layer of the whole chunk tells; EPIC computes the first ones. Left
// out: that the share may differ by layer or by chunk (Cache-Craft), trained link tokens.
#include "policies/blending.hpp"

namespace refrain {
namespace {

class chunk final : public reuse {
 public:
  explicit chunk(const parameters& values)
      : blending_{values}, min_tokens_{values.integer("min_tokens")} {
    std::string_view where = values.choice("placement");
    placement_ = where == "deviation" ? blend_placement::deviation
                 : where == "spread"  ? blend_placement::spread
                                      : blend_placement::head;
  }

  bool shares() const override { return true; }
  std::int64_t plan(const reuse_offer& offer) override { return blending_.plan(offer); }
  std::optional<chunk_choice> blend(const chunk_offer& offer) override {
    return offer.resident < min_tokens_ ? std::nullopt : blending_.take(offer, placement_);
  }

 private:
  blending blending_;
  std::int64_t min_tokens_;
  blend_placement placement_;
};

const register_policy<reuse_entry> registration{
    {policy_info{
         .name = "chunk",
         .summary = "takes documents wherever they stand and computes a share of them again",
         .source = "CacheBlend (EuroSys 2025); EPIC (ICML 2025) for placement = head",
         .parameters =
             {recomputed_share_parameter(),
              {.name = "placement",
               .type = parameter_type::choice,
               .standard = "deviation",
               .description = "which tokens: deviation also computes the first layer of the chunk",
               .choices = {"deviation", "spread", "head"}},
              exact_prefix_parameter(),
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
