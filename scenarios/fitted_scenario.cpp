// Keys that have their default's meaning in every fit are left out.
#include "scenarios/fitted_scenario.hpp"

#include <fmt/format.h>

#include "traces/quantity.hpp"

namespace refrain {

namespace {

class fragment {
 public:
  void comment(const std::string& words) { text_ += "# " + words + "\n"; }
  void table(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void word(std::string_view key, std::string_view value) {
    text_ += fmt::format("{} = \"{}\"\n", key, value);
  }
  void flag(std::string_view key, bool value) { text_ += fmt::format("{} = {}\n", key, value); }
  /// Seven digits are more than any fit is good for.
  void number(std::string_view key, double value) {
    text_ += fmt::format("{} = {:.7g}\n", key, value);
  }
  void count(std::string_view key, std::int64_t value) {
    text_ += fmt::format("{} = {}\n", key, value);
  }
  void time(std::string_view key, double seconds) {
    text_ += fmt::format("{} = \"{:.7g}s\"\n", key, seconds);
  }
  void quantiles(std::string_view key, const quantile_table& table, std::string_view unit = "") {
    if (table.empty()) {
      return;
    }
    std::string points;
    for (auto [share, value] : table.points()) {
      points +=
          fmt::format("{}p{:.7g}:{:.7g}{}", points.empty() ? "" : ",", 100 * share, value, unit);
    }
    word(fmt::format("{}_quantiles", key), points);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_arrivals(fragment& into, const fitted_workload& fitted) {
  const arrival_settings& a = fitted.settings.arrivals;
  into.comment(fmt::format("arrivals: {} (their coefficient of variation is {:.3f})",
                           fitted.arrivals_reason, fitted.gap_variation));
  switch (a.kind) {
    case arrival_kind::gamma:
      into.word("arrivals", "gamma");
      into.number("arrivals_shape", a.shape);
      break;
    case arrival_kind::on_off:
      into.word("arrivals", "on_off");
      into.number("off_sessions_per_second", a.off_per_second);
      into.time("on_time", a.on_seconds);
      into.time("off_time", a.off_seconds);
      break;
    case arrival_kind::diurnal:
      into.word("arrivals", "diurnal");
      into.number("diurnal_amplitude", a.amplitude);
      into.time("diurnal_period", a.period_seconds);
      break;
    case arrival_kind::poisson:
    case arrival_kind::replayed:
      into.word("arrivals", "poisson");
  }
  into.number("sessions_per_second", fitted.settings.sessions_per_second);
}

void add_head(fragment& into, const generator_settings& s) {
  into.comment("the head that sessions share");
  into.count("system_prompts", s.system_prompts);
  if (s.system_prompts > 0) {
    into.count("system_tokens", s.system_tokens);
    into.number("system_zipf", s.system_zipf);
    into.number("system_share", s.system_share);
  }
  into.number("rag_share", s.rag_share);
}

void add_turns(fragment& into, const fitted_workload& fitted) {
  const generator_settings& s = fitted.settings;
  into.comment(
      fmt::format("sessions: {} requests of {} continue one; single_turn_share is "
                  "calibrated on the hit rate",
                  print_count(static_cast<std::int64_t>(fitted.followups)),
                  print_count(static_cast<std::int64_t>(fitted.requests))));
  into.number("single_turn_share", s.single_turn_share);
  into.number("turns_mean", s.turns_mean);
  into.quantiles("turns", s.turns);
  into.quantiles("think_time", s.think_seconds.quantiles, "s");
  into.quantiles("history_kept", s.history_kept);
  into.flag("answers_recur", s.answers_recur);
}

void add_lengths(fragment& into, const generator_settings& s) {
  into.comment("lengths, in tokens");
  into.quantiles("question_tokens", s.question_tokens.quantiles);
  into.quantiles("single_question_tokens", s.single_question_tokens.quantiles);
  into.quantiles("followup_tokens", s.followup_tokens.quantiles);
  into.quantiles("output_tokens", s.output_tokens.quantiles);
  into.count("prompt_tokens_max", s.prompt_tokens_max);
}

}  // namespace

std::string fitted_scenario(const fitted_workload& fitted, const std::string& trace) {
  fragment into;
  into.comment("A workload that resembles " + trace + ".");
  into.comment(
      fmt::format("Endless cache, tokens of full blocks: {:.4f} in the trace, {:.4f} here.",
                  fitted.hit_rate, fitted.generated_hit_rate));
  into.comment(
      "Not fitted: reuse between sessions beyond the head, documents, correlated lengths.");
  into.table("workload");
  into.word("format", "generator");
  into.table("workload.generator");
  into.count("requests", static_cast<std::int64_t>(fitted.requests));
  add_arrivals(into, fitted);
  add_head(into, fitted.settings);
  add_turns(into, fitted);
  add_lengths(into, fitted.settings);
  into.table("kv");
  into.count("block_tokens", fitted.block_tokens);
  return into.text();
}

}  // namespace refrain
