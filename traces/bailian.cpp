// Alibaba's Bailian traces of Qwen (github.com/alibaba-edu/qwen-bailian-usagetraces-anon): chat_id,
// parent_chat_id (-1: none), timestamp in seconds, lengths, type, turn, and hash_ids of blocks of
// 16 tokens. A row is a whole request, its history included, so turns are not added up. The ids are
// taken as those of prefixes, as the published replayers do; the file does not say so. A chat
// follows its parent as the next turn of its session and keeps its recorded time, but does not
// start before its parent's answer. A chat whose parent lies before the trace begins a session, and
// so does a second chat with one parent. Types are
// numbered in the order in which they come. Left out: turn, beyond being a number.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/json_lines.hpp"
#include "traces/sessions.hpp"

namespace refrain {

namespace {

constexpr token_count standard_block{16};

class bailian final : public json_lines_source {
 public:
  explicit bailian(const source_options& options) : bailian{options, look_ahead(options)} {}

 private:
  struct fields {
    std::optional<std::string> chat, parent, type;
    std::optional<sim_time> timestamp;
    std::optional<token_count> input, output;
    std::optional<std::uint64_t> turn;
    bool has_ids = false;
  };

  bailian(const source_options& options, std::optional<turn_counts> turns)
      : json_lines_source{options,
                          {.format = "bailian",
                           .block_tokens = block_tokens_of(options, standard_block),
                           .has_chains = true,
                           .has_sessions = true,
                           .id_scope = "trace"}},
        sessions_{std::move(turns)} {}

  static turn_counts look_ahead(const source_options& options) {
    bailian scout{scouting(options), std::nullopt};
    return count_session_turns(scout);
  }

  void read_row(std::string_view line, request& out) override {
    fields row = read_fields(line, out.blocks);
    out.input_tokens = required(row.input, "input_length");
    out.output_tokens = required(row.output, "output_length");
    required(row.turn, "turn");
    if (!row.has_ids) {
      throw bad_row{"missing field \"hash_ids\""};
    }
    check_id_count(out, info_.block_tokens);
    const std::string& chat = required(row.chat, "chat_id");
    const std::string& parent = required(row.parent, "parent_chat_id");
    place(chat, parent, required(row.timestamp, "timestamp"), out);
    out.type = number_of_type(row.type.value_or(""));
  }

  std::uint32_t number_of_type(const std::string& type) {
    auto at = std::ranges::find(types_, type);
    if (at == types_.end() && types_.size() < types_max) {
      at = types_.insert(at, type);
    }
    return static_cast<std::uint32_t>(at - types_.begin());
  }

  fields read_fields(std::string_view line, std::vector<block_key>& blocks) {
    using std::chrono::seconds;
    fields row;
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "chat_id") {
        set_once(row.chat, json_id(value, name), name);
      } else if (name == "parent_chat_id") {
        set_once(row.parent, json_id(value, name), name);
      } else if (name == "timestamp") {
        set_once(row.timestamp, json_time(value, name, seconds{1}), name);
      } else if (name == "input_length") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "output_length") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "turn") {
        set_once(row.turn, json_unsigned(value, name), name);
      } else if (name == "type") {
        set_once(row.type, json_id(value, name), name);
      } else if (name == "hash_ids") {
        if (std::exchange(row.has_ids, true)) {
          throw bad_row{"a field is given twice", "hash_ids"};
        }
        json_keys(value, name, blocks);
      }
    });
    return row;
  }

  void place(const std::string& chat, const std::string& parent, sim_time time, request& out) {
    if (time < sim_time{0}) {
      throw bad_row{"\"timestamp\" is negative"};
    }
    if (previous_ && time < *previous_) {
      throw bad_row{"\"timestamp\" is lower than the previous row's"};
    }
    if (sessions_.find(chat) != nullptr) {
      throw bad_row{"\"chat_id\" is that of an earlier row", chat.substr(0, 40)};
    }
    previous_ = time;
    start_ = start_.value_or(time);
    out.arrival = time - *start_;
    if (parent != "-1" && sessions_.find(parent) != nullptr) {
      sessions_.follow(parent, chat, out);
    } else {
      sessions_.begin(chat, out);
    }
  }

  static constexpr std::size_t types_max = 100;  // those beyond count as one

  session_book sessions_;
  std::vector<std::string> types_;
  std::optional<sim_time> start_, previous_;
};

const register_trace_format registration{
    {.name = "bailian",
     .summary = "Alibaba's Qwen traces, JSON lines: 16 tokens a block, ids hold in the whole trace "
                "and are taken as prefixes; sessions by parent chat; no content outside the prefix",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<bailian>(options);
     }}};

}  // namespace

}  // namespace refrain
