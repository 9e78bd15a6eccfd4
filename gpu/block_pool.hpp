// The physical KV blocks of one executor. A block is in use, free, or left: let go of by a
// preempted request that may come back for its contents until the block is taken again, oldest left
// first. The pool knows no keys and no tokens. State exists only for blocks that were ever taken,
// so a pool of any capacity costs what is used of it.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/integers.hpp"

namespace refrain {

/// A physical block of a pool: dense from 0 in order of first use.
using block_id = distinct<struct block_id_tag, std::uint32_t>;

/// Blocks with their free list and their list of left ones. No operation allocates, but for the
/// growth of the arrays when a block is taken for the first time; all are O(1).
class block_pool {
 public:
  /// A pool of `blocks` (at least 0) blocks. Only 2^32 - 1 of them can ever be in use.
  explicit block_pool(std::int64_t blocks);

  std::int64_t capacity() const { return capacity_; }
  /// Blocks that take() can give: never used, put back, or left.
  std::int64_t available() const { return capacity_ - in_use_; }
  /// Blocks whose contents a former owner could still reclaim.
  std::int64_t left() const { return left_; }

  /// A block to use. Prefers one put back, then one never used, then the oldest left, which its
  /// former owner loses. Requires available() > 0.
  block_id take();
  /// Ends the use of a block; its contents are worthless.
  void put_back(block_id block);
  /// Ends the use of a block whose contents its owner may reclaim while nobody has taken it.
  /// `index` is the block's position in the owner's chain.
  void leave(block_id block, request_id owner, std::uint32_t index);
  /// Whether reclaim would succeed now.
  bool is_left(block_id block, request_id owner, std::uint32_t index) const {
    const record& is = records_[block];
    return is.is == state::left && is.owner == owner && is.index == index;
  }
  /// Takes back a left block: true, and in use again, if it is still left by this owner at this
  /// index.
  bool reclaim(block_id block, request_id owner, std::uint32_t index);

 private:
  enum class state : std::uint8_t { in_use, free, left };
  struct record {
    request_id owner;
    std::uint32_t index;
    std::uint32_t previous;  // of the left list: towards the oldest
    std::uint32_t next;      // of the left list, or of the free stack
    state is;
  };

  record& at(block_id block);
  void unlink(record& block);
  block_id take_first_time();
  block_id take_oldest_left();

  std::int64_t capacity_;
  std::int64_t in_use_ = 0;
  std::int64_t left_ = 0;
  std::uint32_t free_;    // top of the stack of blocks put back
  std::uint32_t oldest_;  // ends of the left list
  std::uint32_t newest_;
  std::vector<record> records_;
};

}  // namespace refrain
