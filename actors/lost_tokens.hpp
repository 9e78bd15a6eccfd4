// Why a token had to be computed: every prompt token that was no hit has one cause, found when its
// request first enters the batch, and every token that is computed again has the cause "preempted".
// The causes of a request sum to its computed tokens.
//
// What became of a block is remembered for all executors together, for the last 450,000
// to 900,000 blocks that were computed or evicted; an older one counts as never seen.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "traces/integers.hpp"
#include "traces/random.hpp"

namespace refrain {

/// Why a token was computed.
enum class lost_cause : std::uint8_t {
  never_seen,      ///< its block was never computed before, or its content has no name
  last_token,      ///< everything was found, and one token must be computed
  block_floor,     ///< the end of the prompt that fills no block
  preempted,       ///< computed before, lost to preemption
  evicted_gpu,     ///< had been computed, and gave way in GPU memory
  evicted_host,    ///< gave way in host memory
  evicted_nvme,    ///< gave way on NVMe
  evicted_remote,  ///< gave way in the remote store
  not_visible,     ///< another request was computing it, or it was on its way
  router,          ///< another executor held it
  admission,       ///< the reuse or admission policy did not keep or take it
  load_slower,     ///< a lower tier held it, and computing was expected to be faster
  blended          ///< its chunk was reused, and a share of it is computed again
};
inline constexpr std::size_t lost_causes = 13;

/// "never_seen", ...
std::string_view name_of(lost_cause cause);

/// Tokens by cause.
using lost_tokens = std::array<token_count, lost_causes>;

/// One segment of a prompt, as an endless cache of whole chunks would have found it.
struct seen_mark {
  token_count end;         ///< tokens of the prompt up to its end
  bool anywhere = false;   ///< an earlier prompt or answer held it
  bool in_prefix = false;  ///< and so was all before it, in the same order
};

/// Tokens of a request that an endless cache of whole chunks would have found, serving one request
/// after the other in trace order, and what became of them:
/// anywhere = hits - hits_unseen + lost_order + lost_floor + lost_blended + lost_cache.
struct seen_tokens {
  token_count anywhere;
  token_count in_prefix;     ///< of these, in the exact prefix
  token_count lost_order;    ///< not hit: stood elsewhere, and was not reused there
  token_count lost_floor;    ///< not hit: the last token, and what fills no block
  token_count lost_blended;  ///< reused, and computed again
  token_count lost_cache;    ///< not hit for other reasons: evicted, not visible, ...
  token_count hits_unseen;   ///< hits on what no earlier row held
};

/// What became of blocks.
class block_history {
 public:
  /// A block became findable in an executor's GPU memory.
  void held(block_key key);
  /// It gave way there.
  void evicted_from_gpu(block_key key);
  /// It gave way in a tier below; `where` is one of the evicted causes.
  void evicted_below(block_key key, lost_cause where);

  /// Starts loading what the others will read of this key.
  void prefetch(block_key key) const {
    young_.prefetch(key);
    old_.prefetch(key);
  }

  /// Why a block that the asking executor does not hold is not to be had: router, one of the
  /// evicted causes, or never seen.
  lost_cause why_lost(block_key key) const;

 private:
  /// Blocks by key in one array of words: 48 bits of the key's hash, 12 of how many executors hold
  /// it, 4 of what became of it. Nothing is taken out; memory is touched as it fills.
  class generation {
   public:
    static constexpr std::size_t places = std::size_t{1} << 19;
    static constexpr std::size_t size_max = places / 8 * 7;

    /// The word of the key, or nullptr.
    std::uint64_t* find(block_key key) const;
    /// The word of a key that is not there yet; size() < size_max.
    std::uint64_t& insert(block_key key);
    void prefetch(block_key key) const {
      if (words_ != nullptr) {
        __builtin_prefetch(&words_[mix64(key) % places]);
      }
    }
    std::size_t size() const { return size_; }

   private:
    struct release {
      void operator()(std::uint64_t* words) const { std::free(words); }
    };
    std::uint64_t* place_of(block_key key) const;

    std::unique_ptr<std::uint64_t[], release> words_;
    std::size_t size_ = 0;
  };

  std::uint64_t& at(block_key key);

  generation young_;
  generation old_;
};

}  // namespace refrain
