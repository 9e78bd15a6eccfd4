#include "gpu/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "traces/error.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A token that may be chosen, and how likely it is beside the others; not normalised.
struct candidate {
  token_id token;
  float logit;
  double weight;
};

/// Orders a heap: the most probable on top, of equals the lower id.
bool is_below(const candidate& a, const candidate& b) {
  return a.logit != b.logit ? a.logit < b.logit : a.token > b.token;
}

double sum_of(std::span<const candidate> candidates) {
  double sum = 0;
  for (const candidate& each : candidates) {
    sum += each.weight;
  }
  return sum;
}

/// The `count` tokens of the largest logits, all for 0; their order is unspecified.
std::vector<candidate> candidates_of(std::span<const float> logits, std::int64_t count) {
  std::vector<candidate> out;
  out.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out.push_back({static_cast<token_id>(i), logits[i], 0});
  }
  if (count > 0 && count < static_cast<std::int64_t>(out.size())) {
    auto below = out.end() - count;
    std::nth_element(out.begin(), below, out.end(), is_below);
    out.erase(out.begin(), below);
  }
  return out;
}

/// Moves the fewest that together weigh `share` of all to the end and returns them.
std::span<candidate> nucleus(std::span<candidate> all, double share) {
  double wanted = share * sum_of(all);
  auto below = all.end();
  std::make_heap(all.begin(), below, is_below);
  for (double sum = 0; below != all.begin() && sum < wanted;) {
    std::pop_heap(all.begin(), below, is_below);
    --below;
    sum += below->weight;
  }
  return {below, all.end()};
}

/// The one at `share` in [0, 1) of the sum.
token_id pick(std::span<const candidate> candidates, double share) {
  double left = share * sum_of(candidates);
  token_id last{};  // rounding may leave no other
  for (const candidate& each : candidates) {
    left -= each.weight;
    last = each.weight > 0 ? each.token : last;
    if (left < 0) {
      break;
    }
  }
  return last;
}

}  // namespace

token_id greedy(std::span<const float> logits, std::string_view where) {
  std::size_t top = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == infinity) {
      throw run_error{fmt::format("{}: the logit of token {} is {}", where, i,
                                  std::isnan(logits[i]) ? "NaN" : "+infinity")};
    }
    if (logits[i] > logits[top]) {
      top = i;
    }
  }
  if (logits.empty() || logits[top] == -infinity) {
    throw run_error{fmt::format("{}: no token has a finite logit", where)};
  }
  return static_cast<token_id>(top);
}

std::vector<double> log_softmax(std::span<const float> logits, std::string_view where) {
  auto most = double{logits[static_cast<std::size_t>(greedy(logits, where))]};
  double sum = 0;
  for (float logit : logits) {
    sum += std::exp(double{logit} - most);
  }
  double shift = most + std::log(sum);
  std::vector<double> out;
  out.reserve(logits.size());
  for (float logit : logits) {
    out.push_back(double{logit} - shift);
  }
  return out;
}

double kl_divergence(std::span<const float> reference, std::span<const float> other,
                     std::string_view where) {
  REFRAIN_ASSERT(reference.size() == other.size());
  std::vector<double> p = log_softmax(reference, where);
  std::vector<double> q = log_softmax(other, where);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    double probability = std::exp(p[i]);
    if (probability > 0) {
      sum += probability * (p[i] - q[i]);
    }
  }
  return std::max(sum, 0.0);  // below 0 by rounding alone
}

void logit_comparison::add(std::span<const float> reference, std::span<const float> other,
                           std::string_view where) {
  double divergence = kl_divergence(reference, other, where);
  ++rows_;
  same_top_ += greedy(reference, where) == greedy(other, where) ? 1 : 0;
  kl_sum_ += divergence;
  kl_max_ = std::max(kl_max_, divergence);
}

token_sampler::token_sampler(const sampling_settings& settings, std::uint64_t seed)
    : settings_{settings}, seed_{seed} {
  REFRAIN_ASSERT(settings.temperature >= 0 && std::isfinite(settings.temperature));
  REFRAIN_ASSERT(settings.top_k >= 0 && settings.top_p > 0 && settings.top_p <= 1);
}

token_id token_sampler::next(std::span<const float> logits, request_id request,
                             std::uint64_t step) const {
  token_id top = greedy(logits, fmt::format("request {}, step {}", request.get(), step));
  if (settings_.temperature == 0) {
    return top;
  }
  // The order of the logits is that of the probabilities at any temperature.
  std::vector<candidate> all = candidates_of(logits, settings_.top_k);
  auto most = double{logits[static_cast<std::size_t>(top)]};
  for (candidate& each : all) {
    each.weight = std::exp((double{each.logit} - most) / settings_.temperature);
  }
  std::span<candidate> kept = all;
  if (settings_.top_p < 1) {
    kept = nucleus(kept, settings_.top_p);
  }
  // By id, so that a filter that keeps all changes nothing.
  if (!std::ranges::is_sorted(kept, {}, &candidate::token)) {
    std::ranges::sort(kept, {}, &candidate::token);
  }
  random_stream random{mix64(mix64(seed_, request.get()), step), "sampling"};
  return pick(kept, random.uniform());
}

}  // namespace refrain
