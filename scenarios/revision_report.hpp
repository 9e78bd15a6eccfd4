// `refrain corpus history`: a stream of document revisions in figures, and what its edits leave of
// chunks under every rule of cutting.
#pragma once

#include <string>

#include "scenarios/json.hpp"
#include "traces/integers.hpp"

namespace refrain {

/// Reads "revisions:PATH". Throws input_error, also for another format.
json revision_document(const std::string& from, token_count span);

/// Prints it for people.
void print_revisions(const json& about);

}  // namespace refrain
