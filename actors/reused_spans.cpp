#include "actors/reused_spans.hpp"

#include <algorithm>

#include "traces/error.hpp"

namespace refrain {

namespace {

/// Calls use(from, to, span) for each piece of [from, to): of a span, or between them (nullptr).
template <class Use>
void for_each_piece(const reused_spans& spans, token_count from, token_count to, Use&& use) {
  token_count at = from;
  for (const reused_span& span : spans) {
    if (span.end <= at) {
      continue;
    }
    if (span.begin >= to) {
      break;
    }
    if (span.begin > at) {
      use(at, span.begin, nullptr);
      at = span.begin;
    }
    token_count end = std::min(span.end, to);
    use(at, end, &span);
    at = end;
  }
  if (at < to) {
    use(at, to, nullptr);
  }
}

/// The first place up to which `count` of the span's tokens have been computed again.
token_count place_of(const reused_span& span, std::int64_t count) {
  if (span.placement == blend_placement::head) {
    return token_count{span.begin + count};
  }
  // The n-th of m recomputed tokens among l lies at ceil(n * l / m).
  std::int64_t length = span.end - span.begin;
  return token_count{span.begin + (count * length + span.recomputed - 1) / span.recomputed};
}

}  // namespace

token_count reused_span::recomputed_before(token_count place) const {
  std::int64_t inside = std::clamp<std::int64_t>(place - begin, 0, end - begin);
  if (placement == blend_placement::head) {
    return token_count{std::min<std::int64_t>(inside, recomputed)};
  }
  return token_count{inside * recomputed / (end - begin)};
}

token_count work_between(const reused_spans& spans, token_count from, token_count to) {
  if (spans.empty() || to <= from) {
    return std::max(to - from, token_count{0});
  }
  token_count work;
  for_each_piece(spans, from, to, [&](token_count a, token_count b, const reused_span* span) {
    work += span == nullptr ? b - a : span->recomputed_before(b) - span->recomputed_before(a);
  });
  return work;
}

token_count reach(const reused_spans& spans, token_count from, token_count goal,
                  std::int64_t budget) {
  if (spans.empty()) {
    return std::min(goal, token_count{from + budget});
  }
  token_count at = from;
  for_each_piece(spans, from, goal, [&](token_count a, token_count b, const reused_span* span) {
    if (at < a || (budget == 0 && a > from)) {
      return;  // stopped before
    }
    std::int64_t before = span == nullptr ? 0 : span->recomputed_before(a).get();
    std::int64_t work = span == nullptr ? b - a : span->recomputed_before(b) - before;
    if (work <= budget) {
      at = b;
      budget -= work;
    } else {
      at = span == nullptr ? token_count{a + budget} : place_of(*span, before + budget);
      budget = 0;
    }
  });
  return at;
}

prefill_chunk chunk_of(const reused_spans& spans, token_count from, token_count to) {
  if (spans.empty()) {
    return {to - from, from};
  }
  prefill_chunk chunk;
  std::int64_t twice_places = 0;  // sum of 2 * place over what is computed
  for_each_piece(spans, from, to, [&](token_count a, token_count b, const reused_span* span) {
    if (span == nullptr) {
      chunk.new_tokens += b - a;
      twice_places += (b - a) * (a + b - 1);
      return;
    }
    std::int64_t work = span->recomputed_before(b) - span->recomputed_before(a);
    bool head = span->placement == blend_placement::head;
    twice_places += work * (head ? 2 * a + work - 1 : a + b - 1);
    chunk.new_tokens += token_count{work};
    token_count kept{b - a - work};
    chunk.rotated_tokens += kept;
    bool looks = span->placement == blend_placement::deviation && span->recomputed > 0;
    chunk.first_layer_tokens += looks ? kept : token_count{0};
  });
  REFRAIN_ASSERT(chunk.new_tokens > 0);
  std::int64_t fresh = chunk.new_tokens;
  std::int64_t cached = (twice_places / fresh - (fresh - 1)) / 2;
  chunk.cached_tokens = token_count{std::max<std::int64_t>(cached, 0)};
  chunk.other_keys = token_count{std::max<std::int64_t>(to - fresh - chunk.cached_tokens.get(), 0)};
  return chunk;
}

}  // namespace refrain
