// The kinds of compressed files, told by their first bytes, and the Boost.Iostreams filters that
// unpack them. Zstandard has a filter of our own: Boost's ends quietly where a file is cut. Files
// of several gzip members, xz streams or Zstandard frames are read whole.
#pragma once

#include <boost/iostreams/filtering_streambuf.hpp>
#include <stdexcept>
#include <string_view>

namespace refrain {

/// Packed data that asks for more memory than a few bytes should be trusted with.
class window_too_large : public std::runtime_error {
 public:
  window_too_large() : std::runtime_error{"needs more than 128 MiB to be unpacked"} {}
};

/// How a file is stored.
enum class packing { plain, gzip, xz, zstd, bzip2 };

/// Tells the packing by a file's first bytes (6 are enough).
packing packing_of(std::string_view first_bytes);
/// The packing's name as people write it.
std::string_view packing_name(packing kind);
/// Adds the filter that unpacks `kind` to a chain; plain adds none. The filter throws an exception
/// derived from std::exception where data is damaged or ends early.
void push_unpacker(boost::iostreams::filtering_streambuf<boost::iostreams::input>& chain,
                   packing kind, std::streamsize buffer_bytes);

}  // namespace refrain
