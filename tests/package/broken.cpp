// A policy that does what `how` says once it has evicted a few blocks: for the tests of plug-ins,
// each of whose failures must be named and must end the run.
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/replay_loop.hpp"
#include "policies/slot_list.hpp"

namespace refrain {
namespace {

class broken final : public eviction {
 public:
  broken(const parameters& values, const eviction_setup& setup)
      : how_{values.choice("how")}, order_{setup.slots, 1}, slots_{setup.slots} {
    if (how_ == "throws_when_made") {
      throw std::runtime_error{"no, thank you"};
    }
  }

  void on_insert(slot_id slot, const entry_view&) override { order_.push_front(0, slot); }
  void on_hit(slot_id, const entry_view&) override {}
  void on_pin(slot_id slot) override {
    order_.detach(slot);
    pinned_ = slot;
  }
  void on_unpin(slot_id slot) override {
    pinned_ = pinned_ == slot ? no_slot : pinned_;
    order_.push_front(0, slot);
  }
  slot_id victim() override {
    if (++victims_ < 5 || (how_ == "pinned" && pinned_ == no_slot)) {
      return order_.back(0);
    }
    return misbehave();
  }
  void on_remove(slot_id slot) override { order_.erase(slot); }

 private:
  slot_id misbehave() {
    if (how_ == "throws") {
      throw std::runtime_error{"nothing to give"};
    }
    if (how_ == "throws_a_number") {
      throw 42;
    }
    if (how_ == "crashes") {
      REFRAIN_ASSERT(how_.empty());
    }
    while (how_ == "hangs") {
      turns_ = turns_ + 1;
    }
    return how_ == "pinned" ? pinned_ : how_ == "none" ? no_slot : slot_id{slots_ + 7};
  }

  std::string how_;  // a copy: the parameters need not live as long
  slot_lists order_;
  std::uint32_t slots_;
  std::uint64_t victims_ = 0;
  volatile std::uint64_t turns_ = 0;
  slot_id pinned_ = no_slot;
};

const register_eviction<broken> registration{policy_info{
    .name = "broken",
    .summary = "does what it must not",
    .source = "made up",
    .parameters = {{.name = "how",
                    .type = parameter_type::choice,
                    .standard = "out_of_range",
                    .description = "what it does wrong at its fifth victim",
                    .choices = {"out_of_range", "pinned", "none", "throws", "throws_a_number",
                                "throws_when_made", "crashes", "hangs"}}}}};

}  // namespace
}  // namespace refrain
