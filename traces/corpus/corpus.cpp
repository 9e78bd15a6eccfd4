#include "traces/corpus/corpus.hpp"

#include <algorithm>

#include "traces/corpus/text.hpp"
#include "traces/input_file.hpp"
#include "traces/new_file.hpp"
#include "traces/rows.hpp"

namespace refrain {

namespace {

std::map<std::string_view, corpus_format>& formats() {
  static std::map<std::string_view, corpus_format> all;
  return all;
}

void check_text(std::string_view text) {
  if (std::optional<std::size_t> fault = utf8_fault(text)) {
    throw bad_row{"text that is no UTF-8", "at byte " + std::to_string(*fault)};
  }
}

std::uint32_t place_after(std::size_t count, const char* what) {
  if (count >= UINT32_MAX) {
    throw bad_row{std::string{"more than 2^32 - 2 "} + what};
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace

register_corpus_format::register_corpus_format(corpus_format format) {
  bool is_new = formats().emplace(format.name, format).second;
  REFRAIN_ASSERT(is_new);
}

const std::map<std::string_view, corpus_format>& corpus_formats() {
  return formats();
}

corpus read_corpus(std::string_view format, const std::string& path) {
  auto found = formats().find(format);
  if (found == formats().end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, _] : formats()) {
      names.push_back(name);
    }
    throw input_error{path, unknown_name("corpus format", format, names)};
  }
  corpus read = found->second.read(path);
  if (read.source.empty()) {
    read.source = std::string{format} + ":" + path.substr(path.rfind('/') + 1);
  }
  return read;
}

std::string text_of_file(const std::string& path) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  constexpr std::size_t most = std::size_t{1} << 30;
  input_file file{path};
  std::string text;
  for (std::size_t got = piece; got == piece;) {
    std::size_t before = text.size();
    text.resize(before + piece);
    got = file.read(text.data() + before, piece);
    text.resize(before + got);
    if (text.size() > most) {
      throw input_error{path, "is above 1 GiB"};
    }
  }
  return text;
}

void write_corpus(const corpus& what, const std::string& path) {
  new_file file{path};
  std::string text = "{\"refrain_corpus\":1,\"source\":" + json_quoted(what.source) +
                     ",\"documents\":" + std::to_string(what.documents.size()) +
                     ",\"questions\":" + std::to_string(what.questions.size()) + "}\n";
  for (const corpus_document& document : what.documents) {
    text += "{\"document\":" + json_quoted(document.id) +
            ",\"text\":" + json_quoted(document.text) + "}\n";
    file.write(text);
  }
  for (const corpus_question& question : what.questions) {
    text += "{\"question\":" + json_quoted(question.id) +
            ",\"text\":" + json_quoted(question.text) + ",\"relevant\":[";
    std::string_view comma;
    for (const judgement& each : question.relevant) {
      text += std::string{comma} + "[" + json_quoted(what.documents.at(each.document).id) + "," +
              std::to_string(each.grade) + "]";
      comma = ",";
    }
    text += "]}\n";
    file.write(text);
  }
  file.write(text);
  file.keep();
}

void corpus_builder::add_document(std::string id, std::string text) {
  check_text(id);
  check_text(text);
  std::uint32_t place = place_after(made_.documents.size(), "documents");
  if (!document_places_.emplace(id, place).second) {
    throw bad_row{"a document id that is there already", id};
  }
  made_.documents.push_back({std::move(id), std::move(text)});
}

void corpus_builder::add_question(std::string id, std::string text) {
  check_text(id);
  check_text(text);
  std::uint32_t place = place_after(made_.questions.size(), "questions");
  if (!question_places_.emplace(id, place).second) {
    throw bad_row{"a question id that is there already", id};
  }
  made_.questions.push_back({std::move(id), std::move(text), {}});
}

void corpus_builder::judge(std::string_view document, std::int32_t grade) {
  REFRAIN_ASSERT(!made_.questions.empty());
  judge(made_.questions.size() - 1, document, grade);
}

void corpus_builder::judge(std::size_t question, std::string_view document, std::int32_t grade) {
  auto found = document_places_.find(document);
  if (found == document_places_.end()) {
    throw bad_row{"a judgement of a document that is not there", std::string{document}};
  }
  std::vector<judgement>& relevant = made_.questions.at(question).relevant;
  if (std::ranges::find(relevant, found->second, &judgement::document) != relevant.end()) {
    throw bad_row{"a document that is judged twice for one question", std::string{document}};
  }
  relevant.push_back({found->second, grade});
}

}  // namespace refrain
