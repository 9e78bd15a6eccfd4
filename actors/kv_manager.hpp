// The KV of one executor: a pool of blocks shared by running requests and cached blocks. A block is
// private (of one running request, or left behind by one), or findable under a key once the
// iteration that filled it has ended; findable and unused is cached, and evictable. An allocation
// takes a block never used, then the private block left longest, then the eviction policy's victim:
// memory that nobody can find goes before memory that somebody may.
//
// A request's shared blocks stay cached when it ends; its private ones (outputs, duplicates of what
// another request is computing at the same time) are left, oldest freed first. A preempted request
// finds again what of both is still there.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/reused_spans.hpp"
#include "gpu/block_pool.hpp"
#include "policies/admission.hpp"
#include "policies/cache.hpp"
#include "policies/eviction.hpp"
#include "policies/recompute.hpp"
#include "policies/reuse.hpp"
#include "traces/keys.hpp"

namespace refrain {

/// No physical block.
inline constexpr block_id no_block{UINT32_MAX};

/// How an executor's KV memory is laid out and governed.
struct kv_settings {
  std::int64_t blocks = 0;    ///< capacity of the pool
  token_count block_tokens;   ///< tokens in a block
  std::uint32_t slots = 0;    ///< findable blocks there can ever be at once, at most
  eviction_needs needs;       ///< of the eviction policy
  bool tell_evicted = false;  ///< collect what is evicted in kv_news
  bool tell_filled = false;   ///< collect what becomes findable
  bool tell_reused = false;   ///< collect what is found again
  recompute_model recompute;  ///< what the eviction policy is told of costs (needs.costs)
  bool chunks = false;        ///< prompts have chunks that are reused wherever they stand
};

/// What there is of one block of a request's chain.
enum class block_state : std::uint8_t {
  findable,  ///< it is there
  pending,   ///< another request is computing or loading it
  absent,    ///< it has a key, and nobody has it here
  unshared,  ///< it has a key and is kept from others: no reuse, or refused admission
  unnamed    ///< it has no key
};

/// A block and the one before it in its chain; the first of a chain stands before itself.
struct chained_key {
  block_key key;
  block_key parent;
};

/// What happened to findable blocks since it was last read, where it is collected.
struct kv_news {
  std::vector<block_key> evicted;
  std::vector<chained_key> filled;
  std::vector<chained_key> reused;
  std::vector<block_key> withdrawn;  ///< became private to the only request that used it

  void clear() {
    evicted.clear();
    filled.clear();
    reused.clear();
    withdrawn.clear();
  }
};

/// One block of a request.
struct held_block {
  block_id block;
  slot_id slot = no_slot;  ///< where it is findable; no_slot for a private block
  bool found = false;  ///< it was there before this request: not to be written beyond the prompt
};

/// The blocks of one request in an executor.
struct sequence {
  request_id id;
  session_id session;
  token_count input_tokens;
  token_count output_tokens;
  std::vector<block_key> keys;
  bool short_last_block = false;
  std::vector<held_block> blocks;  ///< in use, first block first
  std::size_t filled = 0;          ///< leading blocks that an ended iteration has filled
  std::size_t found = 0;           ///< leading blocks that were there when it was admitted
  std::shared_ptr<const prompt_layout> layout;  ///< null: the prompt is cut evenly
  std::size_t leading = 0;  ///< with a layout: leading blocks found or to be loaded, likewise
  reused_spans spans;       ///< chunks taken behind the leading run, since it was last admitted
  std::size_t exact = SIZE_MAX;         ///< blocks from here on see KV of other contexts
  std::optional<reused_spans> planned;  ///< the spans that were counted as hits, once they were
  std::optional<std::size_t> storable;  ///< leading blocks that the admission policy lets in
  std::vector<block_id> left;  ///< private blocks before the preemption, by index; no_block else
  token_count left_tokens;     ///< tokens that had KV then
  std::shared_ptr<const request_notes> notes;  ///< where the eviction policy asks for them

  /// Where a span's block stands among the keys that tiers are asked for: those of the prompt, then
  /// those of donors.
  std::size_t place_in_query(const reused_span& span, std::size_t index) const {
    return span.donor_key < 0
               ? index
               : keys.size() + static_cast<std::size_t>(span.donor_key) + index - span.first_block;
  }
};

/// What a request finds when it wants to enter the batch.
struct kv_match {
  std::int64_t blocks = 0;  ///< leading blocks found
  token_count tokens;       ///< their tokens
  token_count
      pending_tokens;    ///< tokens of the blocks right behind that another request is computing
  reused_spans spans{};  ///< chunks found behind them
  std::int64_t to_come = 0;  ///< leading blocks behind the found ones that are to be loaded

  /// Blocks in all.
  std::int64_t all_blocks() const {
    std::int64_t all = blocks;
    for (const reused_span& span : spans) {
      all += span.end_block - span.first_block;
    }
    return all;
  }
};

/// Blocks, keys and pins of one executor. Plain object: no time, no messages.
class kv_manager {
 public:
  /// `gate` says which blocks may be found by others; null: all.
  kv_manager(const kv_settings& settings, eviction& policy, reuse& sharing, gate_keeper gate = {});

  /// Blocks that the request's first `tokens` tokens take.
  std::int64_t blocks_for(const sequence& s, token_count tokens) const {
    return s.layout ? s.layout->blocks_for(tokens)
                    : (tokens + settings_.block_tokens - 1) / settings_.block_tokens;
  }
  /// Whether the request can run when it is alone.
  bool can_ever_hold(const sequence& s) const;

  /// What of the request's first `total` tokens is there now; at least one token is left to
  /// compute. Touches nothing.
  kv_match match(const sequence& s, token_count total) const;
  /// The same as if blocks marked in `below` (by place, not 0) were here too; of a request whose
  /// prompt has a layout.
  kv_match match_chunks(const sequence& s, token_count total,
                        std::span<const std::uint8_t> below) const;
  /// What a request that waits with its blocks taken has of its first `total` tokens.
  kv_match held(const sequence& s, token_count total) const;
  /// Takes, at time `now`, the matched blocks and allocates for the tokens up to `upto`; false,
  /// with nothing changed, when there is no room.
  bool admit(sequence& s, const kv_match& found, token_count upto, sim_time now);
  /// Allocates for the tokens up to `upto`; false, with nothing changed, when there is no room.
  bool grow(sequence& s, token_count upto);
  /// Unused blocks whose time is over at `now` give way.
  void drop_expired(sim_time now);
  /// When the next one's will be over, where the eviction policy has such (needs.expiry).
  std::optional<sim_time> next_expiry() const {
    return settings_.needs.expiry ? policy_.next_expiry() : std::nullopt;
  }
  /// The blocks from this place on are being loaded; the others that are not findable are computed.
  void expect_from(const sequence& s, std::size_t index);
  /// Those of these blocks that are not findable are being loaded, the others are computed.
  void expect(const sequence& s, std::span<const std::uint32_t> blocks);
  /// What was being loaded has come and becomes findable; the first `leading` tokens have KV now.
  void fill_loaded(sequence& s, token_count leading);
  /// What is being loaded for the request will be computed instead.
  void expect_nothing(const sequence& s);
  /// Whether the block right behind what the request finds is being loaded for another one.
  bool is_coming(const sequence& s, const kv_match& found) const;
  /// The iteration that computed the tokens up to `upto` has ended: full blocks become findable.
  void fill(sequence& s, token_count upto);
  /// The request is over: shared blocks stay cached, private ones are left.
  void finish(sequence& s);
  /// The request is preempted with `computed` tokens: as finish, but it may reclaim its private
  /// blocks.
  void preempt(sequence& s, token_count computed);
  /// Whether `admit` (or `grow`, with nothing found, where the request has blocks) would have room
  /// if these other requests gave up all their blocks.
  bool would_fit_without(const std::vector<const sequence*>& others, const sequence& s,
                         const kv_match& found, token_count upto) const;
  /// Tokens that fit into the request's blocks.
  token_count room(const sequence& s) const {
    return s.blocks.empty() ? token_count{} : full_end_of(s, s.blocks.size() - 1);
  }

  /// Whether a block of a span is findable now.
  bool is_visible(const sequence& s, const reused_span& span, std::size_t index) const {
    return visible(key_in(s, span, index)) != no_slot;
  }
  /// Whether the block at this place of the request's chain is findable now.
  bool is_visible(const sequence& s, std::size_t index) const {
    return visible_slot(s, index) != no_slot;
  }
  /// Tokens of the request's chain up to the end of the block at this place.
  token_count end_of(const sequence& s, std::size_t index) const;
  /// What there was of the block at this place, its own doing left out.
  block_state state_of(const sequence& s, std::size_t index) const;
  /// Tokens up to the end of the block at this place once it is full.
  token_count full_end_of(const sequence& s, std::size_t index) const {
    return s.layout ? s.layout->end_of(index)
                    : token_count{(static_cast<std::int64_t>(index) + 1) * settings_.block_tokens};
  }
  /// These blocks are outdated: nobody finds them from now on. Those that are in use stay with
  /// their users; those that are still being computed or loaded are left alone unless
  /// `unfinished_too`. Returns how many there were.
  std::int64_t invalidate(std::span<const block_key> keys, bool unfinished_too);
  /// What happened since this was last read; the caller empties it.
  kv_news& news() { return news_; }

  /// A waiting request entered (or left) the look-ahead queue.
  void want(const sequence& s);
  void unwant(const sequence& s);

  std::int64_t capacity() const { return pool_.capacity(); }
  std::int64_t used_blocks() const { return used_; }
  std::int64_t cached_blocks() const { return cache_.unpinned(); }
  std::int64_t peak_blocks() const { return peak_; }
  std::int64_t evictions() const { return evictions_; }
  std::int64_t inserted() const { return inserted_; }

  /// Conservation, for debug builds: every block is accounted for, no reference is negative or
  /// lost.
  void check(const std::vector<const sequence*>& running) const;

 private:
  bool findable(const sequence& s, std::size_t index) const {
    return sharing_.shares() && index < s.keys.size() &&
           (index < s.exact || (is_chunk(s, index) && !is_behind_donor(s, index)));
  }
  /// Whether the block's key stands for a chunk alone.
  static bool is_chunk(const sequence& s, std::size_t index) {
    return s.layout && (s.layout->chunk_at(index) != nullptr ||
                        (s.layout->answer_is_chunk && index >= s.layout->ends.size()));
  }
  static bool is_behind_donor(const sequence& s, std::size_t index);
  /// The key under which a span's block is found.
  static block_key key_in(const sequence& s, const reused_span& span, std::size_t index) {
    std::size_t place = index - span.first_block;
    return span.donor_key < 0
               ? s.keys[index]
               : s.layout->donor_keys[static_cast<std::size_t>(span.donor_key) + place];
  }
  /// The key of a block that the request holds.
  static block_key key_at(const sequence& s, std::size_t index) {
    for (const reused_span& span : s.spans) {
      if (index >= span.first_block && index < span.end_block) {
        return key_in(s, span, index);
      }
    }
    return s.keys[index];
  }
  slot_id visible(block_key key) const {
    slot_id slot = cache_.find(key);
    return slot != no_slot && content_[slot] == content::filled && !outdated_[slot] ? slot
                                                                                    : no_slot;
  }
  std::size_t parent_of(const sequence& s, std::size_t index) const;
  chained_key chained(const sequence& s, std::size_t index) const;
  bool is_taken(const sequence& s, std::size_t index) const;
  bool is_exact_here(const sequence& s, std::size_t index) const;
  kv_match match_planned(const sequence& s, token_count total) const;
  std::optional<reused_span> best_span(const sequence& s, const chunk_place& place,
                                       token_count total,
                                       std::span<const std::uint8_t> below) const;
  std::optional<reused_span> span_of(const sequence& s, const chunk_place& place,
                                     const chunk_donor* donor, token_count total,
                                     std::span<const std::uint8_t> below) const;
  void hold_spans(const sequence& s);
  void let_go_of_spans(const sequence& s);
  void hold(slot_id slot);
  slot_id insert(const entry_view& entry, const sequence& s, std::size_t index);
  slot_id visible_slot(const sequence& s, std::size_t index) const;
  bool is_left(const sequence& s, std::size_t index) const;
  entry_view view(const sequence& s, std::size_t index) const;
  void tell_costs(const sequence& s, entry_view& entry) const;

  std::int64_t needed(const sequence& s, const kv_match& found, token_count upto) const;
  std::int64_t obtainable() const {
    return pool_.available() + (settings_.needs.unbounded ? 0 : cache_.unpinned());
  }
  bool writes_found_block(const sequence& s, std::size_t held, token_count upto) const;
  bool has_room(std::int64_t need, bool copy, std::uint32_t other_users) const;
  void copy_short_block(sequence& s, std::int64_t need);
  void extend(sequence& s, token_count upto);
  void append(sequence& s);
  held_block use_found(const sequence& s, std::size_t index, slot_id slot);
  void release(slot_id slot);
  bool may_enter(const sequence& s, const entry_view& entry);
  bool make_way();
  block_id take();
  block_id evict();
  void withdraw(held_block& held);
  void remove_outdated(slot_id slot);
  void let_go(sequence& s, bool preempted);
  void let_go_of(sequence& s, std::size_t index, bool preempted);
  void note_peak();

  kv_settings settings_;
  reuse& sharing_;
  eviction& policy_;
  gate_keeper gate_;
  cache<eviction> cache_;
  block_pool pool_;
  std::vector<block_id> block_of_;  // by slot; no_block where a cached block takes no room
  enum class content : std::uint8_t { computing, loading, filled };
  std::vector<content> content_;        // by slot
  std::vector<char> outdated_;          // by slot: invalidated while in use
  std::vector<std::uint64_t> context_;  // by slot, with chunks: behind what it was computed; 0: no
                                        // one text
  absl::flat_hash_map<block_key, std::uint32_t, key_hash> wanted_;
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t evictions_ = 0;
  std::int64_t inserted_ = 0;
  kv_news news_;
};

}  // namespace refrain
