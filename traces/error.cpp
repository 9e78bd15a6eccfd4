#include "traces/error.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace refrain {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // The beginning of a name is nearer to it than another name of that length.
  auto begun = std::ranges::find_if(candidates, [name](std::string_view candidate) {
    return name.size() >= 3 && candidate.starts_with(name);
  });
  if (begun != candidates.end()) {
    return *begun;
  }
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    std::size_t least =
        std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (least >= best_distance) {
      continue;  // a name of a thousand letters costs nothing
    }
    std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string_view> candidates) {
  std::string text = "unknown " + std::string{kind} + " \"" + std::string{name} + "\"";
  if (std::string_view near = nearest_name(name, candidates); !near.empty()) {
    return text + "; did you mean \"" + std::string{near} + "\"?";
  }
  text += "; known:";
  for (std::string_view candidate : candidates) {
    text += " " + std::string{candidate};
  }
  return text;
}

}  // namespace refrain
