// What --json prints: one document, its fields in a fixed order, numbers that are not known null.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace refrain {

using json = nlohmann::ordered_json;

/// The number, or null for nan and infinities.
json json_number(double value);

/// Text of a parameter as JSON: true, false, a number where it is one, else a string.
json json_of_text(const std::string& text);

/// Prints the document and a newline to stdout.
void print_json(const json& document);

}  // namespace refrain
