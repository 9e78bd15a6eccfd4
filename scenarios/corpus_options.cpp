#include "scenarios/corpus_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "traces/corpus/embedding_file.hpp"

namespace refrain {

namespace {

constexpr std::int64_t span_tokens_max = 1'000'000;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t at = text.find(','); at != std::string::npos; at = text.find(',', begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// The place of a word among those that an option takes.
template <class Names>
std::size_t place_of(const std::string& word, const Names& names, const char* option) {
  std::vector<std::string_view> all{std::begin(names), std::end(names)};
  auto found = std::ranges::find(all, word);
  if (found == all.end()) {
    throw input_error{option, unknown_name("value", word, all)};
  }
  return static_cast<std::size_t>(found - all.begin());
}

std::size_t number(const arguments& given, const std::string& name, std::int64_t least,
                   std::int64_t most, std::size_t otherwise) {
  std::int64_t value = given.number(name, least, static_cast<std::int64_t>(otherwise));
  if (value > most) {
    throw input_error{"--" + name, fmt::format("expected at most {}, found {}", most, value)};
  }
  return static_cast<std::size_t>(value);
}

std::vector<std::size_t> top_of(const arguments& given) {
  std::vector<std::size_t> all;
  for (const std::string& part : split(given.one("top", "10"))) {
    std::size_t value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value < 1 ||
        value > 1'000'000) {
      throw input_error{"--top",
                        fmt::format("expected numbers from 1 to 1,000,000, found \"{}\"", part)};
    }
    all.push_back(value);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<index_settings> indexes_of(const arguments& given) {
  index_settings standard;
  lsh_settings& lsh = standard.lsh;
  lsh.tables = number(given, "tables", 1, 1024, lsh.tables);
  lsh.bits = number(given, "bits", 1, 30, lsh.bits);
  lsh.probes = number(given, "probes", 1, 1'000'000, lsh.probes);
  hnsw_settings& hnsw = standard.hnsw;
  hnsw.links = number(given, "links", 2, 512, hnsw.links);
  hnsw.build_effort = number(given, "build-effort", 1, 100'000, hnsw.build_effort);
  hnsw.search_effort = number(given, "search-effort", 1, 100'000, hnsw.search_effort);
  standard.seed = static_cast<std::uint64_t>(given.number("seed", 0, 0));
  std::vector<index_settings> all;
  for (const std::string& name : split(given.one("index", "exact,lsh,hnsw"))) {
    standard.kind = static_cast<index_kind>(place_of(name, index_kind_names, "--index"));
    all.push_back(standard);
  }
  return all;
}

}  // namespace

void add_corpus_options(arguments& given) {
  given.option("chunking", "RULE", "fixed, heading or content (fixed)");
  given.option("span", "TOKENS", "of a chunk (384; a token is four bytes)");
  given.option("index", "KIND[,KIND...]", "exact, lsh, hnsw (all three; search: exact)");
  given.option("top", "K[,K...]", "how many documents (10)");
  given.option("width", "N", "numbers of a hashed embedding (1024)");
  given.option("embeddings", "FILE",
               "embeddings of all chunks and questions instead of hashed ones");
  given.option("tables", "N", "lsh: hash tables (16)");
  given.option("bits", "N", "lsh: bits of a hash (8)");
  given.option("probes", "N", "lsh: buckets looked into in each table (8)");
  given.option("links", "N", "hnsw: links of a node, M (16)");
  given.option("build-effort", "N", "hnsw: ef_construction (200)");
  given.option("search-effort", "N", "hnsw: ef (64)");
  given.option("seed", "N", "of hyperplanes and levels, and of planted edits (0)");
  given.flag("json", "print one JSON document");
}

token_count chunk_span_of(const arguments& given) {
  return token_count{static_cast<std::int64_t>(number(given, "span", 1, span_tokens_max, 384))};
}

corpus read_named_corpus(const std::string& text) {
  std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw input_error{text, "expected FORMAT:PATH, such as corpus:FILE"};
  }
  return read_corpus(text.substr(0, colon), text.substr(colon + 1));
}

corpus_options read_corpus_options(const arguments& given, const std::string& text) {
  corpus_options options;
  options.chunks.rule = static_cast<chunk_rule>(
      place_of(given.one("chunking", "fixed"), chunk_rule_names, "--chunking"));
  options.chunks.span_tokens = chunk_span_of(given);
  options.indexes = indexes_of(given);
  options.top = top_of(given);
  options.width = number(given, "width", 8, 65'536, 1024);
  options.embeddings = given.one("embeddings");
  if (!options.embeddings.empty() && given.has("width")) {
    throw usage_error{"corpus: --width is that of hashed embeddings; --embeddings has its own"};
  }
  options.what = read_named_corpus(text);
  return options;
}

json describe_corpus(const corpus_options& options, std::size_t chunks) {
  const corpus& what = options.what;
  return {{"corpus", what.source},
          {"documents", what.documents.size()},
          {"questions", what.questions.size()},
          {"chunking", chunk_rule_names[static_cast<std::size_t>(options.chunks.rule)]},
          {"span_tokens", options.chunks.span_tokens.get()},
          {"chunks", chunks},
          {"embedding", options.embeddings.empty() ? "hashed" : "file"},
          {"width", options.width}};
}

json describe_index(const index_settings& index) {
  json about{{"index", index_kind_names[static_cast<std::size_t>(index.kind)]}};
  if (index.kind == index_kind::lsh) {
    about["tables"] = index.lsh.tables;
    about["bits"] = index.lsh.bits;
    about["probes"] = index.lsh.probes;
  } else if (index.kind == index_kind::hnsw) {
    about["links"] = index.hnsw.links;
    about["build_effort"] = index.hnsw.build_effort;
    about["search_effort"] = index.hnsw.search_effort;
  }
  return about;
}

}  // namespace refrain
