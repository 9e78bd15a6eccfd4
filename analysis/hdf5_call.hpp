// How a call into HDF5 is checked: what hdf5.cpp and hdf5_table.cpp share, for nobody else.
// Every function here expects the caller to hold library_mutex, since the library keeps the reason
// of the last failure in one place.
#pragma once

#include <string>
#include <string_view>

#include "analysis/hdf5.hpp"

namespace refrain::hdf5 {

/// Throws run_error: the file, what failed, and the library's reason.
[[noreturn]] void fail(const std::string& file, const std::string& what);

/// Throws as `fail` when a call returned a negative status.
template <class Status>
void check(const std::string& file, const std::string& what, Status status) {
  if (status < 0) {
    fail(file, what);
  }
}

/// Owns the identifier that a call returned, or throws as `fail`.
inline handle own(const std::string& file, const std::string& what, hid_t id,
                  handle::closer close) {
  check(file, what, id);
  return {id, close};
}

/// Starts the library and switches its own printing of errors off.
void silence_library();

/// An UTF-8 string type of `size` bytes (at least one), padded with zeros.
handle fixed_string_type(const std::string& file, std::size_t size);

void write_text_attribute(hid_t object, const std::string& file, const std::string& name,
                          std::string_view value);
std::string read_text_attribute(hid_t object, const std::string& file, const std::string& name);

}  // namespace refrain::hdf5
