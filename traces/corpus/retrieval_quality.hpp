// How good a search is: against judgements (recall@k, nDCG@k) and against an exact search. Sums are
// over questions that have what is asked for; the rest are counted apart.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/corpus/chunk_index.hpp"
#include "traces/corpus/corpus.hpp"

namespace refrain {

/// Of the documents judged relevant, the share among the first k found.
double recall_at(std::span<const found_document> found, std::span<const judgement> relevant,
                 std::size_t k);
/// Sum of grade / log2(1 + rank) over the first k found, by what the best order would give
/// (Järvelin and Kekäläinen, linear gain, as trec_eval has it).
double ndcg_at(std::span<const found_document> found, std::span<const judgement> relevant,
               std::size_t k);
/// Of the first k chunks of an exact search, the share that another search found too: those with a
/// score that is not below the k-th's. 1 where the exact search finds nothing.
double recall_of_exact(std::span<const neighbour> found, std::span<const neighbour> exact,
                       std::size_t k);

/// Means over a corpus' questions.
struct retrieval_quality {
  std::uint64_t judged = 0;    ///< questions with relevant documents
  std::uint64_t unjudged = 0;  ///< questions without
  std::uint64_t no_hit = 0;    ///< questions that found nothing
  double recall = 0;
  double ndcg = 0;
};

/// Judges each question's documents, `found` by question, at k.
retrieval_quality quality_at(const corpus& what,
                             const std::vector<std::vector<found_document>>& found, std::size_t k);

}  // namespace refrain
