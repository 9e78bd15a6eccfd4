// Our own JSON lines (write_trace.hpp has the text of the format): everything that a request holds,
// after a header that says what the rows carry. Strict: a field that the format does not have, or
// that the header rules out, makes a bad row. Turns are counted from the order of rows; where there
// are sessions the file is read once more, so that `last_turn` is exact.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "traces/json_lines.hpp"
#include "traces/write_trace.hpp"

namespace refrain {

namespace {

constexpr sim_time nanosecond{1};

segment_kind kind_named(std::string_view name) {
  for (std::size_t i = 0; i < segment_kinds; ++i) {
    auto kind = static_cast<segment_kind>(i);
    if (segment_kind_name(kind) == name) {
      return kind;
    }
  }
  throw bad_row{"a segment of unknown kind", std::string{name.substr(0, 40)}};
}

std::uint32_t small_number(json_value& value, std::string_view field) {
  std::uint64_t number = json_unsigned(value, field);
  if (number > UINT32_MAX) {
    throw bad_row{"a number in \"" + std::string{field} + "\" is not below 2^32",
                  std::to_string(number)};
  }
  return static_cast<std::uint32_t>(number);
}

/// One of "segments": [KIND, CONTENT, TOKENS], with versions also [..., DOCUMENT, VERSION, CHUNK].
segment json_segment(json_value& value, bool versions) {
  simdjson::ondemand::array parts;
  if (value.get_array().get(parts) != simdjson::SUCCESS) {
    throw bad_row{"a segment is not [KIND, CONTENT, TOKENS]"};
  }
  segment piece{};
  std::size_t at = 0;
  for (auto element : parts) {
    json_value part;
    if (element.get(part) != simdjson::SUCCESS) {
      throw bad_row{"not JSON", "inside \"segments\""};
    }
    if (at == 0) {
      piece.kind = kind_named(json_word(part, "segments"));
    } else if (at == 1) {
      piece.content = content_id{json_unsigned(part, "segments")};
    } else if (at == 2) {
      piece.tokens = json_tokens(part, "segments", 1);
    } else if (versions && at == 3) {
      piece.document = content_id{json_unsigned(part, "segments")};
    } else if (versions && at == 4) {
      piece.version = small_number(part, "segments");
    } else if (versions && at == 5) {
      piece.chunk = small_number(part, "segments");
    }
    ++at;
  }
  if (at != 3 && !(versions && at == 6)) {
    throw bad_row{"a segment is not [KIND, CONTENT, TOKENS]"};
  }
  if (at == 6 && piece.document == content_id{}) {
    throw bad_row{"a document is 0, which names none"};
  }
  return piece;
}

void json_segments(json_value& value, bool versions, std::vector<segment>& segments) {
  simdjson::ondemand::array pieces;
  if (value.get_array().get(pieces) != simdjson::SUCCESS) {
    throw bad_row{"\"segments\" is not an array"};
  }
  for (auto element : pieces) {
    json_value piece;
    if (element.get(piece) != simdjson::SUCCESS) {
      throw bad_row{"not JSON", "inside \"segments\""};
    }
    segments.push_back(json_segment(piece, versions));
  }
  // What stands before the last answer, and is no system prompt, is of earlier turns.
  auto last_answer = std::find_if(segments.rbegin(), segments.rend(), [](const segment& piece) {
    return piece.kind == segment_kind::answer;
  });
  std::for_each(last_answer, segments.rend(),
                [](segment& piece) { piece.past = piece.kind != segment_kind::system; });
}

/// "upcoming": [[AGENT, STEPS], ...].
void json_steps(json_value& value, std::vector<agent_steps>& upcoming) {
  simdjson::ondemand::array turns;
  if (value.get_array().get(turns) != simdjson::SUCCESS) {
    throw bad_row{"\"upcoming\" is not an array"};
  }
  for (auto element : turns) {
    simdjson::ondemand::array pair;
    if (element.get_array().get(pair) != simdjson::SUCCESS) {
      throw bad_row{"a turn in \"upcoming\" is not [AGENT, STEPS]"};
    }
    std::uint32_t numbers[2] = {};
    std::size_t at = 0;
    for (auto number : pair) {
      json_value part;
      if (number.get(part) != simdjson::SUCCESS || at == 2) {
        throw bad_row{"a turn in \"upcoming\" is not [AGENT, STEPS]"};
      }
      numbers[at++] = small_number(part, "upcoming");
    }
    if (at != 2) {
      throw bad_row{"a turn in \"upcoming\" is not [AGENT, STEPS]"};
    }
    upcoming.push_back({numbers[0], numbers[1]});
  }
}

class refrain_lines final : public json_lines_source {
 public:
  explicit refrain_lines(const source_options& options)
      : refrain_lines{options, count_turns(options)} {}

 private:
  using turn_counts = std::vector<std::uint32_t>;  // of each session

  struct fields {
    std::optional<sim_time> arrival, delay, ttft, e2e;
    std::optional<token_count> input, output;
    std::optional<std::uint64_t> session, type, answer, salt, size, priority, agent;
    std::optional<sim_time> retain;
    bool has_blocks = false, has_segments = false, has_upcoming = false;
  };

  struct session_state {
    session_id id;
    std::uint32_t turns = 0;
  };

  refrain_lines(const source_options& options, std::optional<turn_counts> turns)
      : json_lines_source{options, {}}, turns_{std::move(turns)} {
    std::string_view line;
    if (!take_header(line)) {
      throw input_error{options.path, "holds no rows"};
    }
    try {
      read_header(line);
    } catch (const bad_row& row) {
      throw input_error{where(), std::string{"the header: "} + row.what()};
    }
    if (options.block_tokens > 0 && options.block_tokens != info_.block_tokens) {
      throw input_error{options.path, "its header says block_tokens is " +
                                          std::to_string(info_.block_tokens) + ", not " +
                                          std::to_string(options.block_tokens)};
    }
  }

  /// Empty where the trace has no sessions.
  static turn_counts count_turns(source_options options) {
    options.drop_bad_rows = true;
    options.on_bad_row = nullptr;
    refrain_lines scout{options, std::nullopt};
    turn_counts turns;
    if (!scout.info_.has_sessions) {
      return turns;
    }
    request row;
    try {
      while (scout.next(row)) {
        turns.resize(std::max<std::size_t>(turns.size(), row.session + 1));
        ++turns[row.session];
      }
    } catch (const input_error&) {
      if (scout.counts().rows_kept > 0) {
        throw;  // damaged data; an empty trace is reported when it is read
      }
    }
    return turns;
  }

  void read_header(std::string_view line) {
    std::optional<std::string> format;
    std::optional<std::uint64_t> version;
    info_ = {.format = "refrain", .id_scope = "none"};
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "format") {
        format = json_word(value, name);
      } else if (name == "version") {
        version = json_unsigned(value, name);
      } else if (name == "block_tokens") {
        info_.block_tokens = json_tokens(value, name, 0);
      } else if (name == "id_scope") {
        info_.id_scope = json_word(value, name);
      } else if (name == "disorder_ns") {
        info_.disorder = json_time(value, name, nanosecond);
      } else {
        read_flag(name, value);
      }
    });
    if (format != "refrain") {
      throw bad_row{"expected {\"format\": \"refrain\", \"version\": 1, ...}"};
    }
    if (version != trace_format_version) {
      throw bad_row{"expected \"version\": " + std::to_string(trace_format_version)};
    }
    check_header();
  }

  void read_flag(std::string_view name, json_value& value) {
    for (auto [known, flag] : {std::pair{"chains", &info_.has_chains},
                               {"content", &info_.has_content},
                               {"sessions", &info_.has_sessions},
                               {"versions", &info_.has_versions},
                               {"hints", &info_.has_hints},
                               {"steps", &info_.has_steps},
                               {"lengths", &info_.has_lengths},
                               {"measured", &info_.has_measured},
                               {"sizes", &info_.has_sizes}}) {
      if (name == known) {
        *flag = json_flag(value, name);
        return;
      }
    }
    unknown_field(name);
  }

  void check_header() const {
    const std::string& scope = info_.id_scope;
    if (scope != "trace" && scope != "session" && scope != "none") {
      throw bad_row{"\"id_scope\" is none of \"trace\", \"session\", \"none\""};
    }
    if (info_.has_chains != (info_.block_tokens > 0)) {
      throw bad_row{"\"chains\" and \"block_tokens\" go together"};
    }
    if (info_.has_sizes && (info_.has_chains || info_.has_content || info_.has_sessions)) {
      throw bad_row{"\"sizes\" excludes \"chains\", \"content\" and \"sessions\""};
    }
    if (info_.has_sizes == info_.has_lengths) {
      throw bad_row{"rows carry either \"lengths\" or \"sizes\""};
    }
    if (info_.disorder < sim_time{0}) {
      throw bad_row{"\"disorder_ns\" is negative"};
    }
  }

  void read_row(std::string_view line, request& out) override {
    fields row = read_fields(line, out);
    take_contents(row, out);
    check_shape(row, out);
    place(row, out);
  }

  fields read_fields(std::string_view line, request& out) {
    fields row;
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "arrival_ns") {
        set_once(row.arrival, json_time(value, name, nanosecond), name);
      } else if (name == "input") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "output") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "session") {
        set_once(row.session, json_unsigned(value, name), name);
      } else if (name == "blocks" && !std::exchange(row.has_blocks, true)) {
        json_keys(value, name, out.blocks);
      } else if (name == "segments" && !std::exchange(row.has_segments, true)) {
        json_segments(value, info_.has_versions, out.segments);
      } else if (name == "upcoming" && !std::exchange(row.has_upcoming, true)) {
        json_steps(value, out.upcoming);
      } else {
        read_rare_field(name, value, row);
      }
    });
    return row;
  }

  static void read_rare_field(std::string_view name, json_value& value, fields& row) {
    if (name == "delay_ns") {
      set_once(row.delay, json_time(value, name, nanosecond), name);
    } else if (name == "answer") {
      set_once(row.answer, json_unsigned(value, name), name);
    } else if (name == "type") {
      set_once(row.type, json_unsigned(value, name), name);
    } else if (name == "salt") {
      set_once(row.salt, json_unsigned(value, name), name);
    } else if (name == "size") {
      set_once(row.size, json_unsigned(value, name), name);
    } else if (name == "ttft_ns") {
      set_once(row.ttft, json_time(value, name, nanosecond), name);
    } else if (name == "e2e_ns") {
      set_once(row.e2e, json_time(value, name, nanosecond), name);
    } else if (name == "priority") {
      set_once(row.priority, json_unsigned(value, name), name);
    } else if (name == "retain_ns") {
      set_once(row.retain, json_time(value, name, nanosecond), name);
    } else if (name == "agent") {
      set_once(row.agent, json_unsigned(value, name), name);
    } else if (name == "blocks" || name == "segments" || name == "upcoming") {
      throw bad_row{"a field is given twice", std::string{name}};
    } else {
      unknown_field(name);
    }
  }

  void take_contents(const fields& row, request& out) const {
    if (info_.has_lengths) {
      out.input_tokens = required(row.input, "input");
      out.output_tokens = required(row.output, "output");
    }
    out.answer = content_id{row.answer.value_or(0)};
    out.salt = row.salt.value_or(0);
    std::uint64_t size = row.size.value_or(1);
    if (size == 0 || size > UINT32_MAX) {
      throw bad_row{"\"size\" is not 1 to 2^32 - 1", std::to_string(size)};
    }
    out.object_size = static_cast<std::uint32_t>(size);
    if (row.ttft.has_value() != row.e2e.has_value()) {
      throw bad_row{"\"ttft_ns\" and \"e2e_ns\" go together"};
    }
    if (row.ttft) {
      if (*row.ttft < sim_time{0} || *row.e2e < *row.ttft) {
        throw bad_row{"\"ttft_ns\" is negative or above \"e2e_ns\""};
      }
      out.measured = measured_times{.ttft = *row.ttft, .e2e = *row.e2e};
    }
    take_hints(row, out);
  }

  static void take_hints(const fields& row, request& out) {
    if (row.priority.value_or(0) > 100) {
      throw bad_row{"\"priority\" is not 0 to 100", std::to_string(*row.priority)};
    }
    if (row.retain.value_or(sim_time{0}) < sim_time{0}) {
      throw bad_row{"\"retain_ns\" is negative"};
    }
    if (row.priority) {
      out.hint.priority = static_cast<std::int32_t>(*row.priority);
    }
    out.hint.duration = row.retain.value_or(sim_time{0});
    if (row.type.value_or(0) > UINT32_MAX) {
      throw bad_row{"\"type\" is above 2^32 - 1", std::to_string(*row.type)};
    }
    out.type = static_cast<std::uint32_t>(row.type.value_or(0));
    if (row.agent.value_or(0) > UINT32_MAX) {
      throw bad_row{"\"agent\" is above 2^32 - 1", std::to_string(*row.agent)};
    }
    out.agent = static_cast<std::uint32_t>(row.agent.value_or(0));
  }

  /// What the header rules out, and numbers that do not fit each other.
  void check_shape(const fields& row, const request& out) const {
    auto refuse = [](bool given, bool announced, const char* name, const char* flag) {
      if (given && !announced) {
        throw bad_row{std::string{"\""} + name + "\" in a file whose header does not say \"" +
                      flag + "\""};
      }
    };
    refuse(row.input || row.output, info_.has_lengths, "input or output", "lengths");
    refuse(row.session.has_value(), info_.has_sessions, "session", "sessions");
    refuse(row.delay.has_value(), info_.has_sessions, "delay_ns", "sessions");
    refuse(row.type.has_value(), info_.has_sessions, "type", "sessions");
    refuse(row.has_blocks, info_.has_chains || info_.has_sizes, "blocks", "chains");
    refuse(row.has_segments, info_.has_content, "segments", "content");
    refuse(row.answer.has_value(), info_.has_content, "answer", "content");
    refuse(row.size.has_value(), info_.has_sizes, "size", "sizes");
    refuse(row.ttft.has_value(), info_.has_measured, "ttft_ns", "measured");
    refuse(row.priority || row.retain, info_.has_hints, "priority or retain_ns", "hints");
    refuse(row.agent || row.has_upcoming, info_.has_steps, "agent or upcoming", "steps");
    if (info_.has_sizes && out.blocks.size() != 1) {
      throw bad_row{"an access names one object in \"blocks\""};
    }
    if (info_.has_chains && row.has_blocks) {
      check_id_count(out, info_.block_tokens);
    }
    token_count named;
    for (const segment& piece : out.segments) {
      named += piece.tokens;
    }
    if (named > out.input_tokens) {
      throw bad_row{"the segments hold more tokens than \"input\"", std::to_string(named)};
    }
    if (named > content_tokens_max || (row.answer && out.output_tokens > content_tokens_max)) {
      throw bad_row{"a prompt or an answer of more than 1e7 tokens by content"};
    }
  }

  /// Gives the row its session, turn and times; nothing changes where the row is bad.
  void place(const fields& row, request& out) {
    out.arrival = row.arrival.value_or(sim_time{0});
    out.delay = row.delay.value_or(sim_time{0});
    if (out.arrival < sim_time{0} || out.delay < sim_time{0}) {
      throw bad_row{"\"arrival_ns\" or \"delay_ns\" is negative"};
    }
    std::uint64_t name = info_.has_sessions ? required(row.session, "session") : 0;
    auto known = info_.has_sessions ? sessions_.find(name) : sessions_.end();
    bool is_later_turn = known != sessions_.end();
    if (!is_later_turn) {
      if (out.delay != sim_time{0}) {
        throw bad_row{"\"delay_ns\" of a first turn"};
      }
      if (out.arrival < latest_ - info_.disorder) {
        throw bad_row{"\"arrival_ns\" is lower than the previous row's"};
      }
      latest_ = std::max(latest_, out.arrival);
    }
    if (info_.has_sessions) {
      session_state& state = is_later_turn ? known->second : sessions_[name];
      if (!is_later_turn) {
        state.id = session_id{session_count_++};
      }
      out.session = state.id;
      out.turn = state.turns++;
      out.last_turn = !turns_ || state.turns == (*turns_)[state.id.get()];
      if (turns_ && out.last_turn) {
        sessions_.erase(name);
      }
    }
  }

  std::optional<turn_counts> turns_;  // not known in the pass that counts them
  std::unordered_map<std::uint64_t, session_state> sessions_;
  std::uint64_t session_count_ = 0;
  sim_time latest_{0};
};

const register_trace_format registration{
    {.name = "refrain",
     .summary = "ours, JSON lines after a header: all that a request holds; block size, id scope "
                "and what it cannot show stand in the header",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<refrain_lines>(options);
     }}};

}  // namespace

}  // namespace refrain
