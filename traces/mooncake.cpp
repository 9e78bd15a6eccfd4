// Mooncake's JSON lines (github.com/kvcache-ai/Mooncake, FAST'25): time in ms, lengths, and the ids
// of the prompt's blocks of 512 tokens, whose last one may stand for a short block. Read with the
// dialect that load generators agree on: aliases, session ids (rows that share one are turns of a
// closed loop), think times. Ids use all 64 bits. Which of these a file has is found by looking
// ahead; where there are sessions the whole file is read once more, so that `last_turn` is exact.
// Left out: the delta form; the agentic dialect (wait_for, branches) is the format agentic.
#include <optional>
#include <unordered_map>

#include "traces/json_lines.hpp"

namespace refrain {

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr token_count standard_block{512};

class mooncake final : public json_lines_source {
 public:
  explicit mooncake(const source_options& options) : mooncake{options, look_ahead(options)} {}

 private:
  /// What an earlier pass over the file has found.
  struct findings {
    bool has_ids = true;
    std::optional<bool> has_sessions;                 // not known before the first row
    std::optional<std::vector<std::uint32_t>> turns;  // of each session; not known in that pass
  };

  struct fields {
    std::optional<sim_time> timestamp, delay;
    std::optional<token_count> input, output;
    std::optional<std::string> session;
    bool has_ids = false;
  };

  struct session_state {
    session_id id;
    std::uint32_t turns = 0;
    sim_time arrival{0};
  };

  mooncake(const source_options& options, findings found)
      : json_lines_source{options, describe(options, found)},
        found_{std::move(found)},
        block_tokens_{block_tokens_of(options, standard_block)} {}

  static trace_info describe(const source_options& options, const findings& found) {
    return {
        .format = "mooncake",
        .block_tokens = found.has_ids ? block_tokens_of(options, standard_block) : token_count{0},
        .has_chains = found.has_ids,
        .has_sessions = found.has_sessions.value_or(false),
        .id_scope = found.has_ids ? "trace" : "none"};
  }

  /// Reads as far as it must: to the first row with ids, or all of it where there are sessions.
  static findings look_ahead(source_options options) {
    options.drop_bad_rows = true;
    options.on_bad_row = nullptr;
    mooncake scout{options, findings{}};
    findings found;
    found.has_ids = false;
    std::vector<std::uint32_t> turns;
    request row;
    try {
      while (scout.next(row)) {
        found.has_ids = found.has_ids || !row.blocks.empty();
        if (scout.info_.has_sessions) {
          turns.resize(std::max<std::size_t>(turns.size(), row.session + 1));
          ++turns[row.session];
        } else if (found.has_ids) {
          break;
        }
      }
    } catch (const input_error&) {
      if (scout.counts().rows_kept > 0) {
        throw;  // damaged data; an empty trace is reported when it is read
      }
    }
    found.has_sessions = scout.info_.has_sessions;
    found.turns = std::move(turns);
    return found;
  }

  void read_row(std::string_view line, request& out) override {
    fields row = read_fields(line, out.blocks);
    out.input_tokens = required(row.input, "input_length");
    out.output_tokens = required(row.output, "output_length");
    if (row.has_ids) {
      check_id_count(out, block_tokens_);
    }
    if (row.session && found_.has_sessions == false) {
      throw bad_row{"\"session_id\" in a file whose first row has none"};
    }
    place(row, out);
    if (!found_.has_sessions) {
      found_.has_sessions = info_.has_sessions = row.session.has_value();
    }
  }

  fields read_fields(std::string_view line, std::vector<block_key>& blocks) {
    fields row;
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "timestamp" || name == "created_time") {
        set_once(row.timestamp, json_time(value, name, milliseconds{1}), name);
      } else if (name == "input_length" || name == "input_tokens") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "output_length" || name == "output_tokens") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "hash_ids") {
        if (std::exchange(row.has_ids, true)) {
          throw bad_row{"a field is given twice", "hash_ids"};
        }
        json_keys(value, name, blocks);
      } else if (name == "session_id") {
        set_once(row.session, json_id(value, name), name);
      } else if (name == "delay" || name == "delay_ms") {
        set_once(row.delay, json_time(value, name, milliseconds{1}), name);
      }
    });
    return row;
  }

  /// Gives the row its session, turn and times; nothing changes where the row is bad.
  void place(const fields& row, request& out) {
    auto known = row.session ? sessions_.find(*row.session) : sessions_.end();
    bool is_later_turn = known != sessions_.end();
    if (row.delay && *row.delay < sim_time{0}) {
      throw bad_row{"\"delay\" is negative"};
    }
    if (!row.timestamp && !(is_later_turn && row.delay)) {
      throw bad_row{"missing field \"timestamp\"",
                    "only a later turn of a session with a \"delay\" may lack it"};
    }
    if (row.timestamp && previous_ && *row.timestamp < *previous_) {
      throw bad_row{"\"timestamp\" is lower than the previous row's"};
    }
    if (row.timestamp) {
      time_since(start_.value_or(*row.timestamp), *row.timestamp, "timestamp");
      start_ = start_.value_or(*row.timestamp);
      previous_ = row.timestamp;
    }
    session_state alone;
    session_state& state = is_later_turn ? known->second
                           : row.session ? sessions_[*row.session]
                                         : alone;
    if (!is_later_turn) {
      state.id = session_id{session_count_++};
    }
    state.arrival = row.timestamp ? *row.timestamp - *start_ : state.arrival;
    out.session = state.id;
    out.turn = state.turns++;
    out.arrival = state.arrival;
    out.delay = is_later_turn ? row.delay.value_or(sim_time{0}) : sim_time{0};
    out.last_turn =
        !info_.has_sessions || !found_.turns || state.turns == (*found_.turns)[state.id.get()];
  }

  findings found_;
  token_count block_tokens_;
  std::unordered_map<std::string, session_state> sessions_;
  std::uint64_t session_count_ = 0;
  std::optional<sim_time> start_, previous_;
};

const register_trace_format registration{
    {.name = "mooncake",
     .summary = "JSON lines with prefix block ids: 512 tokens a block (the last may be short), ids "
                "hold in the whole trace; no content, sessions only where rows name them",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<mooncake>(options);
     }}};

}  // namespace

}  // namespace refrain
