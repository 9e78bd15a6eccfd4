// Makes prompts of requests: in which order documents stand, how the text is cut into blocks and
// under which keys these are found. One for a contender; it remembers what its reuse policy wants
// to know of earlier prompts. Plain object: no time, no messages.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <vector>

#include "actors/messages.hpp"
#include "actors/plan.hpp"
#include "policies/reuse.hpp"

namespace refrain {

class composer {
 public:
  /// `texts` where the policy needs them, `words` where tokens are computed and texts have some.
  composer(const contender_plan& plan, std::shared_ptr<const text_table> texts,
           std::shared_ptr<const token_book> words = nullptr);

  /// The prompt of a request that is sent at `now`. Changes the order of its segments where the
  /// policy has one of its own; `seen`, by segment, goes along.
  prompt compose(request& row, std::vector<seen_mark> seen, sim_time now);
  /// The same of a request whose documents have been found meanwhile: fills in keys, layout and
  /// marks of a prompt that there is already.
  /// Where the corpus changes, `knowledge` knows the chunks as they were.
  void compose(request& row, std::vector<seen_mark> seen, sim_time now, prompt& into,
               const living_corpus* knowledge = nullptr);

 private:
  void order_documents(request& row, std::vector<seen_mark>& seen);
  void restore_history(request& row);
  void cut_evenly(const request& row, prompt& into) const;
  void name_tokens(const request& row, prompt& into) const;
  void check_versions(const request& row, sim_time now, prompt_layout& layout);
  void find_neighbours(const request& row, prompt_layout& layout);
  void add_older(const request& row, const living_corpus& knowledge, prompt_layout& layout) const;
  text_likeness likeness_of(content_id a, content_id b) const;
  void add_donor(const segment& other, token_count tokens, std::uint64_t salt, chunk_donor donor,
                 chunk_place& place, prompt_layout& layout) const;

  static constexpr std::size_t donors_max = 8;
  struct known_text {
    segment piece;
    token_count tokens;
  };
  struct known_texts {
    std::vector<known_text> texts;  // in order of their first appearance
    absl::flat_hash_map<content_id, std::size_t> place_of;
  };

  const contender_plan& plan_;
  std::shared_ptr<const text_table> texts_;
  std::shared_ptr<const token_book> words_;
  reuse_needs needs_;
  bool takes_notes_;
  std::unique_ptr<reuse> policy_;
  absl::flat_hash_map<session_id, std::vector<segment>> sent_;  // last prompts, if reordered
  absl::flat_hash_map<std::uint64_t, known_texts> known_;       // by salt, if neighbours count
};

}  // namespace refrain
