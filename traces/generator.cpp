// Each purpose draws from a stream of its own, so that a change of one setting leaves the others'
// draws where they were. Content ids are a bijection of (kind, number): never 0, never equal for
// two kinds. A document that is drawn twice in one turn is replaced by the next less popular one.
#include "traces/generator.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "traces/random.hpp"
#include "traces/rows.hpp"

namespace refrain {

namespace {

constexpr std::int64_t piece_tokens_max = 1'000'000;
constexpr double turns_max = 10'000;
constexpr double think_seconds_max = 1e8;
constexpr std::uint32_t contents_max = 10'000'000;

content_id content_of(segment_kind kind, std::uint64_t number) {
  return content_id{mix64((static_cast<std::uint64_t>(kind) + 1) << 56 | number)};
}

/// Draws 0 .. count - 1, i with weight (i + 1)^-exponent.
class zipf {
 public:
  zipf(std::uint32_t count, double exponent) {
    double sum = 0;
    sums_.reserve(count);
    for (std::uint32_t i = 1; i <= count; ++i) {
      sums_.push_back(sum += std::pow(i, -exponent));
    }
  }

  std::uint32_t draw(random_stream& random) const {
    auto found = std::upper_bound(sums_.begin(), sums_.end(), random.uniform() * sums_.back());
    auto at = static_cast<std::uint32_t>(found - sums_.begin());
    return std::min(at, static_cast<std::uint32_t>(sums_.size() - 1));
  }

 private:
  std::vector<double> sums_;
};

token_count draw_tokens(const log_normal_settings& length, random_stream& random) {
  double tokens = random.log_normal(length.median, length.sigma);
  double bounded = std::clamp(tokens, 1.0, static_cast<double>(piece_tokens_max));
  return token_count{std::llround(bounded)};
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

void require(const log_normal_settings& value, const char* key) {
  require(value.median > 0 && value.median <= piece_tokens_max, key,
          "its median must be above 0 and at most 1e6");
  require(value.sigma >= 0 && value.sigma <= 5, key, "its sigma must be between 0 and 5");
}

void validate(const generator_settings& s) {
  require(s.sessions_per_second >= 1e-6 && s.sessions_per_second <= 1e9, "sessions_per_second",
          "must be 1e-6 to 1e9");
  require(s.sessions > 0 || s.requests > 0, "requests", "must be above 0 where sessions is 0");
  require(s.turns_mean >= 1 && s.turns_mean <= turns_max, "turns_mean", "must be 1 to 10,000");
  require(s.system_tokens >= (s.system_prompts > 0 ? 1 : 0) && s.system_tokens <= piece_tokens_max,
          "system_tokens", "must be 1 to 1e6");
  require(s.system_zipf >= 0 && s.system_zipf <= 10, "system_zipf", "must be 0 to 10");
  require(s.rag_share >= 0 && s.rag_share <= 1, "rag_share", "must be between 0 and 1");
  require(s.system_prompts <= contents_max, "system_prompts", "must be at most 1e7");
  require(s.documents <= contents_max && (s.rag_share == 0 || s.documents > 0), "documents",
          "must be at most 1e7, and above 0 where rag_share is");
  require(s.document_zipf >= 0 && s.document_zipf <= 10, "document_zipf", "must be 0 to 10");
  require(s.rag_share == 0 || s.documents_per_turn <= s.documents, "documents_per_turn",
          "must be at most documents");
  require(s.prompt_tokens_max > (s.system_prompts > 0 ? s.system_tokens.get() : 0) &&
              s.prompt_tokens_max <= 1'000'000'000,
          "prompt_tokens_max", "must be above system_tokens and at most 1e9");
  require(s.think_seconds, "think_seconds");
  require(s.document_tokens, "document_tokens");
  require(s.question_tokens, "question_tokens");
  require(s.output_tokens, "output_tokens");
}

class generator final : public source {
 public:
  generator(const generator_settings& settings, std::uint64_t seed)
      : settings_{settings},
        ledger_{{}},
        systems_{settings.system_prompts, settings.system_zipf},
        documents_{settings.documents, settings.document_zipf},
        starts_{seed, "session starts"},
        turn_counts_{seed, "turns of a session"},
        thinks_{seed, "think time"},
        system_choice_{seed, "system prompt"},
        rag_choice_{seed, "retrieving sessions"},
        document_choice_{seed, "retrieved documents"},
        questions_{seed, "question tokens"},
        outputs_{seed, "output tokens"} {
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
    history_.insert(history_.end(), now.pieces.begin(), now.pieces.end());
    out.session = session_id{sessions_ - 1};
    out.turn = static_cast<std::uint32_t>(turn_);
    out.last_turn = ++turn_ == turns_.size();
    out.arrival = start_;
    out.delay = now.think;
    out.segments = history_;
    out.input_tokens = total(history_);
    out.output_tokens = now.output_tokens;
    content_id answer = content_of(segment_kind::answer, ledger_.counts().rows_kept);
    if (!out.last_turn) {
      out.answer = answer;
      history_.push_back({answer, now.output_tokens, segment_kind::answer});
    }
    ledger_.keep(out);
    return true;
  }

 private:
  struct turn {
    std::vector<segment> pieces;  // documents and question; the first turn's system prompt too
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
    ++sessions_;
    start_ += from_seconds(starts_.exponential(1 / settings_.sessions_per_second));
    require(start_ < sim_time::max() / 2, "sessions_per_second", "makes the run exceed 146 years");
    history_.clear();
    turns_.clear();
    turn_ = 0;
    bool is_rag = rag_choice_.uniform() < settings_.rag_share;
    token_count before;  // the prompt of the turn under way, without its own pieces
    for (std::uint64_t left = draw_turns(); left > 0; --left) {
      turn now = draw_turn(is_rag);
      if (before + total(now.pieces) > settings_.prompt_tokens_max) {
        if (!turns_.empty()) {
          break;
        }
        cut_to_size(now.pieces);
      }
      before += total(now.pieces) + now.output_tokens;
      turns_.push_back(std::move(now));
    }
    return true;
  }

  std::uint64_t draw_turns() {
    double u = turn_counts_.uniform();
    double extra = settings_.turns_mean > 1
                       ? std::floor(std::log1p(-u) / std::log1p(-1 / settings_.turns_mean))
                       : 0;
    auto turns = static_cast<std::uint64_t>(std::min(1 + extra, turns_max));
    return settings_.requests > 0 ? std::min(turns, settings_.requests - ledger_.counts().rows_kept)
                                  : turns;
  }

  turn draw_turn(bool is_rag) {
    turn now;
    if (turns_.empty() && settings_.system_prompts > 0) {
      now.pieces.push_back({content_of(segment_kind::system, systems_.draw(system_choice_)),
                            settings_.system_tokens, segment_kind::system});
    }
    if (is_rag) {
      retrieve(now.pieces);
    }
    now.pieces.push_back({content_of(segment_kind::question, question_count_++),
                          draw_tokens(settings_.question_tokens, questions_),
                          segment_kind::question});
    now.output_tokens = draw_tokens(settings_.output_tokens, outputs_);
    if (!turns_.empty()) {
      double seconds =
          thinks_.log_normal(settings_.think_seconds.median, settings_.think_seconds.sigma);
      now.think = from_seconds(std::min(seconds, think_seconds_max));
    }
    return now;
  }

  void retrieve(std::vector<segment>& pieces) {
    std::vector<std::uint32_t> taken;
    while (taken.size() < settings_.documents_per_turn) {
      std::uint32_t document = documents_.draw(document_choice_);
      while (std::find(taken.begin(), taken.end(), document) != taken.end()) {
        document = (document + 1) % settings_.documents;
      }
      taken.push_back(document);
      pieces.push_back({content_of(segment_kind::document, document), document_tokens_[document],
                        segment_kind::document});
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
  zipf systems_, documents_;
  std::vector<token_count> document_tokens_;
  random_stream starts_, turn_counts_, thinks_, system_choice_, rag_choice_, document_choice_,
      questions_, outputs_;
  std::uint64_t sessions_ = 0, question_count_ = 0;
  sim_time start_{0};             // of the session under way
  std::vector<turn> turns_;       // of the session under way
  std::size_t turn_ = 0;          // the next of them
  std::vector<segment> history_;  // the last prompt and its answer
};

}  // namespace

std::unique_ptr<source> make_generator(const generator_settings& settings, std::uint64_t seed) {
  validate(settings);
  return std::make_unique<generator>(settings, seed);
}

}  // namespace refrain
