// The workload of planted variants: which reuse between similar texts is wrong is known.
#pragma once

#include <string_view>

#include "scenarios/settings.hpp"
#include "traces/adapt.hpp"
#include "traces/corpus/corpus.hpp"

namespace refrain {

/// What workload.format is where a corpus' texts are asked with planted edits.
inline constexpr std::string_view variants_format = "variants";

/// The requests of [workload.variants], each time from the first. Throws input_error for a corpus
/// without such texts and for a file of embeddings that lacks one of them.
source_opener open_variants(const scenario_settings& settings, const corpus& what);

}  // namespace refrain
