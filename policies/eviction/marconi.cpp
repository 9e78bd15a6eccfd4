// Marconi: a block's score is its recency plus alpha times the seconds of computing that it saves
// by its size, both scaled to 0 to 1 between the least and the greatest of the blocks compared; the
// least score among blocks without resident children gives way. Scaling makes scores change with
// time, so 64 leaves drawn at random are compared, all of them where there are no more. Left out:
// nodes with one child (a chain's inner block is no victim here), admission of branch points only,
// which is about recurrent states, and the choice of alpha by replaying a first window.
#include <algorithm>
#include <cmath>

#include "policies/ranked.hpp"

namespace refrain {
namespace {

class marconi final : public eviction {
 public:
  static eviction_needs needs(const parameters&) { return {.tree = true, .costs = true}; }

  marconi(const parameters& values, const eviction_setup& setup)
      : alpha_{values.real("alpha")},
        samples_{static_cast<std::size_t>(values.integer("samples"))},
        random_{setup.random},
        entries_(setup.slots) {
    leaves_.reserve(setup.slots);
    drawn_.reserve(samples_);
  }

  void on_insert(slot_id slot, const entry_view& seen) override {
    entries_[slot] = {.parent = seen.parent,
                      .saved = static_cast<float>(seen.recompute_seconds / seen.size),
                      .last = ++clock_};
    if (seen.parent != no_slot) {
      hold(seen.parent);
    }
    offer(slot);
  }
  void on_hit(slot_id slot, const entry_view&) override { entries_[slot].last = ++clock_; }
  void on_pin(slot_id slot) override { hold(slot); }
  void on_unpin(slot_id slot) override {
    entries_[slot].last = ++clock_;
    let_go(slot);
  }
  slot_id victim() override {
    drawn_.clear();
    if (leaves_.size() <= samples_) {
      drawn_ = leaves_;
    } else {
      for (std::size_t i = 0; i < samples_; ++i) {
        drawn_.push_back(leaves_[random_.below(leaves_.size())]);
      }
    }
    return least_of_drawn();
  }
  void on_remove(slot_id slot) override {
    withdraw(slot);
    if (slot_id parent = entries_[slot].parent; parent != no_slot) {
      let_go(parent);
    }
  }

 private:
  struct entry {
    slot_id parent = no_slot;
    float saved = 0;  // seconds by size
    std::uint64_t last = 0;
    std::uint32_t holds = 0;  // pins and resident children
    std::uint32_t place = 0;  // in leaves_
  };

  slot_id least_of_drawn() const {
    auto by_use = [&](slot_id a, slot_id b) { return entries_[a].last < entries_[b].last; };
    auto by_saved = [&](slot_id a, slot_id b) { return entries_[a].saved < entries_[b].saved; };
    if (drawn_.empty()) {
      return no_slot;
    }
    auto uses = std::minmax_element(drawn_.begin(), drawn_.end(), by_use);
    auto savings = std::minmax_element(drawn_.begin(), drawn_.end(), by_saved);
    const entry& oldest = entries_[*uses.first];
    const entry& newest = entries_[*uses.second];
    const entry& cheapest = entries_[*savings.first];
    const entry& dearest = entries_[*savings.second];
    auto scaled = [](double x, double low, double high) {
      return high > low ? (x - low) / (high - low) : 0;
    };
    auto score = [&](slot_id slot) {
      const entry& e = entries_[slot];
      return scaled(static_cast<double>(e.last), static_cast<double>(oldest.last),
                    static_cast<double>(newest.last)) +
             alpha_ * scaled(e.saved, cheapest.saved, dearest.saved);
    };
    return *std::min_element(drawn_.begin(), drawn_.end(), [&](slot_id a, slot_id b) {
      double of_a = score(a), of_b = score(b);
      return of_a != of_b ? of_a < of_b : by_use(a, b);
    });
  }

  void hold(slot_id slot) {
    if (entries_[slot].holds++ == 0) {
      withdraw(slot);
    }
  }
  void let_go(slot_id slot) {
    if (--entries_[slot].holds == 0) {
      offer(slot);
    }
  }
  void offer(slot_id slot) {
    entries_[slot].place = static_cast<std::uint32_t>(leaves_.size());
    leaves_.push_back(slot);
  }
  void withdraw(slot_id slot) {
    std::uint32_t at = entries_[slot].place;
    leaves_[at] = leaves_.back();
    entries_[leaves_[at]].place = at;
    leaves_.pop_back();
  }

  double alpha_;
  std::size_t samples_;
  random_stream random_;
  std::uint64_t clock_ = 0;
  std::vector<entry> entries_;
  std::vector<slot_id> leaves_;  // what may give way
  std::vector<slot_id> drawn_;
};

const register_eviction<marconi> registration{
    policy_info{.name = "marconi",
                .summary = "evicts the least of recency plus alpha times seconds saved by size",
                .source = "Pan et al., Marconi, MLSys 2025; leaves of the tree only",
                .parameters = {{.name = "alpha",
                                .type = parameter_type::real,
                                .standard = "1",
                                .description = "weight of the seconds saved; 0 is LRU over leaves",
                                .low = 0,
                                .high = 1e6},
                               {.name = "samples",
                                .type = parameter_type::integer,
                                .standard = "64",
                                .description = "leaves that are compared for a victim",
                                .low = 1,
                                .high = 1e6}}}};

}  // namespace
}  // namespace refrain
