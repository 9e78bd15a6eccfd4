// The `refrain` trace format: JSON lines that hold everything a request holds, so that any trace
// can be written once and read again with equal results. The text of the format is one string here,
// printed by `refrain traces --help`; the reader is in refrain.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/request.hpp"
#include "traces/source.hpp"

namespace refrain {

/// Version in the header of the files that write_trace makes, and the only one the reader takes.
inline constexpr std::uint64_t trace_format_version = 1;

/// What the format is, for people.
std::string_view trace_format_text();

/// The word for a kind in the format: "system", "history", ...
std::string_view segment_kind_name(segment_kind kind);

/// Appends the header line of a trace with these attributes, its end included.
void append_header(std::string& text, const trace_info& info);
/// Appends a request as one line, its end included.
void append_row(std::string& text, const trace_info& info, const request& row);

/// Writes all requests of `rows` to a new file at `path` and returns how many there were. Throws
/// input_error where the file exists or cannot be written, and what `rows` throws; then no file is
/// left.
std::uint64_t write_trace(source& rows, const std::string& path);

}  // namespace refrain
