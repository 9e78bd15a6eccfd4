// The knowledge base of a scenario: which revisions of the corpus are played while questions are
// asked, and how each contender keeps up with them.
#pragma once

#include <memory>
#include <string>

#include "actors/plan.hpp"
#include "scenarios/settings.hpp"
#include "scenarios/workload.hpp"

namespace refrain {

/// The corpus format that can be played.
inline constexpr std::string_view revisions_format = "revisions";

/// Whether [knowledge] asks for updates.
bool plays_updates(const scenario_settings& settings);

/// The revisions of corpus.path that [knowledge] plays. Throws input_error where the corpus is no
/// stream of revisions, has fewer than `knowledge.skip`, or the run is serial; also, without
/// `knowledge.speed`, for any other key of the table.
update_stream load_updates(const scenario_settings& settings, const std::string& file);

/// Resolves how a contender keeps up; throws input_error for embeddings from a file, which cannot
/// know later texts.
knowledge_plan plan_knowledge(const scenario_settings& settings, const scanned_workload& workload);

/// What a first pass sees: each prompt as it will be.
std::unique_ptr<source> with_documents(std::unique_ptr<source> rows, const contender_plan& plan);

/// A SHA-256 of all that the stream plays.
std::string sha256_of_updates(const update_stream& updates);

}  // namespace refrain
