// A folder of texts: every file below it that ends in .md or .txt is a document under its path from
// there, in alphabetical order. Links are not followed.
#include <algorithm>
#include <filesystem>

#include "traces/corpus/corpus.hpp"
#include "traces/rows.hpp"

namespace refrain {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> texts_below(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    throw input_error{path, "is no folder; expected one with .md or .txt files"};
  }
  std::vector<fs::path> found;
  for (auto at = fs::recursive_directory_iterator{path, error};
       !error && at != fs::recursive_directory_iterator{}; at.increment(error)) {
    fs::path ending = at->path().extension();
    if (at->is_regular_file() && !at->is_symlink() && (ending == ".md" || ending == ".txt")) {
      found.push_back(at->path());
    }
  }
  if (error) {
    throw input_error{path, "cannot be read: " + error.message()};
  }
  if (found.empty()) {
    throw input_error{path, "holds no .md or .txt file"};
  }
  std::ranges::sort(found);
  return found;
}

corpus read_folder(const std::string& path) {
  corpus_builder builder;
  for (const fs::path& each : texts_below(path)) {
    try {
      builder.add_document(each.lexically_relative(path).generic_string(),
                           text_of_file(each.string()));
    } catch (const bad_row& row) {
      throw input_error{each.string(), row.what()};
    }
  }
  return builder.take();
}

const register_corpus_format format{
    {.name = "folder",
     .summary = "a folder: every .md and .txt file below it is a document",
     .read = read_folder}};

}  // namespace

}  // namespace refrain
