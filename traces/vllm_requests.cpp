// A measured vLLM run: one JSON object a request with its token counts and the engine's own times
// in seconds of a monotonic clock, as LLMServingSim's validation runs are published. The arrival is
// the time of queueing; what happened before (the client, the HTTP server) is left out, and so are
// the scheduling times. Rows carry no content, so nothing can be shared.
#include <optional>

#include "traces/json_lines.hpp"

namespace refrain {

namespace {

class vllm_requests final : public json_lines_source {
 public:
  explicit vllm_requests(const source_options& options)
      : json_lines_source{options,
                          {.format = "vllm_requests", .has_measured = true, .id_scope = "none"}} {}

 private:
  struct fields {
    std::optional<token_count> input, output;
    std::optional<sim_time> queued, first_token, last_token;
  };

  void read_row(std::string_view line, request& out) override {
    using std::chrono::seconds;
    fields row;
    for_each_field(line, [&](std::string_view name, json_value& value) {
      if (name == "input_toks") {
        set_once(row.input, json_tokens(value, name, 1), name);
      } else if (name == "output_toks") {
        set_once(row.output, json_tokens(value, name, 0), name);
      } else if (name == "queued_ts") {
        set_once(row.queued, json_time(value, name, seconds{1}), name);
      } else if (name == "first_token_ts") {
        set_once(row.first_token, json_time(value, name, seconds{1}), name);
      } else if (name == "last_token_ts") {
        set_once(row.last_token, json_time(value, name, seconds{1}), name);
      }
    });
    out.input_tokens = required(row.input, "input_toks");
    out.output_tokens = required(row.output, "output_toks");
    place(required(row.queued, "queued_ts"), required(row.first_token, "first_token_ts"),
          required(row.last_token, "last_token_ts"), out);
  }

  void place(sim_time queued, sim_time first_token, sim_time last_token, request& out) {
    if (first_token < queued) {
      throw bad_row{"\"first_token_ts\" lies before \"queued_ts\""};
    }
    if (last_token < first_token) {
      throw bad_row{"\"last_token_ts\" lies before \"first_token_ts\""};
    }
    if (previous_ && queued < *previous_) {
      throw bad_row{"\"queued_ts\" is lower than the previous row's"};
    }
    out.arrival = time_since(start_.value_or(queued), queued, "queued_ts");
    out.measured = measured_times{.ttft = time_since(queued, first_token, "first_token_ts"),
                                  .e2e = time_since(queued, last_token, "last_token_ts")};
    previous_ = queued;
    start_ = start_.value_or(queued);
  }

  std::optional<sim_time> start_, previous_;
};

const register_trace_format registration{
    {.name = "vllm_requests",
     .summary = "a measured vLLM run, JSON lines: lengths, queueing, first- and last-token times; "
                "no block ids, so no reuse",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<vllm_requests>(options);
     }}};

}  // namespace

}  // namespace refrain
