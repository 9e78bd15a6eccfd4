#include "traces/texts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "traces/error.hpp"

namespace refrain {

void text_store::add(content_id content, std::span<const float> embedding,
                     std::span<const std::uint32_t> tokens, const std::string& where) {
  if (!embedding.empty() && embedding.size() != width_) {
    throw input_error{where, "an embedding of " + std::to_string(embedding.size()) +
                                 " numbers; expected " + std::to_string(width_)};
  }
  if (!std::ranges::all_of(embedding, [](float x) { return std::isfinite(x); })) {
    throw input_error{where, "an embedding holds a number that is not finite"};
  }
  if (!embedding.empty() && std::ranges::all_of(embedding, [](float x) { return x == 0; })) {
    throw input_error{where, "an embedding is all zeros, so it has no direction"};
  }
  texts_[content] = {{embedding.begin(), embedding.end()}, {tokens.begin(), tokens.end()}};
}

std::span<const float> text_store::embedding(content_id content) const {
  auto found = texts_.find(content);
  return found == texts_.end() ? std::span<const float>{} : found->second.embedding;
}

std::span<const std::uint32_t> text_store::tokens(content_id content) const {
  auto found = texts_.find(content);
  return found == texts_.end() ? std::span<const std::uint32_t>{} : found->second.tokens;
}

double cosine_of(std::span<const float> a, std::span<const float> b) {
  if (a.empty() || b.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  REFRAIN_ASSERT(a.size() == b.size());
  double product = 0, square_a = 0, square_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double x = static_cast<double>(a[i]);
    double y = static_cast<double>(b[i]);
    product += x * y;
    square_a += x * x;
    square_b += y * y;
  }
  return product / std::sqrt(square_a * square_b);
}

double levenshtein_ratio(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  if (a.empty() || b.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (a.size() < b.size()) {
    std::swap(a, b);
  }
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t other = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({other, row[j] + 1, row[j - 1] + 1});
    }
  }
  return 1 - static_cast<double>(row.back()) / static_cast<double>(a.size());
}

}  // namespace refrain
