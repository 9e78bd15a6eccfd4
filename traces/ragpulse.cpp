// RAGPulse (github.com/flashserve/RAGPulse, arXiv 2511.12979): requests of a university's retrieval
// service, each given as the ids of its parts, and five tables with the tokens of each id. A path
// is the folder or its trace file. Parts become segments in the order of the prompt: system prompt,
// passages, history, web search, question; an id names its content wherever it stands. The history
// "15200" is what the service writes where there is none, and stays a part like any other. The
// prompt's 6 to 12 tokens of template belong to no part and count behind them. Two weeks lie in one
// file: the clock restarts once, by nearly a week, and the rest is a week later. Sessions keep
// recorded times; a turn does not start before the answer before it. Answers are not named, though
// a history may hold them.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <utility>

#include "traces/json_lines.hpp"
#include "traces/sessions.hpp"

namespace refrain {

namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

/// A kind of part, in the order of the prompt.
struct part_kind {
  std::string_view file, id, list;
  segment_kind kind;
};

constexpr std::array<part_kind, 5> part_kinds{{
    {"1_sys_prompt.jsonl", "sys_prompt_id", "sys_prompt", segment_kind::system},
    {"2_passages.jsonl", "passage_id", "passages_ids", segment_kind::document},
    {"3_history.jsonl", "history_id", "history", segment_kind::history},
    {"5_web_search.jsonl", "web_search_id", "web_search", segment_kind::web},
    {"4_user_input.jsonl", "user_input_id", "user_input", segment_kind::question},
}};

constexpr std::string_view trace_name = "0_trace.jsonl";
constexpr seconds week{604'800};
constexpr seconds restart_least{6 * 86'400};
constexpr std::int64_t seconds_max = 1'000'000'000;

/// A file of the folder, plain or packed.
std::string find_in(const fs::path& folder, std::string_view name) {
  for (const char* packing : {"", ".gz", ".xz", ".zst"}) {
    fs::path path = folder / (std::string{name} + packing);
    std::error_code ignored;
    if (fs::exists(path, ignored)) {
      return path.string();
    }
  }
  throw input_error{
      folder.string(),
      "holds no " + std::string{name} +
          ", plain or packed (gz, xz, zst); a RAGPulse trace is a folder of six files"};
}

/// The trace first, then the tables.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw input_error{path, "does not exist; expected a RAGPulse folder or the trace file in it"};
  }
  bool is_folder = fs::is_directory(path, ignored);
  fs::path folder = is_folder ? fs::path{path} : fs::path{path}.parent_path();
  std::vector<std::string> files{is_folder ? find_in(folder, trace_name) : path};
  for (const part_kind& part : part_kinds) {
    files.push_back(find_in(folder.empty() ? fs::path{"."} : folder, part.file));
  }
  return files;
}

class ragpulse final : public json_lines_source {
 public:
  explicit ragpulse(const source_options& options) : ragpulse{options, files_of(options.path)} {}

 private:
  /// Tokens of each id of one kind.
  using length_table = std::unordered_map<std::uint64_t, token_count>;
  using length_tables = std::array<length_table, part_kinds.size()>;

  struct fields {
    std::optional<sim_time> timestamp;
    std::optional<token_count> input, output;
    std::optional<std::string> session;
    std::array<bool, part_kinds.size()> has_part{};
    bool has_ids = false;
  };

  ragpulse(const source_options& options, const std::vector<std::string>& files)
      : ragpulse{with_path(options, files.front()), read_tables(files)} {}

  ragpulse(const source_options& options, length_tables tables)
      : ragpulse{options, tables, look_ahead(options, tables)} {}

  ragpulse(const source_options& options, length_tables tables, std::optional<turn_counts> turns)
      : json_lines_source{options,
                          {.format = "ragpulse",
                           .has_content = true,
                           .has_sessions = true,
                           .id_scope = "trace"}},
        tables_{std::move(tables)},
        sessions_{std::move(turns)} {
    if (options.block_tokens != 0) {
      throw input_error{options.path, "block_tokens means nothing here: ids name whole parts"};
    }
  }

  static source_options with_path(source_options options, const std::string& path) {
    options.path = path;
    return options;
  }

  static turn_counts look_ahead(const source_options& options, const length_tables& tables) {
    ragpulse scout{scouting(options), tables, std::nullopt};
    return count_session_turns(scout);
  }

  static length_tables read_tables(const std::vector<std::string>& files) {
    length_tables tables;
    for (std::size_t i = 0; i < part_kinds.size(); ++i) {
      read_table(files[i + 1], part_kinds[i].id, tables[i]);
    }
    return tables;
  }

  static void read_table(const std::string& path, std::string_view id_name, length_table& table) {
    input_file file{path};
    json_walker walker;
    std::string_view line;
    while (file.next_line(line)) {
      try {
        std::optional<std::uint64_t> id;
        std::optional<token_count> tokens;
        walker.for_each_field(line, [&](std::string_view name, json_value& value) {
          if (name == id_name) {
            set_once(id, json_unsigned(value, name), name);
          } else if (name == "token_length") {
            set_once(tokens, json_tokens(value, name, 1), name);
          }
        });
        if (!table.emplace(required(id, id_name.data()), required(tokens, "token_length")).second) {
          throw bad_row{"an id is given twice", std::to_string(*id)};
        }
      } catch (const bad_row& row) {
        throw input_error{file.where(), row.what()};
      }
    }
  }

  void read_row(std::string_view line, request& out) override {
    fields row = read_fields(line);
    out.input_tokens = required(row.input, "input_length");
    out.output_tokens = required(row.output, "output_length");
    if (!row.has_ids) {
      throw bad_row{"missing field \"hash_ids\""};
    }
    add_parts(row, out);
    sim_time time = required(row.timestamp, "timestamp");
    place(required(row.session, "session_id"), time, out);
  }

  fields read_fields(std::string_view line) {
    fields row;
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "timestamp") {
        set_once(row.timestamp, whole_seconds(json_id(value, name)), name);
      } else if (name == "input_length") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "output_length") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "session_id") {
        set_once(row.session, json_id(value, name), name);
      } else if (name == "hash_ids") {
        if (std::exchange(row.has_ids, true)) {
          throw bad_row{"a field is given twice", "hash_ids"};
        }
        read_ids(value, row);
      }
    });
    return row;
  }

  static sim_time whole_seconds(const std::string& text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || at != end || number < 0 || number > seconds_max) {
      throw bad_row{"\"timestamp\" is not a whole number of seconds from 0 to 1e9",
                    text.substr(0, 40)};
    }
    return seconds{number};
  }

  void read_ids(json_value& value, fields& row) {
    simdjson::ondemand::object lists;
    if (value.get_object().get(lists) != simdjson::SUCCESS) {
      throw bad_row{"\"hash_ids\" is not an object of lists"};
    }
    for (std::vector<block_key>& ids : ids_) {
      ids.clear();
    }
    visit_fields(lists, [&](std::string_view name, json_value& ids) {
      auto part = std::ranges::find(part_kinds, name, &part_kind::list);
      if (part == part_kinds.end()) {
        throw bad_row{"a kind of part that the format does not have",
                      std::string{name.substr(0, 40)}};
      }
      auto at = static_cast<std::size_t>(part - part_kinds.begin());
      if (std::exchange(row.has_part[at], true)) {
        throw bad_row{"a field is given twice", std::string{name}};
      }
      json_keys(ids, name, ids_[at]);
    });
  }

  void add_parts(const fields& row, request& out) const {
    token_count named;
    for (std::size_t i = 0; i < part_kinds.size(); ++i) {
      const part_kind& part = part_kinds[i];
      if (!row.has_part[i]) {
        throw bad_row{"\"hash_ids\" lacks a kind of part", std::string{part.list}};
      }
      for (block_key id : ids_[i]) {
        auto tokens = tables_[i].find(id);
        if (tokens == tables_[i].end()) {
          throw bad_row{"an id that its table does not hold",
                        std::string{part.list} + " " + std::to_string(id)};
        }
        out.segments.push_back({content_id{id}, tokens->second, part.kind});
        named += tokens->second;
      }
    }
    if (named > out.input_tokens) {
      throw bad_row{"the parts hold more tokens than \"input_length\"",
                    std::to_string(named) + " of " + std::to_string(out.input_tokens)};
    }
  }

  void place(const std::string& session, sim_time time, request& out) {
    bool restarts =
        previous_ && !restarted_ && *previous_ - time >= restart_least && *previous_ - time <= week;
    if (previous_ && time < *previous_ && !restarts) {
      throw bad_row{"\"timestamp\" is lower than the previous row's"};
    }
    restarted_ = restarted_ || restarts;
    previous_ = time;
    start_ = start_.value_or(time);
    out.arrival = time + (restarted_ ? week : seconds{0}) - *start_;
    if (sessions_.find(session) != nullptr) {
      sessions_.follow(session, session, out);
    } else {
      sessions_.begin(session, out);
    }
  }

  length_tables tables_;
  session_book sessions_;
  std::array<std::vector<block_key>, part_kinds.size()> ids_;  // of the row that is being read
  std::optional<sim_time> start_, previous_;
  bool restarted_ = false;
};

const register_trace_format registration{
    {.name = "ragpulse",
     .summary = "RAGPulse's folder, JSON lines: prompts by content, whole parts (system, document, "
                "history, web, question), ids hold in the whole trace; sessions; no block ids, no "
                "names of answers",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<ragpulse>(options);
     },
     .files = files_of}};

}  // namespace

}  // namespace refrain
