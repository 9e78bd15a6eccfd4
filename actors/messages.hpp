// Every message between actors, and nothing else: plain structs, moved and never shared. There is
// no message per block and none per token; the keys of a prompt travel as one vector.
#pragma once

#include <array>
#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/response_promise.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/key_view.hpp"
#include "actors/kv_manager.hpp"
#include "actors/lost_tokens.hpp"
#include "actors/transfer_link.hpp"
#include "gpu/recorded_engine.hpp"
#include "traces/corpus/living_corpus.hpp"
#include "traces/request.hpp"

namespace refrain {

/// Kinds of memory below the GPU: host, nvme, remote.
inline constexpr std::size_t tiers_max = 3;

/// Why a request was not served.
enum class refusal : std::uint8_t { none, larger_than_pool };

/// population to itself: pull the next row.
struct next_row {};

/// population to session: one turn to send when it is due.
struct turn {
  request what;
  std::vector<seen_mark> seen;  ///< as in prompt
};

/// session to itself: the turn at the head of the queue is due.
struct turn_due {};

/// session to population: a request is over, served or refused.
struct turn_over {};

/// session to retriever, router and executor: a prompt to be answered with `answer`.
struct prompt {
  request_id id;
  session_id session;
  token_count input_tokens;
  token_count output_tokens;
  /// Findable blocks, first block first: the prompt's, then those of an answer that a later prompt
  /// contains.
  std::vector<block_key> keys;
  bool short_last_block = false;  ///< the last key stands for a block that the prompt does not fill
  bool last_turn = true;          ///< the session sends nothing after it
  std::shared_ptr<const prompt_layout> layout{};  ///< where chunks have blocks of their own
  std::vector<seen_mark> seen{};                  ///< by segment, where that is counted
  std::shared_ptr<const request_notes> notes{};   ///< where the eviction policy asks for them
  std::vector<token_id> tokens{};                 ///< where they are computed; see tokens_of
  /// What the prompt holds, where a corpus is searched: then the retriever makes the keys.
  std::vector<segment> segments{};
  content_id answer{};     ///< content of the output, likewise
  std::uint64_t salt = 0;  ///< isolation domain, likewise
};

/// What a search gave and took.
struct search_result {
  std::int64_t chunks = 0;  ///< that were put into the prompt
  token_count tokens;       ///< of these
  sim_time took{0};         ///< from the prompt's arrival at the retriever until it went on
};

/// retriever to itself: the search for this prompt has taken its time.
struct retrieved {
  prompt what;
  search_result found;
  caf::response_promise reply;
};

/// executor to session through router and retriever: what became of a prompt.
struct answer {
  refusal refused = refusal::none;
  std::uint32_t executor = 0;         ///< that computed the prompt
  std::uint32_t decode_executor = 0;  ///< that went on after the first token
  sim_time arrived{0};                ///< at the executor
  sim_time admitted{0};               ///< first iteration began
  sim_time first_token{0};            ///< first token out
  sim_time finished{0};               ///< last token out
  std::int64_t hit_blocks = 0;
  token_count hit_tokens;
  token_count blended_tokens;                    ///< of these, of chunks computed behind other text
  token_count approximate_tokens;                ///< of these, of other text
  token_count stale_tokens;                      ///< of these, of outdated documents
  std::array<std::int64_t, stand_ins> reuses{};  ///< chunks taken from other text, by what they are
  std::array<token_count, tiers_max>
      tier_hit_tokens{};  ///< of these, loaded from each tier below the GPU
  byte_count loaded_bytes;
  token_count pending_tokens;  ///< leading tokens after the hits that another request was computing
  token_count computed_tokens;   ///< prompt and output tokens that prefill computed
  token_count preempted_tokens;  ///< of these, computed before and lost to preemption
  lost_tokens lost{};            ///< why tokens were computed; sums to computed_tokens
  seen_tokens seen;              ///< against an endless cache of whole chunks
  token_count resumed_tokens;    ///< prompt tokens that others had computed when it resumed
  std::int64_t preemptions = 0;
  search_result retrieval{};    ///< what was found for it before it came to a router
  token_count routable_tokens;  ///< that some executor held when the router decided
  token_count routed_tokens;    ///< that the router believed to be in the executor it chose
};

/// router to executor: a prompt whose first token is out elsewhere, to be answered with `answer`.
struct handed_prompt {
  prompt what;
  answer so_far;
};

/// decode executor to the one that has the prompt's KV: send so many blocks of it, and keep it
/// until `kv_received`.
struct pull_kv {
  request_id id;
  std::uint64_t attempt = 0;  ///< handed back in load_started
  std::uint32_t executor = 0;
  std::int64_t blocks = 0;
};

/// decode executor to prefill executor: the KV has come.
struct kv_received {
  request_id id;
};

/// executor to all routers: what became findable in it and what was evicted, in order.
struct kv_changes {
  std::uint32_t executor = 0;
  std::vector<key_change> changes;
};

/// executor to all routers: requests whose first token is out.
struct first_tokens {
  std::uint32_t executor = 0;
  std::vector<request_id> requests;
};

/// executor to itself: routers poll what changed in it.
struct poll_due {};

/// executor to itself: the time of unused blocks is over.
struct blocks_expired {};

/// executor to itself: the current iteration, or window of iterations, ends. Stale when `window` is
/// not the current one.
struct window_end {
  std::uint64_t window;
};

/// executor to itself, after all else at this instant: form the next batch.
struct form_batch {};

/// session to recorder: one finished request.
struct request_over {
  request_id id;
  session_id session;
  std::uint32_t turn = 0;
  token_count input_tokens;
  token_count output_tokens;
  sim_time sent{0};
  answer result;
  std::int64_t measured_ttft_ns = -1;  ///< -1 where nothing was measured
  std::int64_t measured_e2e_ns = -1;
  planted_edit planted = planted_edit::none;
};

/// executor to recorder: its state at one moment.
struct executor_sample {
  std::uint32_t executor = 0;
  sim_time time{0};
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t used_blocks = 0;    ///< held by running requests
  std::int64_t cached_blocks = 0;  ///< findable and not held
  std::int64_t iterations = 0;     ///< since the start
  std::int64_t preemptions = 0;    ///< since the start
  std::int64_t evictions = 0;      ///< since the start
  std::int64_t peak_blocks = 0;    ///< most blocks used and cached so far
  std::int64_t invalidated = 0;    ///< blocks found outdated since the start
};

/// executor to recorder: an iteration that was timed.
struct iteration_timed {
  std::uint32_t executor = 0;
  sim_time began{0};
  timed_iteration what;
  sim_time expected{0};  ///< by the cost model
};

/// executor to tier: which of these blocks do you hold? Those are kept until the `load_blocks` that
/// must follow.
struct query_blocks {
  request_id id;
  std::uint32_t executor = 0;
  std::vector<block_key> keys;
};

/// tier to executor: the answer, and how its link stands.
struct offer_blocks {
  request_id id;
  std::uint32_t tier = 0;
  std::vector<char> held;  ///< by index of the key
  transfer_link link;
};

/// executor to tier: load these blocks of the offer (indices ascending) and let go of the others.
struct load_blocks {
  request_id id;
  std::uint64_t attempt = 0;  ///< handed back in load_started
  std::uint32_t executor = 0;
  std::vector<std::uint32_t> wanted;
};

/// tier to itself: a load has ended; all blocks that were offered for it, in order of the chain.
struct load_done {
  std::vector<slot_id> slots;
};

/// tier or prefill executor to executor: the transfer has begun, and this is how it will go.
struct load_started {
  request_id id;
  std::uint64_t attempt = 0;
  std::uint32_t tier = 0;
  transfer_times times;
};

/// executor to itself: a load may be used from now on, or is over.
struct load_progress {
  request_id id;
  std::uint64_t attempt = 0;
  bool over = false;
};

/// executor to tier, or tier to the next one below: keep these blocks if you can. Nearest to the
/// head first; where the block before is not known, the block itself stands for it.
struct store_blocks {
  std::uint32_t writer = 0;  ///< the executor whose link is used
  std::vector<chained_key> blocks;
};

/// tier to itself: a store has ended.
struct store_done {
  std::uint32_t writer = 0;
  std::vector<slot_id> slots;
};

/// tier to recorder, at the end: what it did.
struct tier_summary {
  std::uint32_t tier = 0;
  std::uint32_t instance = 0;
  std::int64_t held_blocks = 0;
  std::int64_t peak_blocks = 0;
  std::int64_t stored_blocks = 0;       ///< written in all
  std::int64_t loaded_blocks = 0;       ///< read in all
  std::int64_t evicted_blocks = 0;      ///< given way in all
  std::int64_t invalidated_blocks = 0;  ///< found outdated in all
  std::int64_t dropped_blocks = 0;      ///< not stored: staging full, everything pinned, or refused
};

/// knowledge base to itself: an update of the corpus is due.
struct update_due {};

/// knowledge base to recorder: what an update changed.
struct corpus_changed {
  corpus_change what;
};

/// knowledge base to executors and tiers: the KV under these keys is outdated.
struct invalidate_blocks {
  std::shared_ptr<const std::vector<block_key>> keys;
};

/// main program to every long-lived actor once nothing is left to happen: hand in what is still
/// held, and end.
struct close_books {};

}  // namespace refrain

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::next_row)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::turn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::turn_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::turn_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::prompt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::retrieved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::handed_prompt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::pull_kv)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::kv_received)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::kv_changes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::first_tokens)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::poll_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::blocks_expired)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::window_end)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::form_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::request_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::executor_sample)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::iteration_timed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::close_books)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::update_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::corpus_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::invalidate_blocks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::query_blocks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::offer_blocks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::load_blocks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::load_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::load_started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::load_progress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::store_blocks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::store_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(refrain::tier_summary)
