#include "traces/corpus/variants.hpp"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>

#include "traces/arrivals.hpp"
#include "traces/corpus/fingerprint.hpp"
#include "traces/corpus/planted_edits.hpp"
#include "traces/corpus/text.hpp"
#include "traces/corpus/vector_index.hpp"
#include "traces/random.hpp"
#include "traces/rows.hpp"

namespace refrain {

namespace {

/// The texts as they stand, in the corpus' order, questions before documents. Of texts that differ
/// in case, marks and spaces only, which is no difference in what they say, the first.
std::vector<std::string> originals_of(const corpus& what, const variant_settings& settings) {
  std::vector<std::string> found;
  absl::flat_hash_set<std::vector<std::string>> known;
  auto add = [&](const std::string& text) {
    bool enough = settings.originals > 0 && found.size() >= settings.originals;
    std::vector<std::string> words = words_of(text);
    if (!words.empty() && !enough && known.insert(std::move(words)).second) {
      found.push_back(text);
    }
  };
  if (settings.texts != variant_texts::documents) {
    std::ranges::for_each(what.questions, add, &corpus_question::text);
  }
  if (settings.texts != variant_texts::questions) {
    std::ranges::for_each(what.documents, add, &corpus_document::text);
  }
  if (found.empty()) {
    throw input_error{
        what.source,
        "has no " +
            std::string{settings.texts == variant_texts::questions ? "questions" : "documents"} +
            " with words"};
  }
  return found;
}

void shuffle(std::span<planted_text> texts, random_stream& choice) {
  for (std::size_t left = texts.size(); left > 1; --left) {
    std::swap(texts[left - 1], texts[choice.below(left)]);
  }
}

/// Words and marks as they are written, by a hash of each.
std::vector<std::uint32_t> tokens_of(std::string_view text) {
  auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  auto is_of_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 128;
  };
  std::vector<std::uint32_t> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (is_of_word(text[at]) && end < text.size() && is_of_word(text[end])) {
      ++end;
    }
    if (!is_space(text[at])) {
      tokens.push_back(static_cast<std::uint32_t>(fingerprint_of(text.substr(at, end - at)).low));
    }
    at = end;
  }
  return tokens;
}

class planted_table final : public text_table {
 public:
  planted_table(const std::vector<planted_text>& planted, const embedder& texts)
      : width_{texts.width()} {
    auto index = make_exact_index(width_);
    for (const planted_text& each : planted) {
      auto place = static_cast<std::uint32_t>(texts_.size());
      places_.emplace(each.content, place);
      known_text& text =
          texts_.emplace_back(known_text{each, texts.of(each.text), tokens_of(each.text), {}});
      if (std::ranges::all_of(text.embedding, [](float x) { return x == 0; })) {
        text.embedding.clear();
      } else {
        index->add(place, text.embedding);
      }
    }
    for (known_text& text : texts_) {
      text.near = near(text, *index);
    }
  }

  std::size_t width() const override { return width_; }
  std::span<const float> embedding(content_id content) const override {
    const known_text* text = find(content);
    return text == nullptr ? std::span<const float>{} : text->embedding;
  }
  std::span<const std::uint32_t> tokens(content_id content) const override {
    const known_text* text = find(content);
    return text == nullptr ? std::span<const std::uint32_t>{} : text->tokens;
  }
  std::optional<std::vector<content_id>> candidates(content_id content) const override {
    const known_text* text = find(content);
    return text == nullptr ? std::vector<content_id>{} : text->near;
  }
  stand_in judge(content_id wanted, content_id other) const override {
    const known_text* a = find(wanted);
    const known_text* b = find(other);
    bool known = a != nullptr && b != nullptr;
    return known ? refrain::judge(a->what, b->what) : stand_in::unjudged;
  }

 private:
  static constexpr std::size_t near_max = 32;
  struct known_text {
    planted_text what;
    std::vector<float> embedding;
    std::vector<std::uint32_t> tokens;
    std::vector<content_id> near;  // nearest first
  };

  // A text without embedding has no neighbours.
  std::vector<content_id> near(const known_text& text, const vector_index& index) const {
    constexpr float any_score = -2;
    std::vector<content_id> found;
    if (text.embedding.empty()) {
      return found;
    }
    for (const neighbour& each : index.search(text.embedding, near_max + 1, any_score)) {
      content_id content = texts_[each.id].what.content;
      if (content != text.what.content && found.size() < near_max) {
        found.push_back(content);
      }
    }
    return found;
  }
  const known_text* find(content_id content) const {
    auto found = places_.find(content);
    return found == places_.end() ? nullptr : &texts_[found->second];
  }

  std::size_t width_;
  std::vector<known_text> texts_;
  absl::flat_hash_map<content_id, std::uint32_t> places_;
};

class variant_source final : public source {
 public:
  variant_source(std::shared_ptr<const std::vector<planted_text>> planted,
                 std::shared_ptr<const text_table> table, const variant_settings& settings,
                 std::uint64_t seed)
      : planted_{std::move(planted)},
        settings_{settings},
        ledger_{{}},
        arrivals_{make_arrivals({.per_second = settings.per_second}, seed)} {
    info_.format = "variants";
    info_.id_scope = "trace";
    info_.has_content = true;
    info_.has_truth = true;
    info_.words = settings.words;
    info_.texts = std::move(table);
  }

  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return ledger_.counts(); }

  bool next(request& out) override {
    if (ledger_.counts().rows_kept == planted_->size()) {
      return false;
    }
    const planted_text& text = (*planted_)[ledger_.counts().rows_kept];
    clear_request(out);
    out.arrival = *arrivals_->next();
    if (settings_.system_tokens > 0) {
      content_id system{mix64(0x73797374656Du)};
      out.segments.push_back({system, settings_.system_tokens, segment_kind::system});
    }
    out.segments.push_back({text.content,
                            count_tokens(settings_.words.get(), text.content, text.text),
                            segment_kind::document});
    for (const segment& piece : out.segments) {
      out.input_tokens += piece.tokens;
    }
    out.output_tokens = settings_.output_tokens;
    out.planted = text.edit;
    ledger_.keep(out);
    out.session = session_id{out.id.get()};
    return true;
  }

 private:
  std::shared_ptr<const std::vector<planted_text>> planted_;
  variant_settings settings_;
  trace_info info_;
  row_ledger ledger_;
  std::unique_ptr<arrival_process> arrivals_;
};

}  // namespace

std::vector<planted_text> plant_variants(const corpus& what, const variant_settings& settings,
                                         std::uint64_t seed) {
  random_stream harmless{seed, "harmless edits"}, numbers{seed, "other numbers"};
  random_stream negations{seed, "negations"}, order{seed, "order of variants"};
  std::vector<planted_text> planted;
  absl::flat_hash_set<content_id> known;
  auto add = [&](std::optional<std::string> text, std::uint32_t original, planted_edit edit) {
    if (text) {
      content_id content = fingerprint_of(*text).content();
      if (known.insert(content).second) {
        planted.push_back({std::move(*text), content, original, edit});
      }
    }
  };
  std::vector<std::string> originals = originals_of(what, settings);
  for (std::uint32_t i = 0; i < originals.size(); ++i) {
    add(originals[i], i, planted_edit::none);
  }
  std::size_t as_they_are = planted.size();
  for (std::uint32_t i = 0; i < originals.size(); ++i) {
    add(edited_harmlessly(originals[i], harmless), i, planted_edit::harmless);
    add(with_other_number(originals[i], numbers), i, planted_edit::number);
    add(negated(originals[i], negations), i, planted_edit::negation);
  }
  shuffle(std::span{planted}.subspan(as_they_are), order);
  return planted;
}

// Each original has at most one variant of a kind, so two different ones differ by all they hold.
stand_in judge(const planted_text& wanted, const planted_text& other) {
  auto changes = [](const planted_text& text) { return text.edit > planted_edit::harmless; };
  if (wanted.original != other.original) {
    return stand_in::other;
  }
  if (wanted.edit == other.edit || (!changes(wanted) && !changes(other))) {
    return stand_in::right;
  }
  planted_edit edit = changes(wanted) ? wanted.edit : other.edit;
  return edit == planted_edit::number ? stand_in::number : stand_in::negation;
}

std::shared_ptr<const text_table> make_planted_table(const std::vector<planted_text>& planted,
                                                     const embedder& texts) {
  return std::make_shared<planted_table>(planted, texts);
}

std::unique_ptr<source> make_variant_source(
    std::shared_ptr<const std::vector<planted_text>> planted,
    std::shared_ptr<const text_table> table, const variant_settings& settings, std::uint64_t seed) {
  return std::make_unique<variant_source>(std::move(planted), std::move(table), settings, seed);
}

}  // namespace refrain
