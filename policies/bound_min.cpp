#include "policies/bound_min.hpp"

#include <algorithm>

#include "policies/indexed_heap.hpp"

namespace refrain {

namespace {

// Farthest next use first, then deepest.
struct distance {
  std::uint64_t next;
  std::uint32_t depth;
  friend bool operator<(const distance& a, const distance& b) {
    return a.next != b.next ? a.next > b.next : a.depth > b.depth;
  }
};

class belady_replay {
 public:
  belady_replay(const access_columns& columns, std::int64_t capacity, bool bypass)
      : columns_{columns},
        capacity_{capacity},
        bypass_{bypass},
        all_{number_accesses(columns, true)},
        resident_(all_.unique),
        farthest_{all_.unique} {}

  replay_result run() {
    for (std::uint64_t r = 0; r < columns_.requests(); ++r) {
      first_ = columns_.starts[r];
      last_ = columns_.starts[r + 1];
      std::uint64_t at = first_;
      while (at < last_ && resident_[all_.numbers[at]]) {
        count_hit(result_, columns_, at++);
      }
      result_.missed_size += last_ - at;
      bypass_ ? store_then_drop() : drop_then_store();
    }
    return result_;
  }

 private:
  void put(std::uint64_t i) {
    std::uint32_t number = all_.numbers[i];
    occupied_ += resident_[number] ? 0 : 1;
    resident_[number] = true;
    farthest_.set(slot_id{number}, {all_.next_use[i], static_cast<std::uint32_t>(i - first_)});
  }
  void drop_farthest() {
    slot_id gone = farthest_.top();
    farthest_.erase(gone);
    resident_[gone] = false;
    --occupied_;
  }
  void store_then_drop() {
    for (std::uint64_t i = first_; i < last_; ++i) {
      put(i);
    }
    while (occupied_ > capacity_) {
      drop_farthest();
    }
  }
  void drop_then_store() {
    // The request's own blocks leave the heap, so what is dropped lies outside of it.
    std::int64_t own = 0;
    for (std::uint64_t i = first_; i < last_; ++i) {
      slot_id number{all_.numbers[i]};
      own += resident_[number] ? 0 : 1;
      farthest_.erase(number);
    }
    std::int64_t length = static_cast<std::int64_t>(last_ - first_);
    while (occupied_ + own > capacity_ && !farthest_.empty()) {
      drop_farthest();
    }
    std::uint64_t kept = first_ + static_cast<std::uint64_t>(std::min(length, capacity_));
    for (std::uint64_t i = kept; i < last_; ++i) {
      occupied_ -= resident_[all_.numbers[i]] ? 1 : 0;
      resident_[all_.numbers[i]] = false;
    }
    for (std::uint64_t i = first_; i < kept; ++i) {
      put(i);
    }
  }

  const access_columns& columns_;
  std::int64_t capacity_;
  bool bypass_;
  numbered_accesses all_;
  std::vector<char> resident_;
  indexed_heap<distance> farthest_;
  std::int64_t occupied_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  replay_result result_;
};

}  // namespace

replay_result replay_belady(const access_columns& columns, std::int64_t capacity, bool bypass) {
  return belady_replay{columns, capacity, bypass}.run();
}

replay_result replay_min(const access_columns& columns, std::int64_t capacity, bool bypass) {
  replay_result result;
  numbered_accesses all = number_accesses(columns, false);
  std::vector<std::uint32_t> size_of(all.unique);
  indexed_heap<distance> farthest{all.unique};
  std::int64_t occupied = 0;
  for (std::uint64_t i = 0; i < columns.keys.size(); ++i) {
    slot_id number{all.numbers[i]};
    distance next{all.next_use[i], 0};
    std::uint32_t size = columns.sizes.empty() ? 1 : columns.sizes[i];
    if (farthest.contains(number)) {
      count_hit(result, columns, i);
      farthest.set(number, next);
      continue;
    }
    result.missed_size += size;
    if (size > capacity) {
      continue;
    }
    bool refused = false;
    while (!refused && occupied + size > capacity) {
      refused = bypass && !(farthest.top_priority() < next);
      if (!refused) {
        occupied -= size_of[farthest.top()];
        farthest.erase(farthest.top());
      }
    }
    if (!refused) {
      size_of[number] = size;
      occupied += size;
      farthest.set(number, next);
    }
  }
  return result;
}

}  // namespace refrain
