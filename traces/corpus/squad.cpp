// SQuAD 1.1's form, which XQuAD shares: articles of paragraphs with questions on each. A paragraph
// is a document, "ARTICLE-PARAGRAPH" counted from 0, and the one relevant document of its
// questions.
#include <simdjson.h>

#include <string>

#include "traces/corpus/corpus.hpp"
#include "traces/rows.hpp"

namespace refrain {

namespace {

namespace json = simdjson::ondemand;

class squad_reader {
 public:
  explicit squad_reader(const std::string& path) : text_{text_of_file(path)} {}

  corpus read() {
    simdjson::padded_string padded{text_};
    simdjson::ondemand::parser parser;
    json::document document = parser.iterate(padded);
    std::size_t article = 0;
    for (auto each : document["data"].get_array()) {
      std::size_t paragraph = 0;
      for (auto part : each["paragraphs"].get_array()) {
        json::object fields = part.get_object();
        read_paragraph(fields, std::to_string(article) + "-" + std::to_string(paragraph++));
      }
      ++article;
    }
    return builder_.take();
  }

  std::string last() const { return last_; }

 private:
  void read_paragraph(json::object& fields, const std::string& id) {
    last_ = "paragraph " + id;
    std::string_view text = fields["context"].get_string();
    builder_.add_document(id, std::string{text});
    fields.reset();
    for (auto question : fields["qas"].get_array()) {
      json::object about = question.get_object();
      std::string_view name = about["id"].get_string();
      last_ = "question " + std::string{name};
      std::string key{name};
      about.reset();
      std::string_view words = about["question"].get_string();
      builder_.add_question(std::move(key), std::string{words});
      builder_.judge(id, 1);
    }
  }

  std::string text_;
  corpus_builder builder_;
  std::string last_ = "the beginning";
};

corpus read_squad(const std::string& path) {
  squad_reader reader{path};
  try {
    return reader.read();
  } catch (const simdjson::simdjson_error& error) {
    throw input_error{path, "not SQuAD's JSON near " + reader.last() + ": " + error.what()};
  } catch (const bad_row& row) {
    throw input_error{path, "at " + reader.last() + ": " + row.what()};
  }
}

const register_corpus_format format{
    {.name = "squad",
     .summary = "SQuAD 1.1's JSON, as XQuAD's: every paragraph is a document",
     .read = read_squad}};

}  // namespace

}  // namespace refrain
