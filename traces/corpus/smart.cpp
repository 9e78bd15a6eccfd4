// The SMART system's collections, of which Cranfield is one: `.I NUMBER` begins a document or a
// question, `.W` its text; other fields (title, author) are left out, since Cranfield's text
// repeats the title. Judgements are lines `QUESTION DOCUMENT CODE`; the question is its place in
// the file, from 1, whatever its label. Codes run from 1, a complete answer, to 4, minimum
// interest, and become grades 4 to 1; pairs with another code (Cranfield has one -1 for each
// question, which its readme does not explain) do not count as relevant.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "traces/corpus/corpus.hpp"
#include "traces/input_file.hpp"
#include "traces/rows.hpp"

namespace refrain {

namespace {

namespace fs = std::filesystem;

struct smart_files {
  std::string documents, questions, judgements;
};

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

/// The one file of the folder whose name holds `mark`.
std::string file_with(const std::vector<std::string>& names, const fs::path& folder,
                      std::string_view mark) {
  std::string found;
  for (const std::string& name : names) {
    std::string low = lower_case(name);
    if (low.find(mark) == std::string::npos || low.find("readme") != std::string::npos) {
      continue;
    }
    if (!found.empty()) {
      throw input_error{folder.string(), "holds two files with \"" + std::string{mark} +
                                             "\" in their names: " + found + " and " + name};
    }
    found = name;
  }
  if (found.empty()) {
    throw input_error{folder.string(), "holds no file with \"" + std::string{mark} +
                                           "\" in its name; expected documents (.all), questions "
                                           "(.qry) and judgements (rel)"};
  }
  return (folder / found).string();
}

smart_files files_at(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return {path, "", ""};
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& each : fs::directory_iterator{path}) {
    names.push_back(each.path().filename().string());
  }
  std::ranges::sort(names);
  return {file_with(names, path, ".all"), file_with(names, path, ".qry"),
          file_with(names, path, "rel")};
}

struct smart_item {
  std::string id, text;
};

/// Walks over the items of a file.
class smart_walker {
 public:
  explicit smart_walker(const std::string& path) : file_{path} {}

  /// Calls add(item) for each; its bad_row becomes an input_error at the item's last line.
  template <class Add>
  void for_each(Add&& add) {
    std::optional<smart_item> item;
    char field = 0;
    std::string_view line;
    auto finish = [&] {
      if (item) {
        guarded([&] { add(std::move(*item)); });
      }
    };
    while (file_.next_line(line)) {
      if (line.starts_with(".I")) {
        finish();
        item.emplace();
        guarded([&] { item->id = id_of(line); });
        field = 0;
      } else if (line.size() == 2 && line[0] == '.' && line[1] >= 'A' && line[1] <= 'Z') {
        field = line[1];
      } else if (!item) {
        throw input_error{file_.where(), "text before the first .I"};
      } else if (field == 'W') {
        item->text.append(line).append("\n");
      }
    }
    finish();
  }

 private:
  static std::string id_of(std::string_view line) {
    std::size_t at = line.find_first_not_of(" \t", 2);
    std::size_t end = line.find_last_not_of(" \t") + 1;
    if (at == std::string_view::npos || at == 2) {
      throw bad_row{"an .I without a number"};
    }
    return std::string{line.substr(at, end - at)};
  }

  template <class Action>
  void guarded(Action&& action) {
    try {
      action();
    } catch (const bad_row& row) {
      throw input_error{file_.where(), row.what()};
    }
  }

  input_file file_;
};

/// `QUESTION DOCUMENT CODE`
std::optional<std::array<std::int64_t, 3>> three_numbers(std::string_view line) {
  std::array<std::int64_t, 3> numbers{};
  const char* at = line.data();
  const char* end = line.data() + line.size();
  for (std::int64_t& number : numbers) {
    while (at != end && (*at == ' ' || *at == '\t')) {
      ++at;
    }
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    at = next;
  }
  bool nothing_more = std::string_view{at, end}.find_first_not_of(" \t") == std::string_view::npos;
  return nothing_more ? std::optional{numbers} : std::nullopt;
}

void read_judgements(const std::string& path, corpus_builder& builder) {
  input_file file{path};
  std::string_view line;
  while (file.next_line(line)) {
    auto numbers = three_numbers(line);
    if (!numbers) {
      throw input_error{file.where(), "expected a question's place, a document and a code"};
    }
    auto [question, document, code] = *numbers;
    if (question < 1 || question > static_cast<std::int64_t>(builder.questions())) {
      throw input_error{file.where(), "question " + std::to_string(question) +
                                          " is not among the " +
                                          std::to_string(builder.questions()) + " there are"};
    }
    if (code < 1 || code > 4) {
      continue;
    }
    try {
      builder.judge(static_cast<std::size_t>(question - 1), std::to_string(document),
                    static_cast<std::int32_t>(5 - code));
    } catch (const bad_row& row) {
      throw input_error{file.where(), row.what()};
    }
  }
}

corpus read_smart(const std::string& path) {
  smart_files files = files_at(path);
  corpus_builder builder;
  smart_walker{files.documents}.for_each([&builder](smart_item item) {
    builder.add_document(std::move(item.id), std::move(item.text));
  });
  if (!files.questions.empty()) {
    smart_walker{files.questions}.for_each([&builder](smart_item item) {
      builder.add_question(std::move(item.id), std::move(item.text));
    });
    read_judgements(files.judgements, builder);
  }
  return builder.take();
}

const register_corpus_format format{
    {.name = "smart",
     .summary = "SMART collections such as Cranfield: a folder with documents (.all), questions "
                "(.qry) and judgements (rel), or documents alone",
     .read = read_smart}};

}  // namespace

}  // namespace refrain
