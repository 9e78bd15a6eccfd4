#include "scenarios/variants.hpp"

#include <algorithm>

#include "traces/corpus/embedding_file.hpp"
#include "traces/corpus/variants.hpp"

namespace refrain {

namespace {

/// The file's embeddings, or hashed ones that know how rare terms are among the texts as they are.
std::unique_ptr<const embedder> embedder_for(const scenario_settings& settings,
                                             const std::vector<planted_text>& planted) {
  if (settings.has("workload.variants.embeddings")) {
    return std::make_unique<embedding_file>(settings.at("workload.variants.embeddings").path);
  }
  auto width = static_cast<std::size_t>(settings.integer("workload.variants.width"));
  auto hashed = std::make_unique<hashed_embedder>(width);
  for (const planted_text& each : planted) {
    if (each.edit == planted_edit::none) {
      hashed->learn(each.text);
    }
  }
  return hashed;
}

}  // namespace

source_opener open_variants(const scenario_settings& settings, const corpus& what) {
  auto names = std::span{variant_texts_names};
  auto name = std::ranges::find(names, settings.text("workload.variants.texts"));
  REFRAIN_ASSERT(name != names.end());  // the schema has checked it
  variant_settings ask{
      .texts = static_cast<variant_texts>(name - names.begin()),
      .originals = static_cast<std::uint64_t>(settings.integer("workload.variants.originals")),
      .per_second = settings.number("workload.variants.per_second"),
      .system_tokens = token_count{settings.integer("workload.variants.system_tokens")},
      .output_tokens = token_count{settings.integer("workload.variants.output_tokens")},
      .words = what.words};
  auto seed = static_cast<std::uint64_t>(settings.integer("seed"));
  auto planted = std::make_shared<const std::vector<planted_text>>(plant_variants(what, ask, seed));
  auto table = make_planted_table(*planted, *embedder_for(settings, *planted));
  return [=] { return make_variant_source(planted, table, ask, seed); };
}

}  // namespace refrain
