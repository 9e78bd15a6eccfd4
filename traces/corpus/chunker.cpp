// Each rule only says where the next chunk ends; cut_text walks. What a rule looks at lies within
// two spans, so ten million characters on one line cost no more than as many on many.
#include "traces/corpus/chunker.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {

namespace {

/// The last cut at or before `at` that splits no character, unless that were `begin`.
std::size_t cut_near(std::string_view text, std::size_t begin, std::size_t at) {
  std::size_t start = character_start(text, at);
  return start > begin ? start : std::min(at, text.size());
}

class fixed_rule {
 public:
  explicit fixed_rule(std::size_t span) : span_{span} {}

  std::size_t end_of(std::string_view text, std::size_t begin) const {
    return cut_near(text, begin, begin + span_);
  }

 private:
  std::size_t span_;
};

/// One table of random numbers for all: chunks of equal text are equal everywhere.
constexpr std::array<std::uint64_t, 256> make_gear() {
  std::array<std::uint64_t, 256> gear{};
  for (std::size_t i = 0; i < gear.size(); ++i) {
    gear[i] = mix64(0x67656172u, i);
  }
  return gear;
}

class content_rule {
 public:
  explicit content_rule(std::size_t span)
      : least_{std::max<std::size_t>(span / 4, 1)}, span_{span}, most_{2 * span} {
    // Below the span a cut is four times as rare as one in a span, above it four times as frequent.
    int bits = static_cast<int>(std::bit_width(span)) - 1;
    rare_ = mask_of(bits + 2);
    frequent_ = mask_of(std::max(bits - 2, 0));
  }

  std::size_t end_of(std::string_view text, std::size_t begin) const {
    static constexpr std::array<std::uint64_t, 256> gear = make_gear();
    std::size_t last = std::min(begin + most_, text.size());
    std::size_t middle = std::min(begin + span_, last);
    std::uint64_t hash = 0;
    for (std::size_t at = begin + std::min(least_, last - begin); at < last; ++at) {
      hash = (hash << 1) + gear[static_cast<unsigned char>(text[at])];
      if ((hash & (at < middle ? rare_ : frequent_)) == 0 && at + 1 < text.size()) {
        return whole_characters(text, at + 1);
      }
    }
    return last == text.size() ? last : cut_near(text, begin, last);
  }

 private:
  /// The upper bits, which depend on the last 64 bytes.
  static std::uint64_t mask_of(int bits) {
    return bits == 0 ? 0 : ~std::uint64_t{0} << (64 - std::min(bits, 64));
  }

  static std::size_t whole_characters(std::string_view text, std::size_t at) {
    constexpr std::size_t more_max = 3;
    std::size_t end = at;
    while (end < text.size() && end - at < more_max && continues_character(text[end])) {
      ++end;
    }
    return end;
  }

  std::size_t least_, span_, most_;
  std::uint64_t rare_ = 0, frequent_ = 0;
};

/// Walks from line to line once and keeps where sections begin.
class heading_rule {
 public:
  heading_rule(std::string_view text, std::size_t span)
      : span_{span}, least_{std::max<std::size_t>(span / 8, 1)} {
    std::string_view fence;
    for (std::size_t at = 0; at < text.size(); at = line_end(text, at)) {
      std::string_view line = text.substr(at, line_end(text, at) - at);
      if (std::string_view mark = fence_of(line); !mark.empty()) {
        bool closes = !fence.empty() && mark[0] == fence[0] && mark.size() >= fence.size();
        fence = fence.empty() ? mark : closes ? std::string_view{} : fence;
      } else if (fence.empty() && at > 0 && is_heading(line)) {
        sections_.push_back(at);
      }
    }
    sections_.push_back(text.size());
  }

  std::size_t end_of(std::string_view text, std::size_t begin) const {
    auto next = std::ranges::lower_bound(sections_, std::min(begin + least_, text.size()));
    std::size_t section = next == sections_.end() ? text.size() : *next;
    if (section - begin <= span_) {
      return section;
    }
    // A short section before a long one keeps to itself rather than being cut off in the middle.
    auto own = std::ranges::upper_bound(sections_, begin);
    if (own != sections_.end() && *own < begin + span_) {
      return *own;
    }
    std::string_view room = text.substr(begin, span_);
    for (std::string_view mark : {std::string_view{"\n\n"}, std::string_view{"\n"}}) {
      std::size_t found = room.rfind(mark);
      if (found != std::string_view::npos) {
        return begin + found + mark.size();
      }
    }
    return cut_near(text, begin, begin + span_);
  }

 private:
  static std::size_t line_end(std::string_view text, std::size_t at) {
    std::size_t found = text.find('\n', at);
    return found == std::string_view::npos ? text.size() : found + 1;
  }

  static std::size_t indent_of(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
  }

  /// The backticks or tildes that open or close a fenced block; empty for other lines.
  static std::string_view fence_of(std::string_view line) {
    std::size_t at = indent_of(line);
    if (at > 3 || at == line.size() || (line[at] != '`' && line[at] != '~')) {
      return {};
    }
    std::size_t end = std::min(line.find_first_not_of(line[at], at), line.size());
    return end - at >= 3 ? line.substr(at, end - at) : std::string_view{};
  }

  static bool is_heading(std::string_view line) {
    std::size_t at = indent_of(line);
    std::size_t end = std::min(line.find_first_not_of('#', at), line.size());
    bool marked = at <= 3 && end > at && end - at <= 6;
    return marked && (end == line.size() || line[end] == ' ' || line[end] == '\t' ||
                      line[end] == '\n' || line[end] == '\r');
  }

  std::size_t span_, least_;
  std::vector<std::size_t> sections_;
};

template <class Rule>
std::vector<text_chunk> walk(std::string_view text, const Rule& rule) {
  std::vector<text_chunk> chunks;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = rule.end_of(text, begin);
    REFRAIN_ASSERT(end > begin && end <= text.size());
    chunks.push_back({begin, end - begin});
    begin = end;
  }
  return chunks;
}

}  // namespace

std::vector<text_chunk> cut_text(std::string_view text, const chunk_settings& settings) {
  REFRAIN_ASSERT(settings.span_tokens >= 1);
  std::size_t span = static_cast<std::size_t>(settings.span_tokens.get()) * bytes_per_token;
  switch (settings.rule) {
    case chunk_rule::fixed:
      return walk(text, fixed_rule{span});
    case chunk_rule::heading:
      return walk(text, heading_rule{text, span});
    case chunk_rule::content:
      return walk(text, content_rule{span});
  }
  return {};
}

}  // namespace refrain
