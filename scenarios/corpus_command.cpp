// `refrain corpus`: builds a corpus file from what others store, checks how well it can be searched
// and how long that takes here, searches it, and lists its chunks or its texts with planted edits.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "scenarios/commands.hpp"
#include "scenarios/corpus_options.hpp"
#include "scenarios/revision_report.hpp"
#include "traces/corpus/retrieval_quality.hpp"
#include "traces/corpus/text.hpp"
#include "traces/corpus/variants.hpp"
#include "traces/quantity.hpp"

namespace refrain {

namespace {

using clock = std::chrono::steady_clock;

/// Below every cosine: nothing is left out.
constexpr float any_score = -2;

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

struct measured_times {
  std::vector<double> seconds{};

  json document() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    double sum = 0;
    for (double each : sorted) {
      sum += each;
    }
    auto at = [&](double share) {
      if (sorted.empty()) {
        return json(nullptr);
      }
      auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
      return json(sorted[rank]);
    };
    json mean = sorted.empty() ? json(nullptr) : json(sum / static_cast<double>(sorted.size()));
    return {{"mean", mean}, {"p50", at(0.5)}, {"p99", at(0.99)}};
  }
};

using embeddings = std::vector<std::vector<float>>;

/// What one index gave for all questions.
struct searched_index {
  std::vector<std::vector<found_document>> documents;
  std::vector<std::vector<neighbour>> chunks;
  measured_times search;
  double build_seconds = 0;
  std::size_t size = 0;
};

searched_index search_all(const corpus_options& options, const index_settings& index,
                          const std::shared_ptr<const embedder>& texts,
                          const embeddings& questions) {
  searched_index result;
  clock::time_point begin = clock::now();
  auto chunks = make_chunk_index(options.what, options.chunks, index, texts);
  result.build_seconds = seconds_since(begin);
  result.size = chunks->size();
  std::size_t most = options.top.back();
  for (const std::vector<float>& question : questions) {
    begin = clock::now();
    result.chunks.push_back(chunks->nearest_chunks(question, most, any_score));
    result.search.seconds.push_back(seconds_since(begin));
    result.documents.push_back(chunks->search_documents(question, most, any_score));
  }
  return result;
}

json quality_document(const corpus_options& options, const searched_index& found,
                      const searched_index& exact) {
  json rows = json::array();
  for (std::size_t k : options.top) {
    retrieval_quality quality = quality_at(options.what, found.documents, k);
    bool judged = quality.judged > 0;
    double of_exact = 0;
    for (std::size_t i = 0; i < found.chunks.size(); ++i) {
      of_exact += recall_of_exact(found.chunks[i], exact.chunks[i], k);
    }
    bool asked = !found.chunks.empty();
    rows.push_back(
        {{"k", k},
         {"recall", judged ? json(quality.recall) : json(nullptr)},
         {"ndcg", judged ? json(quality.ndcg) : json(nullptr)},
         {"recall_of_exact",
          asked ? json(of_exact / static_cast<double>(found.chunks.size())) : json(nullptr)}});
  }
  return rows;
}

json check(corpus_options& options) {
  auto texts = make_embedder(options.what, options.chunks, options.width, options.embeddings);
  options.width = texts->width();
  embeddings questions;
  measured_times embed;
  for (const corpus_question& question : options.what.questions) {
    clock::time_point begin = clock::now();
    questions.push_back(texts->of(question.text));
    embed.seconds.push_back(seconds_since(begin));
  }
  searched_index exact = search_all(options, {}, texts, questions);
  json document = describe_corpus(options, exact.size);
  retrieval_quality counts = quality_at(options.what, exact.documents, 1);
  document["judged_questions"] = counts.judged;
  document["questions_without_hit"] = counts.no_hit;
  document["embed_seconds"] = embed.document();
  document["indexes"] = json::array();
  for (const index_settings& index : options.indexes) {
    searched_index found =
        index.kind == index_kind::exact ? exact : search_all(options, index, texts, questions);
    json about = describe_index(index);
    about["build_seconds"] = found.build_seconds;
    about["search_seconds"] = found.search.document();
    about["quality"] = quality_document(options, found, exact);
    document["indexes"].push_back(std::move(about));
  }
  return document;
}

std::string share_text(const json& value) {
  return value.is_null() ? "-" : fmt::format("{:.4f}", value.get<double>());
}

std::string time_text(const json& value) {
  return value.is_null() ? "-" : print_duration(value.get<double>());
}

void print_check(const json& about) {
  std::cout << fmt::format(
      "{}: {} documents, {} questions ({} judged, {} without hit)\n"
      "{} chunks ({}, {} tokens), {} embeddings of {} numbers, {} a question\n\n",
      about["corpus"].get<std::string>(), about["documents"].get<std::uint64_t>(),
      about["questions"].get<std::uint64_t>(), about["judged_questions"].get<std::uint64_t>(),
      about["questions_without_hit"].get<std::uint64_t>(), about["chunks"].get<std::uint64_t>(),
      about["chunking"].get<std::string>(), about["span_tokens"].get<std::int64_t>(),
      about["embedding"].get<std::string>(), about["width"].get<std::uint64_t>(),
      time_text(about["embed_seconds"]["p50"]));
  std::cout << fmt::format("{:<8}{:>8}{:>10}{:>10}{:>18}{:>14}{:>12}\n", "index", "k", "recall@k",
                           "nDCG@k", "recall of exact", "query p50", "query p99");
  for (const json& index : about["indexes"]) {
    for (const json& row : index["quality"]) {
      std::cout << fmt::format(
          "{:<8}{:>8}{:>10}{:>10}{:>18}{:>14}{:>12}\n", index["index"].get<std::string>(),
          row["k"].get<std::uint64_t>(), share_text(row["recall"]), share_text(row["ndcg"]),
          share_text(row["recall_of_exact"]), time_text(index["search_seconds"]["mean"]),
          time_text(index["search_seconds"]["p99"]));
    }
  }
  std::cout << "\nTimes are measured here, on one thread, and differ from run to run.\n";
}

json search(corpus_options& options, const std::string& question) {
  if (utf8_fault(question)) {
    throw input_error{"QUESTION", "is no UTF-8"};
  }
  auto texts = make_embedder(options.what, options.chunks, options.width, options.embeddings);
  options.width = texts->width();
  auto chunks = make_chunk_index(options.what, options.chunks, options.indexes.front(), texts);
  json document = describe_corpus(options, chunks->size());
  document.update(describe_index(options.indexes.front()));
  document["question"] = question;
  document["found"] = json::array();
  for (const found_chunk& each : chunks->search(question, options.top.back(), 0)) {
    const corpus_document& from = options.what.documents[each.chunk.document];
    document["found"].push_back({{"document", from.id},
                                 {"chunk", each.chunk.place},
                                 {"score", each.score},
                                 {"tokens", each.chunk.tokens().get()},
                                 {"fingerprint", each.chunk.text.hex()},
                                 {"text", each.chunk.where.in(from.text)}});
  }
  return document;
}

void print_search(const json& about) {
  for (const json& found : about["found"]) {
    std::string text = one_line(found["text"].get<std::string>());
    std::string_view shown{text.data(), character_start(text, 100)};
    std::cout << fmt::format("{:.4f}  {} chunk {} ({} tokens): {}\n", found["score"].get<float>(),
                             found["document"].get<std::string>(),
                             found["chunk"].get<std::uint32_t>(),
                             found["tokens"].get<std::int64_t>(), shown);
  }
  if (about["found"].empty()) {
    std::cout << "nothing has a term of the question\n";
  }
}

void print_chunks(const corpus_options& options) {
  for (const corpus_document& document : options.what.documents) {
    std::size_t place = 0;
    for (const text_chunk& piece : cut_text(document.text, options.chunks)) {
      std::string_view text = piece.in(document.text);
      std::cout << fmt::format(
          "{{\"document\":{},\"chunk\":{},\"begin\":{},\"bytes\":{},\"tokens\":{},"
          "\"fingerprint\":\"{}\",\"text\":{}}}\n",
          json_quoted(document.id), place++, piece.begin, piece.bytes, piece.tokens().get(),
          fingerprint_of(text).hex(), json_quoted(text));
    }
  }
}

void print_variants(const arguments& given, const std::string& from) {
  std::string name = given.one("texts", "questions");
  auto found = std::ranges::find(variant_texts_names, name);
  if (found == std::end(variant_texts_names)) {
    throw input_error{"--texts", unknown_name("value", name, variant_texts_names)};
  }
  variant_settings settings{
      .texts = static_cast<variant_texts>(found - std::begin(variant_texts_names))};
  auto seed = static_cast<std::uint64_t>(given.number("seed", 0, 0));
  for (const planted_text& each : plant_variants(read_named_corpus(from), settings, seed)) {
    std::cout << fmt::format(
        "{{\"edit\":\"{}\",\"original\":{},\"fingerprint\":\"{}\",\"text\":{}}}\n",
        planted_edit_names[static_cast<std::size_t>(each.edit)], each.original,
        fingerprint_of(each.text).hex(), json_quoted(each.text));
  }
}

void build(const arguments& given, const std::string& from) {
  std::string path = given.required("output");
  corpus what = read_named_corpus(from);
  write_corpus(what, path);
  json document{{"corpus", what.source},
                {"documents", what.documents.size()},
                {"questions", what.questions.size()},
                {"file", path}};
  if (given.has("json")) {
    print_json(document);
  } else {
    std::cout << fmt::format("wrote {} documents and {} questions to {}\n", what.documents.size(),
                             what.questions.size(), path);
  }
}

void describe_history(const arguments& given, const std::string& from) {
  json document = revision_document(from, chunk_span_of(given));
  given.has("json") ? print_json(document) : print_revisions(document);
}

void print_formats() {
  std::cout << "\nformats\n";
  for (const auto& [name, format] : corpus_formats()) {
    std::cout << fmt::format("  {:<16} {}\n", name, format.summary);
  }
}

}  // namespace

void corpus_command(const std::vector<std::string>& words) {
  arguments given{
      "corpus", "corpus build|check|search|chunks|variants|history FORMAT:PATH [QUESTION] [...]",
      "build writes a corpus file (-o FILE), check measures how well and how fast it is searched, "
      "search\nasks one question, chunks prints every chunk as a JSON line, variants every text "
      "that "
      "a workload of that\nformat asks, history says what edits leave of documents and chunks "
      "(revisions:PATH)."};
  given.word("ACTION", "build, check, search, chunks, variants or history");
  given.word("FORMAT:PATH", "the corpus");
  given.word("QUESTION", "what to search for");
  given.option("output,o", "FILE", "build: the file to write, which must be new");
  given.option("texts", "WHICH", "variants: questions, documents or both (questions)");
  add_corpus_options(given);
  if (!given.parse(words)) {
    print_formats();
    return;
  }
  std::string action = given.required("ACTION");
  constexpr std::string_view actions[] = {"build",  "check",    "search",
                                          "chunks", "variants", "history"};
  if (std::ranges::find(actions, action) == std::end(actions)) {
    throw usage_error{"corpus: " + unknown_name("action", action, actions)};
  }
  std::string from = given.required("FORMAT:PATH");
  if (action == "build") {
    build(given, from);
    return;
  }
  if (action == "variants") {
    print_variants(given, from);
    return;
  }
  if (action == "history") {
    describe_history(given, from);
    return;
  }
  corpus_options options = read_corpus_options(given, from);
  if (action != "search" && !given.one("QUESTION").empty()) {
    throw usage_error{
        fmt::format("corpus {}: one word too many: {}", action, given.one("QUESTION"))};
  }
  if (action == "chunks") {
    print_chunks(options);
  } else if (action == "check") {
    json document = check(options);
    given.has("json") ? print_json(document) : print_check(document);
  } else {
    if (!given.has("index")) {
      options.indexes = {index_settings{}};
    }
    std::string question = given.required("QUESTION");
    if (options.top.size() > 1 || options.indexes.size() > 1) {
      throw usage_error{
          "corpus search: asks one index once: give --top and --index one value each"};
    }
    json document = search(options, question);
    given.has("json") ? print_json(document) : print_search(document);
  }
}

}  // namespace refrain
