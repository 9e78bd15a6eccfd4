// The agentic dialect of Mooncake's JSON lines (NVIDIA Dynamo): a row has a request_id and starts
// at its timestamp (ms), or, where wait_for names earlier rows, when they are done plus delay plus
// tool_wait_ms. A row that waits for one other is the next turn of its session. What a request
// cannot express yet is a bad row with that reason: one that waits for several, or for a row that
// another already waits for (several branches). Ids are those of whole prompts, blocks of 512
// tokens unless told otherwise; the delta form, whose later turns carry new blocks only, cannot be
// told from it and must not be read as this format. Left out: session_id and branches (wait_for
// says it from the other side), prefix_reset (the ids show it), and what the tool_events were.
#include <optional>
#include <utility>

#include "traces/json_lines.hpp"
#include "traces/sessions.hpp"

namespace refrain {

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr token_count standard_block{512};
constexpr std::chrono::hours time_max{100L * 366 * 24};

sim_time time_of(json_value& value, std::string_view name) {
  sim_time time = json_time(value, name, milliseconds{1});
  if (time < sim_time{0} || time > time_max) {
    throw bad_row{"\"" + std::string{name} + "\" is negative or above 100 years"};
  }
  return time;
}

std::vector<std::string> names_of(json_value& value, std::string_view name) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) {
    throw bad_row{"\"" + std::string{name} + "\" is not an array"};
  }
  std::vector<std::string> names;
  for (auto element : array) {
    json_value each;
    if (element.get(each) != simdjson::SUCCESS) {
      throw bad_row{"not JSON", "inside \"" + std::string{name} + "\""};
    }
    names.push_back(json_id(each, name));
  }
  return names;
}

class agentic final : public json_lines_source {
 public:
  explicit agentic(const source_options& options) : agentic{options, look_ahead(options)} {}

 private:
  /// What an earlier pass over the file has found.
  struct findings {
    bool has_ids = false;
    std::optional<turn_counts> turns;
  };

  struct fields {
    std::optional<std::string> id;
    std::optional<sim_time> timestamp, delay, tool_wait;
    std::optional<token_count> input, output;
    std::optional<std::vector<std::string>> wait_for;
    bool has_ids = false;
  };

  agentic(const source_options& options, findings found)
      : json_lines_source{options, describe(options, found.has_ids)},
        block_tokens_{block_tokens_of(options, standard_block)},
        sessions_{std::move(found.turns)} {}

  static trace_info describe(const source_options& options, bool has_ids) {
    return {.format = "agentic",
            .block_tokens = has_ids ? block_tokens_of(options, standard_block) : token_count{0},
            .has_chains = has_ids,
            .has_sessions = true,
            .id_scope = has_ids ? "trace" : "none"};
  }

  static findings look_ahead(const source_options& options) {
    agentic scout{scouting(options), findings{}};
    turn_counts turns = count_session_turns(scout);
    return {.has_ids = scout.any_ids_, .turns = std::move(turns)};
  }

  void read_row(std::string_view line, request& out) override {
    fields row = read_fields(line, out.blocks);
    out.input_tokens = required(row.input, "input_length");
    out.output_tokens = required(row.output, "output_length");
    if (row.has_ids) {
      check_id_count(out, block_tokens_);
    }
    place(row, out);
    any_ids_ = any_ids_ || !out.blocks.empty();
  }

  fields read_fields(std::string_view line, std::vector<block_key>& blocks) {
    fields row;
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "request_id") {
        set_once(row.id, json_id(value, name), name);
      } else if (name == "timestamp" || name == "created_time") {
        set_once(row.timestamp, time_of(value, name), name);
      } else if (name == "input_length" || name == "input_tokens") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "output_length" || name == "output_tokens") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "delay" || name == "delay_ms") {
        set_once(row.delay, time_of(value, name), name);
      } else if (name == "tool_wait_ms") {
        set_once(row.tool_wait, time_of(value, name), name);
      } else if (name == "wait_for") {
        set_once(row.wait_for, names_of(value, name), name);
      } else if (name == "prefix_reset") {
        json_flag(value, name);
      } else if (name == "branches") {
        names_of(value, name);
      } else if (name == "hash_ids") {
        if (std::exchange(row.has_ids, true)) {
          throw bad_row{"a field is given twice", "hash_ids"};
        }
        json_keys(value, name, blocks);
      }
    });
    return row;
  }

  void place(const fields& row, request& out) {
    const std::string& id = required(row.id, "request_id");
    if (sessions_.find(id) != nullptr) {
      throw bad_row{"\"request_id\" is that of an earlier row", id.substr(0, 40)};
    }
    if (row.wait_for && row.wait_for->size() > 1) {
      throw bad_row{"waits for several requests, which a request cannot express yet",
                    std::to_string(row.wait_for->size()) + " in \"wait_for\""};
    }
    if (row.wait_for && row.wait_for->size() == 1) {
      follow(row, row.wait_for->front(), out);
      return;
    }
    sim_time time = required(row.timestamp, "timestamp");
    if (previous_ && time < *previous_) {
      throw bad_row{"\"timestamp\" is lower than that of the row before that waits for none"};
    }
    previous_ = time;
    start_ = start_.value_or(time);
    out.arrival = time - *start_;
    sessions_.begin(id, out);
  }

  void follow(const fields& row, const std::string& earlier, request& out) {
    const open_session* session = sessions_.find(earlier);
    if (session == nullptr) {
      throw bad_row{
          "waits for a request that no good row before it has, or that another row waits "
          "for already, which a request cannot express yet",
          earlier.substr(0, 40)};
    }
    out.arrival = session->start;
    out.delay = row.delay.value_or(sim_time{0}) + row.tool_wait.value_or(sim_time{0});
    sessions_.follow(earlier, *row.id, out);
  }

  token_count block_tokens_;
  session_book sessions_;
  std::optional<sim_time> start_, previous_;
  bool any_ids_ = false;
};

const register_trace_format registration{
    {.name = "agentic",
     .summary = "Mooncake's agentic dialect, JSON lines: 512 tokens a block, ids hold in the whole "
                "trace; chains of waiting rows are sessions; rows that wait for several or branch "
                "are bad rows; no content outside the prefix",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<agentic>(options);
     }}};

}  // namespace

}  // namespace refrain
