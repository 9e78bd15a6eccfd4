// The summary for people: a table of at most 120 columns. Times, throughput and memory differ in
// percent, rates in percentage points, tokens in counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "analysis/summary.hpp"
#include "traces/quantity.hpp"

namespace refrain {
namespace {

constexpr std::size_t columns_max = 120;

/// Cells by row; the first column is aligned left, the others right.
using grid = std::vector<std::vector<std::string>>;

/// Characters, not bytes, so that names in any script align.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::size_t> widths_of(const grid& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (std::size_t i = 1; i < widths.size(); ++i) {
    for (const auto& row : rows) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::size_t room = columns_max;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    room -= std::min(room, widths[i] + 2);
  }
  for (const auto& row : rows) {
    widths[0] = std::max(widths[0], width(row[0]));
  }
  widths[0] = std::min(widths[0], room);
  return widths;
}

void print_grid(std::string& out, const grid& rows) {
  std::vector<std::size_t> widths = widths_of(rows);
  for (const auto& row : rows) {
    std::string line = row[0];
    std::size_t used = width(line);
    if (used > widths[0]) {  // a name too long for its column has a line to itself
      out += line + "\n";
      line.clear();
      used = 0;
    }
    line.append(widths[0] - used, ' ');
    for (std::size_t i = 1; i < row.size(); ++i) {
      line.append(2 + widths[i] - width(row[i]), ' ');
      line += row[i];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
}

std::string or_dash(double value, const std::function<std::string()>& print) {
  return std::isfinite(value) ? print() : "-";
}

std::string time_text(double seconds) {
  return or_dash(seconds, [&] { return print_duration(seconds); });
}

std::string percent_text(double ratio) {
  return or_dash(ratio, [&] { return fmt::format("{:.1f}%", 100 * ratio); });
}

/// Zero without a sign.
std::string signed_text(double value, const char* unit) {
  if (!std::isfinite(value)) {
    return "-";
  }
  std::string text = fmt::format("{:+.1f}{}", value, unit);
  return text.substr(1, 3) == "0.0" ? text.substr(1) : text;
}

std::string relative_text(double from, double to) {
  double percent = 100 * (to / from - 1);
  if (percent < -99 && to > 0) {  // a thousandth is not nothing
    return fmt::format("{:+.3f}%", percent);
  }
  return from == to ? "0.0%" : signed_text(percent, "%");
}

std::string count_text(double count) {
  return or_dash(count, [&] { return print_count(std::llround(count)); });
}

std::string signed_count_text(double from, double to) {
  return or_dash(to - from, [&] { return (to > from ? "+" : "") + count_text(to - from); });
}

/// One column of the table: its head, its figure, and how both are printed.
struct figure {
  const char* head;
  double (*get)(const contender_summary&);
  std::string (*print)(double);
  std::string (*difference)(double, double);
};

std::string points_text(double from, double to) {
  return signed_text(100 * (to - from), " pp");
}
std::string throughput_text(double value) {
  return or_dash(value, [&] {
    return value < 1000 ? fmt::format("{:.1f}", value) : print_count(std::llround(value));
  });
}
std::string bytes_text(double value) {
  return or_dash(value, [&] { return print_bytes(value); });
}

/// Of what was never asked for nothing was computed or saved.
double recomputed(const contender_summary& s) {
  return *s.at("requests_done").exact == 0 ? std::numeric_limits<double>::quiet_NaN()
                                           : s.at("recomputed_tokens").value;
}

constexpr figure figures[] = {
    {"TTFT p50", [](const contender_summary& s) { return s.at("ttft_s").distribution->p50; },
     time_text, relative_text},
    {"TTFT p99", [](const contender_summary& s) { return s.at("ttft_s").distribution->p99; },
     time_text, relative_text},
    {"TPOT mean", [](const contender_summary& s) { return s.at("tpot_s").value; }, time_text,
     relative_text},
    {"E2E mean", [](const contender_summary& s) { return s.at("e2e_s").value; }, time_text,
     relative_text},
    {"output/s", [](const contender_summary& s) { return s.at("output_tokens_per_s").value; },
     throughput_text, relative_text},
    {"hit rate", [](const contender_summary& s) { return s.at("token_hit_rate").value; },
     percent_text, points_text},
    {"recomputed", recomputed, count_text, signed_count_text},
    {"peak KV", [](const contender_summary& s) { return s.at("gpu_kv_peak_bytes").value; },
     bytes_text, relative_text},
};

void print_contenders(std::string& out, std::span<const contender_summary> contenders) {
  grid rows{{"contender"}};
  for (const figure& f : figures) {
    rows[0].emplace_back(f.head);
  }
  for (const contender_summary& s : contenders) {
    std::vector<std::string>& row = rows.emplace_back(1, s.name);
    for (const figure& f : figures) {
      row.push_back(f.print(f.get(s)));
    }
    if (&s != contenders.data()) {
      std::vector<std::string>& below = rows.emplace_back(1, "");
      for (const figure& f : figures) {
        below.push_back(f.difference(f.get(contenders[0]), f.get(s)));
      }
    }
  }
  print_grid(out, rows);
}

void print_requests(std::string& out, std::span<const contender_summary> contenders) {
  const contender_summary& first = contenders.front();
  auto counts = [](const contender_summary& s) {
    return std::pair{*s.at("requests_done").exact, *s.at("requests_refused").exact};
  };
  auto print = [](std::pair<std::int64_t, std::int64_t> c) {
    return print_count(c.first) + " requests done, " + print_count(c.second) + " refused";
  };
  bool same = std::ranges::all_of(
      contenders, [&](const contender_summary& s) { return counts(s) == counts(first); });
  if (same) {
    out += print(counts(first)) + (contenders.size() > 1 ? " by each contender.\n" : ".\n");
  } else {
    for (const contender_summary& s : contenders) {
      out += s.name + ": " + print(counts(s)) + ".\n";
    }
  }
  out += "Output and recomputed are counts of tokens.\n";
  if (contenders.size() > 1) {
    out += "Second lines: difference to " + first.name +
           ", without a confidence interval, so no contender is called better.\n";
  }
}

/// What routers that ask what executors hold made of it; the others have no row.
void print_routing(std::string& out, std::span<const contender_summary> contenders) {
  grid rows{{"reusable prompt tokens", "an executor held", "router counted on", "delivered"}};
  for (const contender_summary& s : contenders) {
    if (!(s.at("routable_tokens").value > 0)) {
      continue;
    }
    std::vector<std::string>& row = rows.emplace_back(1, s.name);
    for (const char* name : {"routable_tokens", "routed_tokens", "hit_tokens"}) {
      double count = s.at(name).value;
      row.push_back(fmt::format("{} ({})", count_text(count),
                                percent_text(count / s.at("input_tokens").value)));
    }
  }
  if (rows.size() > 1) {
    out += "\n";
    print_grid(out, rows);
  }
}

/// Why prompt tokens were computed, in shares of all prompt tokens; causes that no contender has
/// are left out.
void print_losses(std::string& out, std::span<const contender_summary> contenders) {
  constexpr std::string_view prefix = "lost_tokens_";
  std::vector<std::string> causes;
  for (const metric& m : contenders.front().metrics) {
    bool any = m.name.starts_with(prefix) && std::ranges::any_of(contenders, [&](const auto& s) {
                 return s.at(m.name).value > 0;
               });
    if (any) {
      causes.push_back(m.name);
    }
  }
  if (causes.empty()) {
    return;
  }
  grid rows{{"why tokens were computed"}};
  for (const std::string& cause : causes) {
    std::string word = cause.substr(prefix.size());
    std::ranges::replace(word, '_', ' ');
    rows.front().push_back(word);
  }
  for (const contender_summary& s : contenders) {
    std::vector<std::string>& row = rows.emplace_back(1, s.name);
    for (const std::string& cause : causes) {
      row.push_back(percent_text(s.at(cause).value / s.at("input_tokens").value));
    }
  }
  out += "\n";
  print_grid(out, rows);
}

/// Against an endless cache of whole chunks: a contender's hits are what was seen anywhere, less
/// what the columns between them say.
void print_seen(std::string& out, std::span<const contender_summary> contenders) {
  const contender_summary& first = contenders.front();
  if (std::ranges::find(first.metrics, "seen_tokens_anywhere", &metric::name) ==
      first.metrics.end()) {
    return;
  }
  grid rows{{"of chunks seen before", "anywhere", "order", "block floor", "blended", "cache",
             "hit besides", "hit"}};
  for (const contender_summary& s : contenders) {
    std::vector<std::string>& row = rows.emplace_back(1, s.name);
    for (const char* name :
         {"seen_tokens_anywhere", "seen_lost_order", "seen_lost_floor", "seen_lost_blended",
          "seen_lost_cache", "hit_tokens_unseen", "hit_tokens"}) {
      double count = s.at(name).value;
      bool loses = std::string_view{name}.starts_with("seen_lost_") && count > 0;
      bool adds = std::string_view{name} == "hit_tokens_unseen" && count > 0;
      row.push_back((loses ? "-" : adds ? "+" : "") + count_text(count));
    }
  }
  out += "\n";
  print_grid(out, rows);
  double anywhere = first.at("seen_tokens_anywhere").value;
  double prefix = first.at("seen_tokens_prefix").value;
  double input = first.at("input_tokens").value;
  out += fmt::format(
      "Endless cache of whole chunks, in trace order: {} tokens seen anywhere ({}), {} in the "
      "exact "
      "prefix ({}).\n",
      count_text(anywhere), percent_text(anywhere / input), count_text(prefix),
      percent_text(prefix / input));
}

/// Which of the hits are not exact; nothing where all are.
void print_labels(std::string& out, std::span<const contender_summary> contenders) {
  grid rows{{"hits in tokens", "exact", "blended", "approximate", "of these stale"}};
  for (const contender_summary& s : contenders) {
    double other = s.at("hit_tokens_blended").value + s.at("hit_tokens_approximate").value +
                   s.at("stale_tokens").value;
    if (other > 0) {
      rows.push_back({s.name, count_text(s.at("hit_tokens_exact").value),
                      count_text(s.at("hit_tokens_blended").value),
                      count_text(s.at("hit_tokens_approximate").value),
                      count_text(s.at("stale_tokens").value)});
    }
  }
  if (rows.size() > 1) {
    out += "\n";
    print_grid(out, rows);
    out += "Blended and approximate hits change answers; how much is not measured here.\n";
  }
}

/// What stood in for other text, where the workload knows whether it was right.
void print_reuses(std::string& out, std::span<const contender_summary> contenders) {
  const contender_summary& first = contenders.front();
  if (std::ranges::find(first.metrics, "right_reuses", &metric::name) == first.metrics.end()) {
    return;
  }
  grid rows{
      {"KV of other text taken", "times", "right", "wrong", "number", "negation", "other text"}};
  for (const contender_summary& s : contenders) {
    std::vector<std::string>& row = rows.emplace_back(1, s.name);
    for (const char* name : {"reuses", "right_reuses", "wrong_reuses", "wrong_reuses_number",
                             "wrong_reuses_negation", "wrong_reuses_other"}) {
      row.push_back(count_text(s.at(name).value));
    }
  }
  out += "\n";
  print_grid(out, rows);
  out += fmt::format(
      "Planted edits of texts asked before: {} harmless, {} of one number, {} negations; reuse of "
      "the last two is wrong.\n",
      count_text(first.at("harmless_edits").value), count_text(first.at("number_edits").value),
      count_text(first.at("negations").value));
}

/// What edits of the corpus left as it was, and answers that used what they did not; nothing where
/// the corpus does not change.
void print_updates(std::string& out, std::span<const contender_summary> contenders) {
  auto has = [](const contender_summary& s) {
    return std::ranges::find(s.metrics, "surviving_bytes", &metric::name) != s.metrics.end();
  };
  if (!std::ranges::all_of(contenders, has)) {
    return;
  }
  grid rows{{"edits of the corpus", "edits", "edited bytes", "surviving", "of all",
             "of an edit p50", "stale answers", "stale tokens"}};
  for (const contender_summary& s : contenders) {
    double edited = s.at("edited_bytes").value;
    double surviving = s.at("surviving_bytes").value;
    rows.push_back(
        {s.name, count_text(s.at("edits").value), count_text(edited), count_text(surviving),
         percent_text(surviving / edited), percent_text(s.at("surviving_share").distribution->p50),
         count_text(s.at("stale_answers").value), count_text(s.at("stale_tokens").value)});
  }
  out += "\n";
  print_grid(out, rows);
}

void print_measured(std::string& out, std::span<const contender_summary> contenders) {
  grid rows{{"simulated against measured", "metric", "simulated", "measured", "mean differs",
             "mean |error|", "requests"}};
  for (const contender_summary& s : contenders) {
    for (const measured_row& m : s.measured) {
      std::string label = m.metric == "ttft_s" ? "TTFT" : m.metric == "tpot_s" ? "TPOT" : "E2E";
      rows.push_back({&m == s.measured.data() ? s.name : "", label + " mean",
                      time_text(m.simulated_mean), time_text(m.measured_mean),
                      signed_text(100 * m.relative_error, "%"),
                      percent_text(m.mean_absolute_relative_error), print_count(m.count)});
    }
  }
  if (rows.size() > 1) {
    out += "\n";
    print_grid(out, rows);
  }
}

/// Requests that really ran; nothing where none did.
void print_sample(std::string& out, std::span<const contender_summary> contenders) {
  grid rows{{"really ran", "requests", "sessions", "too long", "prompt tokens", "cached",
             "prefill p50", "prefill p99", "TPOT mean"}};
  const sample_summary* any = nullptr;
  for (const contender_summary& s : contenders) {
    if (s.sample) {
      any = &*s.sample;
      rows.push_back({s.name, print_count(any->requests), print_count(any->sessions),
                      print_count(any->left_out), print_count(any->input_tokens),
                      print_count(any->hit_tokens), time_text(any->prefill_s.p50),
                      time_text(any->prefill_s.p99), time_text(any->tpot_s.mean)});
    }
  }
  if (any != nullptr) {
    out += "\n";
    print_grid(out, rows);
    out += fmt::format(
        "Computed on this machine's CPU with {} in {}, beside the simulation, which does not see "
        "it.\n",
        any->model, any->precision);
  }
}

}  // namespace

void print_summary(std::string& out, std::span<const contender_summary> contenders,
                   std::span<const std::string> warnings) {
  if (!contenders.empty()) {
    print_contenders(out, contenders);
    out += "\n";
    print_requests(out, contenders);
    print_losses(out, contenders);
    print_seen(out, contenders);
    print_labels(out, contenders);
    print_reuses(out, contenders);
    print_updates(out, contenders);
    print_routing(out, contenders);
    print_measured(out, contenders);
    print_sample(out, contenders);
  }
  const char* separator = contenders.empty() ? "" : "\n";
  for (const std::string& warning : warnings) {
    out += separator + ("warning: " + warning) + "\n";
    separator = "";
  }
}

}  // namespace refrain
