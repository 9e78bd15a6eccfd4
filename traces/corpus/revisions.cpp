#include "traces/corpus/revisions.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "traces/corpus/fingerprint.hpp"
#include "traces/corpus/text.hpp"
#include "traces/input_file.hpp"
#include "traces/json_lines.hpp"

namespace refrain {

namespace {

constexpr std::uint64_t seconds_max = 1'000'000'000'000;  // 31,688 years

struct revision_row {
  std::optional<std::uint64_t> time, bytes;
  std::optional<std::string> commit, op, path, text;
};

void check_utf8(std::string_view text, const char* what) {
  if (std::optional<std::size_t> fault = utf8_fault(text)) {
    throw bad_row{std::string{what} + " that is no UTF-8", "at byte " + std::to_string(*fault)};
  }
}

revision_op op_of(std::string_view word) {
  if (word == "A") {
    return revision_op::add;
  }
  if (word == "M") {
    return revision_op::modify;
  }
  if (word == "D") {
    return revision_op::remove;
  }
  throw bad_row{"an unknown op", "\"" + std::string{word} + "\"; expected A, M or D"};
}

class revision_reader {
 public:
  explicit revision_reader(const std::string& path) : file_{path} {
    made_.source = path.substr(path.rfind('/') + 1);
  }

  revision_history read() {
    std::string_view line;
    while (file_.next_line(line)) {
      try {
        read_row(line);
      } catch (const bad_row& row) {
        throw input_error{file_.where(), row.what()};
      }
    }
    if (made_.events.empty()) {
      throw input_error{file_.path(), "has no revisions"};
    }
    return std::move(made_);
  }

 private:
  void read_row(std::string_view line) {
    revision_row row;
    walker_.for_each_field(line, [&row](std::string_view name, json_value& value) {
      if (name == "time") {
        set_once(row.time, json_unsigned(value, name), name);
      } else if (name == "bytes") {
        set_once(row.bytes, json_unsigned(value, name), name);
      } else if (name == "commit") {
        set_once(row.commit, json_id(value, name), name);
      } else if (name == "op") {
        set_once(row.op, json_word(value, name), name);
      } else if (name == "path") {
        set_once(row.path, json_word(value, name), name);
      } else if (name == "text") {
        set_once(row.text, json_word(value, name), name);
      }
    });
    add(row);
  }

  void add(revision_row& row) {
    revision event;
    if (required(row.time, "time") > seconds_max) {
      throw bad_row{"\"time\" is beyond 1e12 seconds", std::to_string(*row.time)};
    }
    event.seconds = static_cast<std::int64_t>(*row.time);
    if (!made_.events.empty() && event.seconds < made_.events.back().seconds) {
      throw bad_row{"time goes back", std::to_string(event.seconds) + " after " +
                                          std::to_string(made_.events.back().seconds)};
    }
    event.op = op_of(required(row.op, "op"));
    check_text(row, event.op);
    std::string& path = required_path(row);
    auto [known, is_new] =
        numbers_.try_emplace(path, static_cast<std::uint32_t>(made_.documents.size()));
    bool is_live = !is_new && live_[known->second];
    if (is_live == (event.op == revision_op::add)) {
      if (is_new) {
        numbers_.erase(known);
      }
      throw bad_row{is_live ? "a document is added that is there already"
                            : "a document is changed or removed that is not there",
                    path};
    }
    event.document = known->second;
    if (is_new) {
      made_.documents.push_back(std::move(path));
      live_.push_back(false);
    }
    live_[event.document] = event.op != revision_op::remove;
    event.commit = std::move(row.commit).value_or("");
    event.text = std::move(row.text).value_or("");
    made_.events.push_back(std::move(event));
  }

  static std::string& required_path(revision_row& row) {
    if (required(row.path, "path").empty()) {
      throw bad_row{"an empty path"};
    }
    check_utf8(*row.path, "a path");
    return *row.path;
  }

  static void check_text(const revision_row& row, revision_op op) {
    if (op == revision_op::remove) {
      if (row.text) {
        throw bad_row{"a removal with a text"};
      }
      return;
    }
    const std::string& text = required(row.text, "text");
    check_utf8(text, "text");
    if (row.bytes && *row.bytes != text.size()) {
      throw bad_row{"a text of another length than \"bytes\" says",
                    std::to_string(text.size()) + ", not " + std::to_string(*row.bytes)};
    }
  }

  input_file file_;
  json_walker walker_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  std::vector<char> live_;  // by number
  revision_history made_;
};

revision_spread spread_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  std::ranges::sort(values);
  auto at = [&](double share) {
    auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(rank, 1) - 1];
  };
  return {at(0.1), at(0.5), at(0.9), values.back()};
}

double share_of(std::size_t part, std::size_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Calls use(line) for every line with its end.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    use(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::size_t bytes_in_lines_of(std::string_view before, std::string_view after) {
  absl::flat_hash_map<std::string_view, std::size_t> lines;
  for_each_line(before, [&](std::string_view line) { ++lines[line]; });
  std::size_t kept = 0;
  for_each_line(after, [&](std::string_view line) {
    auto found = lines.find(line);
    if (found != lines.end() && found->second > 0) {
      --found->second;
      kept += line.size();
    }
  });
  return kept;
}

corpus read_newest(const std::string& path) {
  revision_history history = read_revisions(path);
  return corpus_after(history, history.events.size());
}

const register_corpus_format format{
    {.name = "revisions",
     .summary = "a stream of document revisions (JSON lines): the documents as they are at its end",
     .read = read_newest}};

}  // namespace

revision_history read_revisions(const std::string& path) {
  return revision_reader{path}.read();
}

corpus corpus_after(const revision_history& history, std::size_t events) {
  std::vector<const revision*> newest(history.documents.size());
  for (std::size_t i = 0; i < std::min(events, history.events.size()); ++i) {
    const revision& event = history.events[i];
    newest[event.document] = event.op == revision_op::remove ? nullptr : &event;
  }
  corpus_builder builder;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    if (newest[i] != nullptr) {
      builder.add_document(history.documents[i], newest[i]->text);
    }
  }
  return builder.take();
}

revision_figures describe_revisions(const revision_history& history) {
  revision_figures figures;
  std::vector<const std::string*> live(history.documents.size());
  std::vector<double> edits(history.documents.size());
  std::vector<double> prefixes, lines, sizes;
  const std::string* commit = nullptr;
  for (const revision& event : history.events) {
    figures.commits += commit == nullptr || *commit != event.commit;
    commit = &event.commit;
    const std::string*& text = live[event.document];
    if (event.op == revision_op::remove) {
      ++figures.removed;
      --figures.live_documents;
      text = nullptr;
      continue;
    }
    figures.version_bytes += event.text.size();
    if (event.op == revision_op::add) {
      ++figures.added;
      ++figures.live_documents;
      figures.peak_documents = std::max(figures.peak_documents, figures.live_documents);
    } else {
      ++figures.modified;
      ++edits[event.document];
      auto same = std::ranges::mismatch(*text, event.text);
      auto prefix = static_cast<std::size_t>(same.in2 - event.text.begin());
      prefixes.push_back(share_of(prefix, event.text.size()));
      lines.push_back(share_of(bytes_in_lines_of(*text, event.text), event.text.size()));
    }
    text = &event.text;
  }
  for (const std::string* text : live) {
    if (text != nullptr) {
      figures.live_bytes += text->size();
      sizes.push_back(static_cast<double>(text->size()));
    }
  }
  std::erase(edits, 0.0);
  figures.first_second = history.events.front().seconds;
  figures.last_second = history.events.back().seconds;
  figures.live_sizes = spread_of(std::move(sizes));
  figures.edits = spread_of(std::move(edits));
  figures.kept_prefix = spread_of(std::move(prefixes));
  figures.kept_lines = spread_of(std::move(lines));
  return figures;
}

chunk_survival survival_of_chunks(const revision_history& history, const chunk_settings& cut) {
  struct cut_chunk {
    exact_fingerprint text;
    std::size_t bytes;
  };
  chunk_survival sum;
  std::vector<double> prefixes, chunks;
  std::vector<std::vector<cut_chunk>> live(history.documents.size());
  for (const revision& event : history.events) {
    std::vector<cut_chunk> now;
    for (const text_chunk& piece : cut_text(event.text, cut)) {
      now.push_back({fingerprint_of(piece.in(event.text)), piece.bytes});
    }
    std::vector<cut_chunk>& before = live[event.document];
    if (event.op == revision_op::modify) {
      absl::flat_hash_map<exact_fingerprint, std::size_t> known;
      for (const cut_chunk& each : before) {
        ++known[each.text];
      }
      std::size_t prefix = 0;
      std::size_t anywhere = 0;
      bool unbroken = true;
      for (std::size_t i = 0; i < now.size(); ++i) {
        unbroken = unbroken && i < before.size() && before[i].text == now[i].text;
        prefix += unbroken ? now[i].bytes : 0;
        auto found = known.find(now[i].text);
        if (found != known.end() && found->second > 0) {
          --found->second;
          anywhere += now[i].bytes;
        }
      }
      sum.edited_bytes += event.text.size();
      sum.prefix_bytes += prefix;
      sum.chunk_bytes += anywhere;
      prefixes.push_back(share_of(prefix, event.text.size()));
      chunks.push_back(share_of(anywhere, event.text.size()));
    }
    before = std::move(now);
  }
  sum.prefix_share = spread_of(std::move(prefixes));
  sum.chunk_share = spread_of(std::move(chunks));
  return sum;
}

}  // namespace refrain
