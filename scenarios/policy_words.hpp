// How the words of a command line name policies, which commands share: NAME or NAME:k=v,..., and
// --plugin FILE.
#pragma once

#include <string>
#include <vector>

#include "policies/parameters.hpp"
#include "scenarios/arguments.hpp"

namespace refrain {

/// The parts of a text between separators; at least one.
std::vector<std::string> split(const std::string& text, char separator);

/// The name in "NAME" or "NAME:k=v,..."; the parameters are added to `into`. Throws
/// input_error{where, ...}.
std::string parse_named(const std::string& text, const std::string& where, given_parameters& into);

/// Adds the option --plugin.
void declare_plugins(arguments& given);
/// Loads what --plugin names. Throws input_error.
void load_plugins(const arguments& given);

}  // namespace refrain
