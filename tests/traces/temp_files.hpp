// Small trace files for the tests: written to a folder that goes away with the test, plain or
// packed, and two helpers for what the tests ask most: the message of an error and all rows of a
// source.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "traces/error.hpp"
#include "traces/source.hpp"

namespace refrain {

/// A folder of its own for each test.
class temp_files : public testing::Test {
 protected:
  /// Writes a file and returns its path.
  std::string write(const std::string& content, const std::string& name = "trace.jsonl") const {
    std::string path = (folder_ / name).string();
    std::filesystem::remove(path);  // some file systems flush a file that is cut and written anew
    std::ofstream{path, std::ios::binary} << content;
    return path;
  }

  temporary_folder made_;
  std::filesystem::path folder_ = made_.path();
};

template <class Compressor>
std::string packed_by(const std::string& content, Compressor compressor) {
  boost::iostreams::filtering_ostream out;
  std::ostringstream packed;
  out.push(compressor);
  out.push(packed);
  out << content;
  out.reset();
  return packed.str();
}

/// Packs `content` as "gzip", "xz" or "zstd".
inline std::string pack(const std::string& kind, const std::string& content) {
  if (kind == "gzip") {
    return packed_by(content, boost::iostreams::gzip_compressor{});
  }
  return kind == "xz" ? packed_by(content, boost::iostreams::lzma_compressor{})
                      : packed_by(content, boost::iostreams::zstd_compressor{});
}

/// The message of the input_error that `action` throws; "" when it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

/// All requests of a source.
inline std::vector<request> read_all(source& rows) {
  std::vector<request> all;
  for (request row; rows.next(row);) {
    all.push_back(row);
  }
  return all;
}

}  // namespace refrain
