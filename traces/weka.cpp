// Coding-agent conversations in WEKA's form (github.com/callanjfox/kv-cache-tester, the AgentX
// sets): a conversation is a JSON object, one a line or alone in a file; its requests carry t (s
// since the conversation's start), in, out and hash_ids of blocks of 64 tokens, full blocks only.
// Ids start at 1 in each conversation, so they are qualified by it: what conversations share (tools
// and system prompts) is not to be seen. A conversation is a closed loop: every one starts at time
// 0, since files do not say when it began, and a request waits for the answer before it and then
// for its recorded think time. Where that is missing or counts from another request (after one
// without api_time), it is what the recorded clock leaves between the two. A subagent's t counts
// from its own start and its requests share the parent's ids; they are turns of the same session in
// file order, so what ran side by side runs one after the other. Left out: models, stop, ttft,
// kinds of content, and the time a service took.
#include <algorithm>
#include <optional>
#include <utility>

#include "traces/json_lines.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

using std::chrono::seconds;

constexpr token_count standard_block{64};
constexpr seconds time_max{10L * 366 * 86'400};
constexpr int depth_max = 8;
constexpr std::size_t object_bytes_max = std::size_t{1} << 26;

/// A time in seconds. Throws bad_row.
sim_time time_of(json_value& value, std::string_view name) {
  sim_time time = json_time(value, name, seconds{1});
  if (time < sim_time{0} || time > time_max) {
    throw bad_row{"\"" + std::string{name} + "\" is negative or above ten years"};
  }
  return time;
}

class weka final : public source {
 public:
  explicit weka(const source_options& options)
      : block_tokens_{block_tokens_of(options, standard_block)},
        file_{options.path},
        ledger_{options},
        info_{.format = "weka",
              .block_tokens = block_tokens_,
              .has_chains = true,
              .has_sessions = true,
              .id_scope = "session"} {}

  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return ledger_.counts(); }

  bool next(request& out) override {
    while (at_ == count_) {
      if (!read_conversation()) {
        ledger_.finish();
        return false;
      }
    }
    std::swap(out, requests_[at_]);
    out.turn = static_cast<std::uint32_t>(at_++);
    out.last_turn = at_ == count_;
    ledger_.keep(out);
    return true;
  }

 private:
  /// What a request or a subagent says; views into the line.
  struct fields {
    std::optional<sim_time> t, api, think;
    std::optional<token_count> input, output;
    std::optional<std::string_view> requests;
    bool is_subagent = false, has_ids = false;
  };

  /// Requests that follow each other on one clock.
  struct request_list {
    std::uint64_t number;              // in the file
    sim_time origin{0};                // of its t
    std::optional<sim_time> latest{};  // t of its latest request
  };

  /// The request before, in file order.
  struct earlier_request {
    std::uint64_t list;
    sim_time start;
    std::optional<sim_time> api;
  };

  bool read_conversation() {
    std::string_view text;
    if (!next_object(text)) {
      return false;
    }
    conversation_ = conversation_ + (count_ > 0);
    at_ = count_ = number_ = 0;
    previous_.reset();
    try {
      request_list main{.number = ++lists_};
      add_requests(requests_of(text), main, 0);
    } catch (const bad_row& row) {
      ledger_.drop(file_.where(), row);
    }
    return true;
  }

  /// A line, or the whole file where its first line only opens an object.
  bool next_object(std::string_view& text) {
    std::string_view line;
    if (!file_.next_line(line)) {
      return false;
    }
    text = line;
    if (line == "{" && ledger_.counts().rows_read == 0) {
      object_ = line;
      while (file_.next_line(line)) {
        object_.append("\n").append(line);
        if (object_.size() > object_bytes_max) {
          throw input_error{file_.path(), "one object over many lines has more than 64 MiB"};
        }
      }
      object_.reserve(object_.size() + line_padding);
      text = object_;
    }
    return true;
  }

  /// Checks what a conversation says of its ids. Throws bad_row.
  std::string_view requests_of(std::string_view text) {
    std::optional<std::string_view> requests;
    std::optional<token_count> block;
    std::optional<std::string> scope;
    walker_.for_each_field(text, [&](std::string_view name, json_value& value) {
      if (name == "requests") {
        set_once(requests, array_text(value), name);
      } else if (name == "block_size") {
        set_once(block, json_tokens(value, name, 1), name);
      } else if (name == "hash_id_scope") {
        set_once(scope, json_id(value, name), name);
      }
    });
    if (required(block, "block_size") != block_tokens_) {
      throw bad_row{"\"block_size\" is not " + std::to_string(block_tokens_),
                    std::to_string(*block)};
    }
    if (scope && *scope != "local") {
      throw bad_row{"\"hash_id_scope\" is not \"local\"", scope->substr(0, 40)};
    }
    return required(requests, "requests");
  }

  static std::string_view array_text(json_value& value) {
    simdjson::ondemand::array array;
    std::string_view text;
    if (value.get_array().get(array) != simdjson::SUCCESS ||
        array.raw_json().get(text) != simdjson::SUCCESS) {
      throw bad_row{"\"requests\" is not an array"};
    }
    return text;
  }

  void add_requests(std::string_view array, request_list& list, int depth) {
    for (std::string_view element : walker_.elements_of(array)) {
      std::uint64_t number = number_ + 1;
      try {
        add(element, list, depth);
      } catch (const bad_row& row) {
        number_ = std::max(number_, number);
        ledger_.drop(file_.where() + ", request " + std::to_string(number), row);
      }
    }
  }

  void add(std::string_view element, request_list& list, int depth) {
    request& out = slot();
    clear_request(out);
    fields row = read_fields(element, out.blocks);
    sim_time t = required(row.t, "t");
    if (row.is_subagent) {
      if (depth == depth_max) {
        throw bad_row{"subagents are nested deeper than 8"};
      }
      request_list nested{.number = ++lists_, .origin = list.origin + t};
      add_requests(required(row.requests, "requests"), nested, depth + 1);
      return;
    }
    out.input_tokens = required(row.input, "in");
    out.output_tokens = required(row.output, "out");
    check_ids(row, out);
    if (list.latest && t < *list.latest) {
      throw bad_row{"\"t\" is lower than the previous request's"};
    }
    list.latest = t;
    keep(row, list, out);
  }

  request& slot() {
    if (requests_.size() == count_) {
      requests_.emplace_back();
    }
    return requests_[count_];
  }

  fields read_fields(std::string_view element, std::vector<block_key>& ids) {
    fields row;
    walker_.for_each_field(element, [&](std::string_view name, json_value& value) {
      if (name == "t") {
        set_once(row.t, time_of(value, name), name);
      } else if (name == "in") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "out") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "api_time") {
        set_once(row.api, time_of(value, name), name);
      } else if (name == "think_time") {
        set_once(row.think, time_of(value, name), name);
      } else if (name == "type") {
        row.is_subagent = json_id(value, name) == "subagent";
      } else if (name == "requests") {
        set_once(row.requests, array_text(value), name);
      } else if (name == "hash_ids") {
        if (std::exchange(row.has_ids, true)) {
          throw bad_row{"a field is given twice", "hash_ids"};
        }
        json_keys(value, name, ids);
      }
    });
    return row;
  }

  void check_ids(const fields& row, const request& out) const {
    if (!row.has_ids) {
      throw bad_row{"missing field \"hash_ids\""};
    }
    std::int64_t full = out.input_tokens / block_tokens_;
    if (static_cast<std::int64_t>(out.blocks.size()) != full) {
      throw bad_row{"the number of ids does not fit the input length",
                    std::to_string(out.blocks.size()) + " ids for " +
                        std::to_string(out.input_tokens) + " tokens; expected " +
                        std::to_string(full) + ", one for each full block of " +
                        std::to_string(block_tokens_)};
    }
  }

  /// The last check is behind us: qualifies the ids and works out the wait.
  void keep(const fields& row, const request_list& list, request& out) {
    for (block_key& id : out.blocks) {
      id = block_key{mix64(conversation_ + 1, id)};
    }
    sim_time start = list.origin + *row.t;
    if (previous_) {
      bool counts_from_previous = previous_->list == list.number && previous_->api.has_value();
      sim_time answered = previous_->start + previous_->api.value_or(sim_time{0});
      out.delay =
          counts_from_previous && row.think ? *row.think : std::max(start - answered, sim_time{0});
    }
    previous_ = earlier_request{list.number, start, row.api};
    out.session = session_id{conversation_};
    ++count_;
    ++number_;
  }

  token_count block_tokens_;
  input_file file_;
  row_ledger ledger_;
  trace_info info_;
  json_walker walker_;
  std::string object_;              // a conversation over many lines
  std::vector<request> requests_;   // of the conversation; those behind count_ keep their room
  std::size_t at_ = 0, count_ = 0;  // next one to deliver; good ones
  std::uint64_t number_ = 0;        // requests of the conversation so far, bad ones too
  std::uint64_t lists_ = 0;         // so far
  std::uint64_t conversation_ = 0;  // those with a good request, before this one
  std::optional<earlier_request> previous_;
};

const register_trace_format registration{
    {.name = "weka",
     .summary = "WEKA's coding-agent conversations, JSON: 64 tokens a block, full blocks only, ids "
                "hold in one conversation (sharing between them is not shown), nor is when one "
                "began; sessions with think times; no content outside the prefix",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<weka>(options);
     }}};

}  // namespace

}  // namespace refrain
