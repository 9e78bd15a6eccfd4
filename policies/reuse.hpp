// Reuse: how much of what is cached a request takes. One object of a policy composes prompts for a
// whole contender (in which order documents stand, which version is looked up, what text is alike
// enough); each executor has one more, which is asked when a request enters the batch and again
// when it resumes after preemption. Both see counts and numbers only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "policies/registry.hpp"
#include "traces/integers.hpp"
#include "traces/request.hpp"

namespace refrain {

/// What could be reused: the leading run of the prompt that is resident.
struct reuse_offer {
  token_count input_tokens;
  std::int64_t leading_blocks = 0;  ///< resident blocks before the first gap
  token_count leading_tokens;       ///< their tokens
};

/// What reused KV is worth: computed behind this very prefix, or of this text behind another one
/// and partly recomputed, or of other text.
enum class reuse_label : std::uint8_t { exact, blended, approximate };

/// A chunk behind the leading run whose KV is there.
struct chunk_offer {
  token_count input_tokens;                  ///< of the prompt
  token_count tokens;                        ///< of the chunk
  token_count resident;                      ///< leading tokens of it that are there; at least 1
  reuse_label label = reuse_label::blended;  ///< approximate: of other text
};

/// Which of a reused chunk's tokens are computed again.
enum class blend_placement : std::uint8_t {
  deviation,  ///< those that differ most: spread, and the first layer of the whole chunk finds them
  spread,     ///< evenly
  head        ///< the first ones
};

/// How a chunk is taken.
struct chunk_choice {
  token_count taken;       ///< leading tokens, at most those resident
  token_count recomputed;  ///< of these
  blend_placement placement = blend_placement::deviation;
};

/// A chunk of a document whose cached KV may be of another version than the prompt's.
struct version_query {
  content_id document;
  std::uint32_t current = 0;  ///< that the prompt quotes
  sim_time now{0};
  std::uint32_t chunk = 0;  ///< of the document
};

/// What a request would reuse in all.
struct reuse_total {
  token_count input_tokens;
  token_count exact;
  token_count blended;
  token_count approximate;
};

/// What a policy needs of a prompt and of its workload.
struct reuse_needs {
  std::uint8_t chunk_kinds = 0;  ///< kinds of segments reused wherever they stand: bits, see keys
  bool orders = false;           ///< it puts documents into an order of its own; needs some
  bool versions = false;         ///< it is asked under which version a document is looked up
  bool neighbours = false;       ///< it reuses the KV of similar text
  bool edit_distances = false;   ///< likeness by edits is of use to it
};

/// How alike two texts are.
struct text_likeness {
  double cosine = 0;         ///< of their embeddings; nan where there are none
  double levenshtein = 0;    ///< 1 - edit distance / longer length, in tokens; nan likewise
  bool same_tokens = false;  ///< both are known, and equal
};

/// Interface of every reuse policy.
class reuse {
 public:
  virtual ~reuse() = default;
  /// Whether computed blocks become findable by other requests at all.
  virtual bool shares() const = 0;
  /// How many of the leading blocks to take, at most offer.leading_blocks.
  virtual std::int64_t plan(const reuse_offer& offer) = 0;
  /// How to take a chunk that is no part of the leading run; nothing: it is computed.
  virtual std::optional<chunk_choice> blend(const chunk_offer& /*offer*/) { return std::nullopt; }
  /// Whether that much is worth taking what is not exact.
  virtual bool is_worth(const reuse_total& /*total*/) { return true; }

  /// Composing (needs.orders): puts the documents that stand side by side into the order in which
  /// they are sent. `before` names all that precedes them.
  virtual void order(std::span<segment> /*documents*/, std::uint64_t /*before*/) {}
  /// Composing (needs.versions): the version of which cached KV is taken; nothing: none is.
  virtual std::optional<std::uint32_t> version_of(const version_query& query) {
    return query.current;
  }
  /// Composing (needs.neighbours): whether KV of the one text may stand for the other.
  virtual bool accepts(const text_likeness& /*likeness*/) const { return false; }
};

/// A registered reuse policy.
struct reuse_entry {
  static constexpr std::string_view kind = "reuse";

  policy_info info;
  std::function<std::unique_ptr<reuse>(const parameters&)> make;
  /// What it needs with these parameters; null: nothing but what every policy has.
  reuse_needs (*needs)(const parameters&) = nullptr;
};

/// What a policy of this name needs.
inline reuse_needs needs_of_reuse(std::string_view name, const parameters& values) {
  const reuse_entry& entry = registry<reuse_entry>::find(name, "policies.reuse");
  return entry.needs == nullptr ? reuse_needs{} : entry.needs(values);
}

}  // namespace refrain
