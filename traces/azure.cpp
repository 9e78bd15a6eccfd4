// The public LLM inference traces of Azure (github.com/Azure/AzurePublicDataset, 2023 and 2024):
// TIMESTAMP, ContextTokens, GeneratedTokens. A time is "YYYY-MM-DD HH:MM:SS" with a fraction of any
// number of digits (nine count) and no zone or that of UTC. Rows carry no ids and no content, so
// nothing can be shared. Other columns (NumImages of the multimodal set) are left out.
#include <algorithm>
#include <charconv>
#include <optional>

#include "traces/csv_lines.hpp"

namespace refrain {

namespace {

constexpr std::string_view time_name = "TIMESTAMP";

[[noreturn]] void refuse_time(std::string_view field) {
  throw bad_row{"\"TIMESTAMP\" is not \"YYYY-MM-DD HH:MM:SS.fraction\" in UTC",
                std::string{field.substr(0, 40)}};
}

/// The number of `digits` digits at the start of `rest`, which they and the `end` behind them
/// leave.
int take_number(std::string_view field, std::string_view& rest, std::size_t digits, char end) {
  int number = 0;
  const char* last = rest.data() + std::min(digits, rest.size());
  auto [at, error] = std::from_chars(rest.data(), last, number);
  std::size_t taken = digits + (end != '\0');
  bool ends = end == '\0' || (rest.size() > digits && rest[digits] == end);
  if (rest.size() < digits || error != std::errc{} || at != last || number < 0 || !ends) {
    refuse_time(field);
  }
  rest.remove_prefix(taken);
  return number;
}

/// ".0123456" and what may follow it: nothing, "Z" or "+00:00".
sim_time take_fraction(std::string_view field, std::string_view rest) {
  std::int64_t ns = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::int64_t unit = 100'000'000;
    std::size_t digits = 0;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
      ns += (rest[digits] - '0') * unit;
      unit /= 10;
    }
    if (digits == 0) {
      refuse_time(field);
    }
    rest.remove_prefix(digits);
  }
  if (!rest.empty() && rest != "Z" && rest != "+00:00") {
    refuse_time(field);
  }
  return sim_time{ns};
}

/// Since 1970.
sim_time parse_time(std::string_view field) {
  using namespace std::chrono;
  std::string_view rest = field;
  int y = take_number(field, rest, 4, '-'), m = take_number(field, rest, 2, '-');
  int d = take_number(field, rest, 2, ' ');
  year_month_day day{year{y}, month{static_cast<unsigned>(m)},
                     std::chrono::day{static_cast<unsigned>(d)}};
  int h = take_number(field, rest, 2, ':'), min = take_number(field, rest, 2, ':');
  int s = take_number(field, rest, 2, '\0');
  if (!day.ok() || y < 1970 || y > 2200 || h > 23 || min > 59 || s > 59) {
    refuse_time(field);
  }
  return sys_days{day}.time_since_epoch() + hours{h} + minutes{min} + seconds{s} +
         take_fraction(field, rest);
}

class azure final : public csv_lines_source {
 public:
  explicit azure(const source_options& options)
      : csv_lines_source{options, {.format = "azure", .id_scope = "none"}},
        time_{required_column(time_name)},
        input_{required_column("ContextTokens")},
        output_{required_column("GeneratedTokens")} {}

 private:
  void read_row(const fields& row, request& out) override {
    out.input_tokens = csv_tokens(row[input_], "ContextTokens", 1);
    out.output_tokens = csv_tokens(row[output_], "GeneratedTokens", 0);
    sim_time time = parse_time(row[time_]);
    if (previous_ && time < *previous_) {
      throw bad_row{"\"TIMESTAMP\" is lower than the previous row's"};
    }
    previous_ = time;
    start_ = start_.value_or(time);
    out.arrival = time - *start_;
  }

  std::size_t time_, input_, output_;
  std::optional<sim_time> start_, previous_;
};

const register_trace_format registration{
    {.name = "azure",
     .summary = "Azure's LLM inference CSV: arrivals and lengths; no block ids (so no id scope), "
                "no content, no sessions, so no reuse",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<azure>(options);
     }}};

}  // namespace

}  // namespace refrain
