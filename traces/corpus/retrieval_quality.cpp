#include "traces/corpus/retrieval_quality.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "traces/error.hpp"

namespace refrain {

namespace {

double gain_at(std::size_t rank, std::int32_t grade) {
  return grade / std::log2(static_cast<double>(rank) + 2);
}

}  // namespace

double recall_at(std::span<const found_document> found, std::span<const judgement> relevant,
                 std::size_t k) {
  auto first = found.first(std::min(k, found.size()));
  auto hits = std::ranges::count_if(relevant, [&](const judgement& each) {
    return std::ranges::find(first, each.document, &found_document::document) != first.end();
  });
  return relevant.empty() ? 0 : static_cast<double>(hits) / static_cast<double>(relevant.size());
}

double ndcg_at(std::span<const found_document> found, std::span<const judgement> relevant,
               std::size_t k) {
  double gain = 0;
  for (std::size_t rank = 0; rank < std::min(k, found.size()); ++rank) {
    auto judged = std::ranges::find(relevant, found[rank].document, &judgement::document);
    gain += judged == relevant.end() ? 0 : gain_at(rank, judged->grade);
  }
  std::vector<std::int32_t> grades;
  for (const judgement& each : relevant) {
    grades.push_back(each.grade);
  }
  std::ranges::sort(grades, std::greater{});
  double best = 0;
  for (std::size_t rank = 0; rank < std::min(k, grades.size()); ++rank) {
    best += gain_at(rank, grades[rank]);
  }
  return best > 0 ? gain / best : 0;
}

double recall_of_exact(std::span<const neighbour> found, std::span<const neighbour> exact,
                       std::size_t k) {
  std::size_t wanted = std::min(k, exact.size());
  if (wanted == 0) {
    return 1;
  }
  float least = exact[wanted - 1].score;
  auto first = found.first(std::min(wanted, found.size()));
  auto good =
      std::ranges::count_if(first, [least](const neighbour& n) { return n.score >= least; });
  return static_cast<double>(good) / static_cast<double>(wanted);
}

retrieval_quality quality_at(const corpus& what,
                             const std::vector<std::vector<found_document>>& found, std::size_t k) {
  REFRAIN_ASSERT(found.size() == what.questions.size());
  retrieval_quality sum;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<judgement>& relevant = what.questions[i].relevant;
    sum.no_hit += found[i].empty();
    if (relevant.empty()) {
      ++sum.unjudged;
      continue;
    }
    ++sum.judged;
    sum.recall += recall_at(found[i], relevant, k);
    sum.ndcg += ndcg_at(found[i], relevant, k);
  }
  double count = static_cast<double>(std::max<std::uint64_t>(sum.judged, 1));
  sum.recall /= count;
  sum.ndcg /= count;
  return sum;
}

}  // namespace refrain
