// Our own format, strict: a field that it does not have makes a bad row, counts in the header must
// come true, and a question may judge only documents that stand before it.
#include <limits>
#include <optional>

#include "traces/corpus/corpus.hpp"
#include "traces/input_file.hpp"
#include "traces/json_lines.hpp"

namespace refrain {

namespace {

constexpr std::uint64_t version_read = 1;

struct corpus_header {
  std::optional<std::uint64_t> version, documents, questions;
  std::optional<std::string> source;
};

struct corpus_row {
  std::optional<std::string> document, question, text;
  std::vector<std::pair<std::string, std::int32_t>> relevant;
  bool has_relevant = false;
};

/// [DOCUMENT, GRADE]
std::pair<std::string, std::int32_t> judgement_of(json_value& value) {
  constexpr const char* fault = "a judgement is not [DOCUMENT, GRADE] with a grade from 1 to 100";
  simdjson::ondemand::array parts;
  if (value.get_array().get(parts) != simdjson::SUCCESS) {
    throw bad_row{fault};
  }
  std::string document;
  std::int64_t grade = 0;
  std::size_t at = 0;
  for (auto element : parts) {
    json_value part;
    check_json(element.get(part));
    if (at == 0) {
      document = json_word(part, "relevant");
    } else if (part.get_int64().get(grade) != simdjson::SUCCESS) {
      throw bad_row{fault};
    }
    ++at;
  }
  if (at != 2 || grade < 1 || grade > 100) {
    throw bad_row{fault};
  }
  return {std::move(document), static_cast<std::int32_t>(grade)};
}

class corpus_reader {
 public:
  explicit corpus_reader(const std::string& path) : file_{path} {}

  corpus read() {
    std::string_view line;
    if (!file_.next_line(line)) {
      throw input_error{file_.path(), "is empty; expected a header {\"refrain_corpus\": 1}"};
    }
    try {
      read_header(line);
      while (file_.next_line(line)) {
        read_row(line);
      }
      check_count(header_.documents, builder_.documents(), "documents");
      check_count(header_.questions, builder_.questions(), "questions");
    } catch (const bad_row& row) {
      throw input_error{file_.where(), row.what()};
    }
    corpus made = builder_.take();
    made.source = header_.source.value_or("");
    return made;
  }

 private:
  void read_header(std::string_view line) {
    walker_.for_each_field(line, [this](std::string_view name, json_value& value) {
      if (name == "refrain_corpus") {
        set_once(header_.version, json_unsigned(value, name), name);
      } else if (name == "source") {
        set_once(header_.source, json_word(value, name), name);
      } else if (name == "documents") {
        set_once(header_.documents, json_unsigned(value, name), name);
      } else if (name == "questions") {
        set_once(header_.questions, json_unsigned(value, name), name);
      } else {
        unknown_field(name);
      }
    });
    if (!header_.version) {
      throw bad_row{"no header of a corpus", "expected {\"refrain_corpus\": 1} on the first line"};
    }
    if (*header_.version != version_read) {
      throw bad_row{"a corpus of another version", std::to_string(*header_.version)};
    }
  }

  void read_row(std::string_view line) {
    corpus_row row;
    walker_.for_each_field(line, [&row](std::string_view name, json_value& value) {
      if (name == "document") {
        set_once(row.document, json_id(value, name), name);
      } else if (name == "question") {
        set_once(row.question, json_id(value, name), name);
      } else if (name == "text") {
        set_once(row.text, json_word(value, name), name);
      } else if (name == "relevant") {
        read_judgements(value, row);
      } else {
        unknown_field(name);
      }
    });
    add(row);
  }

  static void read_judgements(json_value& value, corpus_row& row) {
    simdjson::ondemand::array all;
    if (row.has_relevant || value.get_array().get(all) != simdjson::SUCCESS) {
      throw bad_row{"\"relevant\" is not one array"};
    }
    row.has_relevant = true;
    for (auto element : all) {
      json_value one;
      check_json(element.get(one));
      row.relevant.push_back(judgement_of(one));
    }
  }

  void add(corpus_row& row) {
    const std::string& text = required(row.text, "text");
    if (row.document.has_value() == row.question.has_value()) {
      throw bad_row{"neither a document nor a question, or both"};
    }
    if (row.document) {
      if (row.has_relevant) {
        throw bad_row{"a document with judgements; they belong to questions"};
      }
      builder_.add_document(*row.document, text);
      return;
    }
    builder_.add_question(*row.question, text);
    for (const auto& [document, grade] : row.relevant) {
      builder_.judge(document, grade);
    }
  }

  static void check_count(const std::optional<std::uint64_t>& said, std::uint64_t found,
                          const char* what) {
    if (said && *said != found) {
      throw bad_row{std::string{"the header says "} + std::to_string(*said) + " " + what +
                    ", and there are " + std::to_string(found)};
    }
  }

  input_file file_;
  json_walker walker_;
  corpus_header header_;
  corpus_builder builder_;
};

const register_corpus_format format{
    {.name = "corpus",
     .summary = "our own JSON lines, which `refrain corpus build` writes",
     .read = [](const std::string& path) { return corpus_reader{path}.read(); }}};

}  // namespace

}  // namespace refrain
