// Documents by name: cached KV is found by document and chunk, and a check says whether it is of
// the version that the prompt quotes. `always` checks at every use and stores the version it saw,
// so that what is computed after an update is found again; `ttl` believes what it saw for a while
// and `never` for ever, and both may take KV of the document as it was: such hits are approximate
// and stale. With `stores = false` the check never stores what it saw: after its first update a
// document is computed anew for ever, which is the fault of a cache that was published. Reuse is
// by chunk, wherever it stands, as the policy of that name has it. Memory grows with the chunks.
#include <absl/container/flat_hash_map.h>

#include "policies/blending.hpp"

namespace refrain {
namespace {

class versioned final : public reuse {
 public:
  explicit versioned(const parameters& values)
      : blending_{values},
        stores_{values.boolean("stores")},
        believed_for_{values.choice("check") == "always"  ? sim_time{0}
                      : values.choice("check") == "never" ? sim_time::max()
                                                          : values.duration("ttl")} {}

  bool shares() const override { return true; }
  std::int64_t plan(const reuse_offer& offer) override { return blending_.plan(offer); }
  std::optional<chunk_choice> blend(const chunk_offer& offer) override {
    return blending_.take(offer, blend_placement::deviation);
  }

  std::optional<std::uint32_t> version_of(const version_query& query) override {
    auto [at, is_new] = seen_.emplace(std::pair{query.document.get(), query.chunk},
                                      sighting{query.current, query.now});
    sighting& last = at->second;
    bool believed = believed_for_ == sim_time::max() || query.now - last.when < believed_for_;
    if (is_new || believed) {
      return last.version;
    }
    if (last.version != query.current && !stores_) {
      return std::nullopt;
    }
    last = {query.current, query.now};
    return query.current;
  }

 private:
  struct sighting {
    std::uint32_t version;
    sim_time when;
  };

  blending blending_;
  bool stores_;
  sim_time believed_for_;
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint32_t>, sighting> seen_;  // by chunk
};

const register_policy<reuse_entry> registration{
    {policy_info{
         .name = "versioned",
         .summary = "takes documents by name and checks which version is cached",
         .source = "version checks of document caches; what theirs leave out",
         .parameters = {{.name = "check",
                         .type = parameter_type::choice,
                         .standard = "always",
                         .description = "when the version is compared: always, after ttl, or never",
                         .choices = {"always", "ttl", "never"}},
                        {.name = "ttl",
                         .type = parameter_type::duration,
                         .standard = "5min",
                         .description =
                             "how long a version that was seen is believed (check = ttl)",
                         .low = 0,
                         .high = 1e9},
                        {.name = "stores",
                         .type = parameter_type::boolean,
                         .standard = "true",
                         .description = "the check stores the version it saw"},
                        recomputed_share_parameter(),
                        exact_prefix_parameter()}},
     [](const parameters& values) -> std::unique_ptr<reuse> {
       return std::make_unique<versioned>(values);
     },
     [](const parameters&) {
       return reuse_needs{.chunk_kinds = retrieved_kinds, .versions = true};
     }}};

}  // namespace
}  // namespace refrain
