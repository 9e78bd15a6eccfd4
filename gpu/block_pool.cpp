// A stack of blocks put back and a doubly linked list of left ones, threaded through one array of
// 24-byte records.
#include "gpu/block_pool.hpp"

#include "traces/error.hpp"

namespace refrain {

namespace {

constexpr std::uint32_t none = UINT32_MAX;

}  // namespace

block_pool::block_pool(std::int64_t blocks)
    : capacity_{blocks}, free_{none}, oldest_{none}, newest_{none} {
  REFRAIN_ASSERT(blocks >= 0);
}

block_id block_pool::take() {
  REFRAIN_ASSERT(available() > 0);
  ++in_use_;
  if (free_ != none) {
    block_id block{free_};
    record& taken = records_[free_];
    free_ = taken.next;
    taken.is = state::in_use;
    return block;
  }
  auto used = static_cast<std::int64_t>(records_.size());
  return used < capacity_ ? take_first_time() : take_oldest_left();
}

void block_pool::put_back(block_id block) {
  record& given = at(block);
  REFRAIN_ASSERT(given.is == state::in_use);
  given.is = state::free;
  given.next = free_;
  free_ = block;
  --in_use_;
}

void block_pool::leave(block_id block, request_id owner, std::uint32_t index) {
  record& given = at(block);
  REFRAIN_ASSERT(given.is == state::in_use);
  given = {.owner = owner, .index = index, .previous = newest_, .next = none, .is = state::left};
  (newest_ == none ? oldest_ : records_[newest_].next) = block;
  newest_ = block;
  ++left_;
  --in_use_;
}

bool block_pool::reclaim(block_id block, request_id owner, std::uint32_t index) {
  record& wanted = at(block);
  if (wanted.is != state::left || wanted.owner != owner || wanted.index != index) {
    return false;
  }
  unlink(wanted);
  ++in_use_;
  return true;
}

block_pool::record& block_pool::at(block_id block) {
  REFRAIN_ASSERT(block < records_.size());
  return records_[block];
}

void block_pool::unlink(record& block) {
  (block.previous == none ? oldest_ : records_[block.previous].next) = block.next;
  (block.next == none ? newest_ : records_[block.next].previous) = block.previous;
  block.is = state::in_use;
  --left_;
}

block_id block_pool::take_first_time() {
  REFRAIN_ASSERT(records_.size() < none);
  block_id block{static_cast<std::uint32_t>(records_.size())};
  records_.push_back(
      {.owner = request_id{0}, .index = 0, .previous = none, .next = none, .is = state::in_use});
  return block;
}

block_id block_pool::take_oldest_left() {
  REFRAIN_ASSERT(oldest_ != none);
  block_id block{oldest_};
  unlink(records_[oldest_]);
  return block;
}

}  // namespace refrain
