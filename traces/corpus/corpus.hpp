// A corpus: documents to search, questions to search them with, and which documents are right. Its
// file is JSON lines, plain or packed: a header, then documents, then questions.
//
//   {"refrain_corpus": 1, "source": "smart:cranfield", "documents": 1400, "questions": 225}
//   {"document": "184", "text": "scale models for thermo-aeroelastic research ..."}
//   {"question": "1", "text": "what similarity laws ...", "relevant": [["184", 3], ["29", 1]]}
//
// Other formats register themselves (corpus_format) and are read whole: a corpus is held in memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/corpus/token_book.hpp"
#include "traces/error.hpp"

namespace refrain {

/// A document. Its id is unique in the corpus; its text is UTF-8 and may be empty.
struct corpus_document {
  std::string id;
  std::string text;
};

/// That a document is relevant to a question: higher grades are better; at least 1.
struct judgement {
  std::uint32_t document = 0;  ///< place in corpus::documents
  std::int32_t grade = 1;

  friend bool operator==(const judgement&, const judgement&) = default;
};

/// A question with an id of its own and UTF-8 text.
struct corpus_question {
  std::string id;
  std::string text;
  std::vector<judgement> relevant;  ///< no document twice; may be empty
};

/// Documents and questions.
struct corpus {
  std::string source;  ///< "FORMAT:PATH" that it was built from
  std::vector<corpus_document> documents;
  std::vector<corpus_question> questions;
  std::shared_ptr<token_book> words{};  ///< null: texts are measured by their bytes
};

/// One way to store a corpus.
struct corpus_format {
  std::string_view name;
  std::string_view summary;  ///< one line: what it is, what the path names
  corpus (*read)(const std::string& path);
};

/// Makes a format known at start-up.
struct register_corpus_format {
  explicit register_corpus_format(corpus_format format);
};

/// Every format, by name.
const std::map<std::string_view, corpus_format>& corpus_formats();

/// Reads a corpus. Throws input_error for an unknown format or bad data, naming file and line: text
/// that is no UTF-8, an id given twice, a judgement of a document that is not there. A corpus
/// without documents is good.
corpus read_corpus(std::string_view format, const std::string& path);

/// A whole file as text, unpacked. Throws input_error where it cannot be read or is above 1 GiB.
std::string text_of_file(const std::string& path);

/// Writes our own format, called "corpus", to a new file. Throws input_error where it exists.
void write_corpus(const corpus& what, const std::string& path);

/// Collects documents and questions and checks them as they come; what readers share.
class corpus_builder {
 public:
  /// Both throw bad_row for text that is no UTF-8 and for an id that was there before.
  void add_document(std::string id, std::string text);
  void add_question(std::string id, std::string text);
  /// Judges the question added last. Throws bad_row for a document that is not there or was judged.
  void judge(std::string_view document, std::int32_t grade);
  /// The same of any question, by its place.
  void judge(std::size_t question, std::string_view document, std::int32_t grade);

  std::size_t questions() const { return made_.questions.size(); }
  std::size_t documents() const { return made_.documents.size(); }
  corpus take() { return std::move(made_); }

 private:
  corpus made_;
  std::map<std::string, std::uint32_t, std::less<>> document_places_;
  std::map<std::string, std::uint32_t, std::less<>> question_places_;
};

}  // namespace refrain
