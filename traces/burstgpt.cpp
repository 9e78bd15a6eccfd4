// BurstGPT (github.com/HPMLL/BurstGPT, KDD 2025), read by column name: Timestamp (whole seconds),
// Request tokens, Response tokens, and in the third file Session ID and Elapsed time. Arrivals are
// kept as recorded; a later turn of a session also waits for its answer and then for the recorded
// gap since the reply before, so a slower system delays it and a faster one changes nothing. A row
// without request and response tokens is a failed request: nothing of it can be served, so it is a
// bad row with that reason (workload.bad_rows = "drop" goes on without them). Rows carry no ids and
// no content. Left out: the model, the total (their sum) and the kind of log.
#include <algorithm>
#include <optional>

#include "traces/csv_lines.hpp"
#include "traces/sessions.hpp"

namespace refrain {

namespace {

class burstgpt final : public csv_lines_source {
 public:
  explicit burstgpt(const source_options& options) : burstgpt{options, look_ahead(options)} {}

 private:
  burstgpt(const source_options& options, std::optional<turn_counts> turns)
      : csv_lines_source{options, {.format = "burstgpt", .id_scope = "none"}},
        time_{required_column("Timestamp")},
        input_{required_column("Request tokens")},
        output_{required_column("Response tokens")},
        session_{column("Session ID")},
        elapsed_{session_ ? required_column("Elapsed time") : 0},
        sessions_{std::move(turns)} {
    info_.has_sessions = session_.has_value();
  }

  static turn_counts look_ahead(const source_options& options) {
    burstgpt scout{scouting(options), std::nullopt};
    return scout.session_ ? count_session_turns(scout) : turn_counts{};
  }

  void read_row(const fields& row, request& out) override {
    out.input_tokens = csv_tokens(row[input_], "Request tokens", 0);
    out.output_tokens = csv_tokens(row[output_], "Response tokens", 0);
    if (out.input_tokens == 0 && out.output_tokens == 0) {
      throw bad_row{"a failed request: no request and no response tokens"};
    }
    if (out.input_tokens == 0) {
      throw bad_row{"\"Request tokens\" is 0 in a row with response tokens"};
    }
    sim_time time = csv_seconds(row[time_], "Timestamp");
    if (previous_ && time < *previous_) {
      throw bad_row{"\"Timestamp\" is lower than the previous row's"};
    }
    sim_time elapsed{0};
    if (session_ && !row[elapsed_].empty()) {
      elapsed = csv_seconds(row[elapsed_], "Elapsed time");
    }
    previous_ = time;
    start_ = start_.value_or(time);
    out.arrival = time - *start_;
    if (session_) {
      place(std::string{row[*session_]}, out.arrival + elapsed, out);
    }
  }

  void place(const std::string& name, sim_time answered, request& out) {
    if (name.empty()) {
      sessions_.stand_alone(out);
      return;
    }
    if (const open_session* session = sessions_.find(name)) {
      out.delay = std::max(out.arrival - session->answered, sim_time{0});
      sessions_.follow(name, name, out);
    } else {
      sessions_.begin(name, out);
    }
    sessions_.find(name)->answered = answered;
  }

  std::size_t time_, input_, output_;
  std::optional<std::size_t> session_;
  std::size_t elapsed_;
  session_book sessions_;
  std::optional<sim_time> start_, previous_;
};

const register_trace_format registration{
    {.name = "burstgpt",
     .summary = "BurstGPT's CSV, either set of columns: arrivals in whole seconds, lengths, "
                "sessions where the file names them; no block ids (so no id scope), no content, so "
                "no reuse; failed requests are bad rows",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<burstgpt>(options);
     }}};

}  // namespace

}  // namespace refrain
