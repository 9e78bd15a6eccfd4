// One line a key; the schema has checked types and ranges, the generator checks what belongs
// together.
#include "scenarios/generator_keys.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "traces/generator.hpp"

namespace refrain {

namespace {

/// Reads the keys of one table.
class generator_reader {
 public:
  explicit generator_reader(const scenario_settings& settings) : settings_{settings} {}

  generator_settings read() const {
    generator_settings s;
    s.sessions_per_second = number("sessions_per_second");
    s.arrivals = arrivals();
    s.sessions = count<std::uint64_t>("sessions");
    s.requests = count<std::uint64_t>("requests");
    s.turns_mean = number("turns_mean");
    s.turns = quantiles("turns");
    s.single_turn_share = number("single_turn_share");
    s.think_seconds = think_time("think_time");
    s.rag_think_seconds = think_time("rag_think_time");
    s.history_kept = quantiles("history_kept");
    s.answers_recur = flag("answers_recur");
    s.tenants = count<std::uint32_t>("tenants");
    s.tenant_zipf = number("tenant_zipf");
    s.tenant_system_prompts = flag("tenant_system_prompts");
    read_contents(s);
    return s;
  }

 private:
  void read_contents(generator_settings& s) const {
    s.system_prompts = count<std::uint32_t>("system_prompts");
    s.system_tokens = token_count{count<std::int64_t>("system_tokens")};
    s.system_zipf = number("system_zipf");
    s.system_share = number("system_share");
    s.rag_share = number("rag_share");
    s.documents = count<std::uint32_t>("documents");
    s.document_tokens = length("document_tokens");
    s.document_zipf = number("document_zipf");
    s.documents_per_turn = count<std::uint32_t>("documents_per_turn");
    s.document_drift = number("document_drift");
    s.document_repeat = number("document_repeat");
    s.redraws_duplicates = text("document_duplicates") == "redraw";
    s.question_tokens = length("question_tokens");
    s.single_question_tokens.quantiles = quantiles("single_question_tokens");
    s.followup_tokens.quantiles = quantiles("followup_tokens");
    s.output_tokens = length("output_tokens");
    s.prompt_tokens_max = token_count{count<std::int64_t>("prompt_tokens_max")};
  }

  arrival_settings arrivals() const {
    arrival_settings s;
    const std::string& kind = text("arrivals");
    s.kind = kind == "gamma"      ? arrival_kind::gamma
             : kind == "on_off"   ? arrival_kind::on_off
             : kind == "diurnal"  ? arrival_kind::diurnal
             : kind == "replayed" ? arrival_kind::replayed
                                  : arrival_kind::poisson;
    s.shape = number("arrivals_shape");
    s.off_per_second = number("off_sessions_per_second");
    s.on_seconds = number("on_time");
    s.off_seconds = number("off_time");
    s.amplitude = number("diurnal_amplitude");
    s.period_seconds = number("diurnal_period");
    if (has("replay_path")) {
      s.replay = replayed();
    }
    return s;
  }

  source_opener replayed() const {
    if (!has("replay_format")) {
      throw input_error{settings_.where(key("replay_path")),
                        "needs workload.generator.replay_format, the format of that trace"};
    }
    std::string format = text("replay_format");
    std::vector<std::string_view> names;
    for (const auto& [name, _] : trace_formats()) {
      names.push_back(name);
    }
    if (!trace_formats().contains(format)) {
      throw input_error{settings_.where(key("replay_format")),
                        unknown_name("trace format", format, names)};
    }
    source_options options{.path = settings_.at(key("replay_path")).path};
    return [format, options] { return open_trace(format, options); };
  }

  static std::string key(const std::string& name) { return std::string{generator_table} + name; }
  bool has(const std::string& name) const { return settings_.has(key(name)); }
  bool flag(const std::string& name) const { return settings_.boolean(key(name)); }
  double number(const std::string& name) const { return settings_.number(key(name)); }
  const std::string& text(const std::string& name) const { return settings_.text(key(name)); }

  template <class Integer>
  Integer count(const std::string& name) const {
    return static_cast<Integer>(settings_.integer(key(name)));
  }
  quantile_table quantiles(const std::string& name) const {
    std::string full = name + "_quantiles";
    return has(full) ? parse_quantiles(text(full)) : quantile_table{};
  }
  drawn_quantity length(const std::string& name) const {
    return {.median = number(name), .sigma = number(name + "_sigma"), .quantiles = quantiles(name)};
  }
  drawn_quantity think_time(const std::string& name) const {
    bool is_exponential = text(name + "_law") == "exponential";
    std::string full = name + "_quantiles";
    return {.median = has(name) ? number(name) : 0,
            .sigma = number(name + "_sigma"),
            .law = is_exponential ? quantity_law::exponential : quantity_law::log_normal,
            .quantiles = has(full) ? parse_time_quantiles(text(full)) : quantile_table{}};
  }

  const scenario_settings& settings_;
};

}  // namespace

source_opener open_generator(const scenario_settings& settings) {
  generator_settings what = generator_reader{settings}.read();
  auto seed = static_cast<std::uint64_t>(settings.integer("seed"));
  return [what, seed] { return make_generator(what, seed); };
}

input_error of_generator(const input_error& error) {
  constexpr std::string_view prefix = "workload.";
  std::string_view text = error.what();
  std::size_t colon = text.find(": ");
  if (!text.starts_with(prefix) || colon == std::string_view::npos) {
    return error;
  }
  std::string key{text.substr(prefix.size(), colon - prefix.size())};
  return {std::string{generator_table} + key, std::string{text.substr(colon + 2)}};
}

}  // namespace refrain
