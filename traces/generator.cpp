// Each purpose draws from a stream of its own, so that a change of one setting leaves the others'
// draws where they were. Content ids are a bijection of (kind, number): never 0, never equal for
// two kinds. A document that is drawn twice in one turn is replaced by the next less popular one,
// or drawn anew.
#include "traces/generator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <optional>
#include <ratio>
#include <string>
#include <vector>

#include "traces/random.hpp"
#include "traces/rows.hpp"
#include "traces/zipf.hpp"

namespace refrain {

namespace {

constexpr std::int64_t piece_tokens_max = 1'000'000;
constexpr double turns_max = 10'000;
constexpr double think_seconds_max = 1e8;
constexpr std::uint32_t contents_max = 10'000'000;

/// Never 0, which stands for no isolation.
std::uint64_t salt_of(std::uint32_t tenant) {
  return mix64(0x74656E616E74u, tenant) | 1;
}

content_id content_of(segment_kind kind, std::uint64_t number) {
  return content_id{mix64((static_cast<std::uint64_t>(kind) + 1) << 56 | number)};
}

double draw(const drawn_quantity& quantity, random_stream& random) {
  if (!quantity.quantiles.empty()) {
    return quantity.quantiles.at(random.uniform());
  }
  if (quantity.law == quantity_law::exponential) {
    return random.exponential(quantity.median / std::numbers::ln2);
  }
  return random.log_normal(quantity.median, quantity.sigma);
}

token_count draw_tokens(const drawn_quantity& length, random_stream& random) {
  double tokens = draw(length, random);
  double bounded = std::clamp(tokens, 1.0, static_cast<double>(piece_tokens_max));
  return token_count{std::llround(bounded)};
}

/// Cuts the pieces to their first `tokens` tokens.
void keep_front(std::vector<segment>& pieces, token_count tokens) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].tokens >= tokens) {
      pieces[i].tokens = tokens;
      pieces.resize(i + (tokens > 0 ? 1 : 0));
      return;
    }
    tokens -= pieces[i].tokens;
  }
}

token_count total(const std::vector<segment>& pieces) {
  token_count sum;
  for (const segment& piece : pieces) {
    sum += piece.tokens;
  }
  return sum;
}

void require(bool holds, const char* key, const char* expected) {
  if (!holds) {
    throw input_error{std::string{"workload."} + key, expected};
  }
}

bool is_given(const drawn_quantity& value) {
  return value.median != 0 || !value.quantiles.empty();
}

void require(const drawn_quantity& value, const char* key, double most) {
  if (!value.quantiles.empty()) {
    require(value.quantiles.least() >= 0 && value.quantiles.most() <= most, key,
            "its quantiles are out of range");
    return;
  }
  require(value.median > 0 && value.median <= most, key,
          "its median must be above 0 and at most 1e6");
  require(value.sigma >= 0 && value.sigma <= 5, key, "its sigma must be between 0 and 5");
}

void require_if_given(const drawn_quantity& value, const char* key, double most) {
  if (is_given(value)) {
    require(value, key, most);
  }
}

void validate_sessions(const generator_settings& s) {
  require(s.sessions > 0 || s.requests > 0 || s.arrivals.kind == arrival_kind::replayed, "requests",
          "must be above 0 where sessions is 0");
  require(s.turns_mean >= 1 && s.turns_mean <= turns_max, "turns_mean", "must be 1 to 10,000");
  require(s.turns.empty() || (s.turns.least() >= 1 && s.turns.most() <= turns_max),
          "turns_quantiles", "must be 1 to 10,000");
  require(s.single_turn_share >= 0 && s.single_turn_share <= 1, "single_turn_share",
          "must be between 0 and 1");
  require(s.think_seconds, "think_time", think_seconds_max);
  require_if_given(s.rag_think_seconds, "rag_think_time", think_seconds_max);
  require(s.history_kept.empty() || (s.history_kept.least() >= 0 && s.history_kept.most() <= 1),
          "history_kept_quantiles", "must be between 0 and 1");
  require(s.tenants >= 1 && s.tenants <= contents_max, "tenants", "must be 1 to 1e7");
  require(s.tenant_zipf >= 0 && s.tenant_zipf <= 10, "tenant_zipf", "must be 0 to 10");
}

void validate_contents(const generator_settings& s) {
  require(s.system_tokens >= (s.system_prompts > 0 ? 1 : 0) && s.system_tokens <= piece_tokens_max,
          "system_tokens", "must be 1 to 1e6");
  require(s.system_zipf >= 0 && s.system_zipf <= 10, "system_zipf", "must be 0 to 10");
  require(s.system_share >= 0 && s.system_share <= 1, "system_share", "must be between 0 and 1");
  require(s.rag_share >= 0 && s.rag_share <= 1, "rag_share", "must be between 0 and 1");
  require(s.system_prompts <= contents_max, "system_prompts", "must be at most 1e7");
  require(s.documents <= contents_max && (s.rag_share == 0 || s.documents > 0), "documents",
          "must be at most 1e7, and above 0 where rag_share is");
  require(s.document_zipf >= 0 && s.document_zipf <= 10, "document_zipf", "must be 0 to 10");
  require(s.document_drift >= 0 && s.document_drift <= 1e9, "document_drift", "must be 0 to 1e9");
  require(s.document_repeat >= 0 && s.document_repeat <= 1, "document_repeat",
          "must be between 0 and 1");
  require(s.rag_share == 0 || s.documents_per_turn <= s.documents, "documents_per_turn",
          "must be at most documents");
  require(s.prompt_tokens_max > (s.system_prompts > 0 ? s.system_tokens.get() : 0) &&
              s.prompt_tokens_max <= content_tokens_max,
          "prompt_tokens_max", "must be above system_tokens and at most 1e7");
  constexpr auto most = static_cast<double>(piece_tokens_max);
  require(s.document_tokens, "document_tokens", most);
  require(s.question_tokens, "question_tokens", most);
  require_if_given(s.single_question_tokens, "single_question_tokens", most);
  require_if_given(s.followup_tokens, "followup_tokens", most);
  require(s.output_tokens, "output_tokens", most);
}

generator_settings validated(generator_settings s) {
  validate_sessions(s);
  validate_contents(s);
  s.arrivals.per_second = s.sessions_per_second;
  auto fill = [](drawn_quantity& value, const drawn_quantity& standard) {
    value = is_given(value) ? value : standard;
  };
  fill(s.rag_think_seconds, s.think_seconds);
  fill(s.single_question_tokens, s.question_tokens);
  fill(s.followup_tokens, s.question_tokens);
  return s;
}

class generator final : public source {
 public:
  generator(const generator_settings& settings, std::uint64_t seed)
      : settings_{validated(settings)},
        ledger_{{}},
        arrivals_{make_arrivals(settings_.arrivals, seed)},
        systems_{settings.system_prompts, settings.system_zipf},
        documents_{settings.documents, settings.document_zipf},
        tenants_{settings.tenants, settings.tenant_zipf},
        turn_counts_{seed, "turns of a session"},
        thinks_{seed, "think time"},
        system_choice_{seed, "system prompt"},
        rag_choice_{seed, "retrieving sessions"},
        document_choice_{seed, "retrieved documents"},
        questions_{seed, "question tokens"},
        outputs_{seed, "output tokens"},
        single_choice_{seed, "single turns"},
        repeat_choice_{seed, "repeated documents"},
        kept_choice_{seed, "kept history"},
        tenant_choice_{seed, "tenant"},
        share_choice_{seed, "system prompt at all"} {
    info_.format = "generator";
    info_.id_scope = "trace";
    info_.has_content = info_.has_sessions = true;
    random_stream lengths{seed, "document tokens"};
    for (std::uint32_t i = 0; i < settings.documents; ++i) {
      document_tokens_.push_back(draw_tokens(settings.document_tokens, lengths));
    }
  }

  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return ledger_.counts(); }

  bool next(request& out) override {
    if (turn_ == turns_.size() && !plan_session()) {
      return false;
    }
    const turn& now = turns_[turn_];
    clear_request(out);
    keep_front(history_, now.kept);
    for (segment& piece : history_) {
      piece.past = piece.kind != segment_kind::system;
    }
    history_.insert(history_.end(), now.pieces.begin(), now.pieces.end());
    out.session = session_id{sessions_ - 1};
    out.turn = static_cast<std::uint32_t>(turn_);
    out.last_turn = ++turn_ == turns_.size();
    out.arrival = start_;
    out.delay = now.think;
    out.salt = salt_;
    out.segments = history_;
    out.input_tokens = total(history_);
    out.output_tokens = now.output_tokens;
    content_id answer = content_of(segment_kind::answer, ledger_.counts().rows_kept);
    if (!out.last_turn && settings_.answers_recur) {
      out.answer = answer;
      history_.push_back({answer, now.output_tokens, segment_kind::answer});
    }
    ledger_.keep(out);
    return true;
  }

 private:
  struct turn {
    std::vector<segment> pieces;  // documents and question; the first turn's system prompt too
    token_count kept;             // of the previous prompt and answer
    sim_time think{0};            // after the previous answer
    token_count output_tokens;
  };

  /// Draws a whole session, since a turn must know whether it is the last; false at the end.
  bool plan_session() {
    bool all_sessions = settings_.sessions > 0 && sessions_ == settings_.sessions;
    bool all_requests = settings_.requests > 0 && ledger_.counts().rows_kept == settings_.requests;
    if (all_sessions || all_requests) {
      return false;
    }
    std::optional<sim_time> start = arrivals_->next();
    if (!start) {
      return false;
    }
    ++sessions_;
    start_ = *start;
    begin_session();
    token_count before;  // prompt and answer of the turn before
    for (std::uint64_t left = draw_turns(); left > 0; --left) {
      turn now = draw_turn();
      now.kept = turns_.empty() ? token_count{} : draw_kept(before);
      if (now.kept + total(now.pieces) > settings_.prompt_tokens_max) {
        if (!turns_.empty()) {
          break;
        }
        cut_to_size(now.pieces);
      }
      before = now.kept + total(now.pieces) +
               (settings_.answers_recur ? now.output_tokens : token_count{});
      turns_.push_back(std::move(now));
    }
    return true;
  }

  void begin_session() {
    history_.clear();
    turns_.clear();
    used_.clear();
    turn_ = 0;
    is_rag_ = rag_choice_.uniform() < settings_.rag_share;
    is_single_ =
        settings_.single_turn_share > 0 && single_choice_.uniform() < settings_.single_turn_share;
    tenant_ = settings_.tenants > 1 ? tenants_.draw(tenant_choice_) : 0;
    salt_ = settings_.tenants > 1 ? salt_of(tenant_) : 0;
    auto hours = std::chrono::duration<double, std::ratio<3600>>{start_}.count();
    double moved = std::fmod(std::floor(hours * settings_.document_drift),
                             std::max<double>(settings_.documents, 1));
    ranking_start_ = static_cast<std::uint32_t>(moved);
  }

  token_count draw_kept(token_count before) {
    if (settings_.history_kept.empty()) {
      return before;
    }
    double share = settings_.history_kept.at(kept_choice_.uniform());
    return token_count{std::llround(share * static_cast<double>(before))};
  }

  std::uint64_t draw_turns() {
    double u = turn_counts_.uniform();
    double extra = settings_.turns_mean > 1
                       ? std::floor(std::log1p(-u) / std::log1p(-1 / settings_.turns_mean))
                       : 0;
    if (!settings_.turns.empty()) {
      extra = std::round(settings_.turns.at(u)) - 1;
    }
    extra = is_single_ ? 0 : extra;
    auto turns = static_cast<std::uint64_t>(std::min(1 + extra, turns_max));
    return settings_.requests > 0 ? std::min(turns, settings_.requests - ledger_.counts().rows_kept)
                                  : turns;
  }

  turn draw_turn() {
    turn now;
    if (turns_.empty()) {
      add_system_prompt(now.pieces);
    }
    if (is_rag_) {
      retrieve(now.pieces);
    }
    const drawn_quantity& length = is_single_       ? settings_.single_question_tokens
                                   : turns_.empty() ? settings_.question_tokens
                                                    : settings_.followup_tokens;
    now.pieces.push_back({content_of(segment_kind::question, question_count_++),
                          draw_tokens(length, questions_), segment_kind::question});
    now.output_tokens = draw_tokens(settings_.output_tokens, outputs_);
    if (!turns_.empty()) {
      double seconds =
          draw(is_rag_ ? settings_.rag_think_seconds : settings_.think_seconds, thinks_);
      now.think = from_seconds(std::min(seconds, think_seconds_max));
    }
    return now;
  }

  void add_system_prompt(std::vector<segment>& pieces) {
    bool without =
        settings_.system_prompts == 0 ||
        (settings_.system_share < 1 && share_choice_.uniform() >= settings_.system_share);
    if (without) {
      return;
    }
    std::uint64_t number = systems_.draw(system_choice_);
    if (settings_.tenant_system_prompts) {
      number += std::uint64_t{tenant_} * settings_.system_prompts;
    }
    pieces.push_back(
        {content_of(segment_kind::system, number), settings_.system_tokens, segment_kind::system});
  }

  void retrieve(std::vector<segment>& pieces) {
    std::vector<std::uint32_t> taken;
    if (settings_.document_repeat > 0 && !used_.empty() &&
        repeat_choice_.uniform() < settings_.document_repeat) {
      take_used(taken);
    }
    while (taken.size() < settings_.documents_per_turn) {
      std::uint32_t document = draw_document();
      while (std::find(taken.begin(), taken.end(), document) != taken.end()) {
        document =
            settings_.redraws_duplicates ? draw_document() : (document + 1) % settings_.documents;
      }
      taken.push_back(document);
    }
    for (std::uint32_t document : taken) {
      pieces.push_back({content_of(segment_kind::document, document), document_tokens_[document],
                        segment_kind::document});
      if (settings_.document_repeat > 0 &&
          std::find(used_.begin(), used_.end(), document) == used_.end()) {
        used_.push_back(document);
      }
    }
  }

  std::uint32_t draw_document() {
    return (documents_.draw(document_choice_) + ranking_start_) % settings_.documents;
  }

  /// As many of the session's documents as a turn takes, any of them, none twice.
  void take_used(std::vector<std::uint32_t>& taken) {
    std::vector<std::uint32_t> left = used_;
    while (!left.empty() && taken.size() < settings_.documents_per_turn) {
      std::size_t at = repeat_choice_.below(left.size());
      taken.push_back(left[at]);
      left[at] = left.back();
      left.pop_back();
    }
  }

  void cut_to_size(std::vector<segment>& pieces) const {
    segment question = pieces.back();
    pieces.pop_back();
    while (!pieces.empty() && pieces.back().kind == segment_kind::document &&
           total(pieces) + question.tokens > settings_.prompt_tokens_max) {
      pieces.pop_back();
    }
    question.tokens = std::min(question.tokens, settings_.prompt_tokens_max - total(pieces));
    pieces.push_back(question);
  }

  generator_settings settings_;
  trace_info info_;
  row_ledger ledger_;
  std::unique_ptr<arrival_process> arrivals_;
  zipf systems_, documents_, tenants_;
  std::vector<token_count> document_tokens_;
  random_stream turn_counts_, thinks_, system_choice_, rag_choice_, document_choice_, questions_,
      outputs_, single_choice_, repeat_choice_, kept_choice_, tenant_choice_, share_choice_;
  std::uint64_t sessions_ = 0, question_count_ = 0;
  sim_time start_{0};  // of the session under way
  bool is_rag_ = false, is_single_ = false;
  std::uint32_t tenant_ = 0;
  std::uint64_t salt_ = 0;
  std::uint32_t ranking_start_ = 0;  // the most popular document now
  std::vector<std::uint32_t> used_;  // documents of the session under way, where they may repeat
  std::vector<turn> turns_;          // of the session under way
  std::size_t turn_ = 0;             // the next of them
  std::vector<segment> history_;     // the last prompt and its answer
};

}  // namespace

std::unique_ptr<source> make_generator(const generator_settings& settings, std::uint64_t seed) {
  return std::make_unique<generator>(settings, seed);
}

}  // namespace refrain
