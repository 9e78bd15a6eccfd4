#include "traces/corpus/questions.hpp"

#include <algorithm>

#include "traces/arrivals.hpp"
#include "traces/corpus/fingerprint.hpp"
#include "traces/corpus/text.hpp"
#include "traces/random.hpp"
#include "traces/rows.hpp"
#include "traces/zipf.hpp"

namespace refrain {

namespace {

constexpr std::size_t made_words = 10;

std::vector<std::size_t> askable(const corpus& what) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < what.questions.size(); ++i) {
    if (!what.questions[i].text.empty()) {
      places.push_back(i);
    }
  }
  REFRAIN_ASSERT(!places.empty());
  return places;
}

class question_source final : public source {
 public:
  question_source(std::shared_ptr<const corpus> what, const question_settings& settings,
                  std::uint64_t seed)
      : what_{std::move(what)},
        settings_{settings},
        places_{askable(*what_)},
        ledger_{{}},
        arrivals_{make_arrivals({.per_second = settings.per_second}, seed)},
        popularity_{static_cast<std::uint32_t>(places_.size()), settings.zipf},
        choice_{seed, "questions"} {
    info_.format = "questions";
    info_.id_scope = "trace";
    info_.has_content = true;
    info_.words = what_->words;
  }

  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return ledger_.counts(); }

  bool next(request& out) override {
    if (ledger_.counts().rows_kept == settings_.requests) {
      return false;
    }
    const corpus_question& question = what_->questions[places_[popularity_.draw(choice_)]];
    clear_request(out);
    out.arrival = *arrivals_->next();
    if (settings_.system_tokens > 0) {
      content_id system{mix64(0x73797374656Du)};
      out.segments.push_back({system, settings_.system_tokens, segment_kind::system});
    }
    content_id content = content_of_question(question);
    out.segments.push_back({content, count_tokens(what_->words.get(), content, question.text),
                            segment_kind::question});
    for (const segment& piece : out.segments) {
      out.input_tokens += piece.tokens;
    }
    out.output_tokens = settings_.output_tokens;
    ledger_.keep(out);
    out.session = session_id{out.id.get()};
    return true;
  }

 private:
  std::shared_ptr<const corpus> what_;
  question_settings settings_;
  std::vector<std::size_t> places_;
  trace_info info_;
  row_ledger ledger_;
  std::unique_ptr<arrival_process> arrivals_;
  zipf popularity_;
  random_stream choice_;
};

}  // namespace

content_id content_of_question(const corpus_question& question) {
  return fingerprint_of(question.text).content();
}

std::unique_ptr<source> make_question_source(std::shared_ptr<const corpus> what,
                                             const question_settings& settings,
                                             std::uint64_t seed) {
  return std::make_unique<question_source>(std::move(what), settings, seed);
}

void make_questions(corpus& what, std::size_t count, std::uint64_t seed) {
  random_stream choice{seed, "made questions"};
  std::vector<std::vector<std::string>> words;
  std::vector<std::uint32_t> with_words;
  for (std::size_t i = 0; i < what.documents.size(); ++i) {
    words.push_back(words_of(what.documents[i].text));
    if (!words.back().empty()) {
      with_words.push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (with_words.empty()) {
    throw input_error{what.source, "no document has a word to make questions of"};
  }
  std::size_t first = what.questions.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t document = with_words[choice.below(with_words.size())];
    const std::vector<std::string>& from = words[document];
    std::size_t begin = choice.below(from.size() - std::min(from.size(), made_words) + 1);
    std::string text;
    for (std::size_t at = begin; at < std::min(begin + made_words, from.size()); ++at) {
      text += (text.empty() ? "" : " ") + from[at];
    }
    what.questions.push_back({"made " + std::to_string(first + i), text + "?", {{document, 1}}});
  }
}

}  // namespace refrain
