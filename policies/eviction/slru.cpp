// Segmented LRU: blocks that were hit `protected_hits` times or more (the insertion is no hit) are
// protected; the least recently used of the others gives way, and of the protected when there are
// no others. Under leaf scope only blocks without resident children give way, in order of last
// request, the deepest first; with history kept a block's hits go on when it returns. As SGLang's
// radix cache ranks by (hits >= 2, last access): no segment has a share of its own.
#include "policies/ranked.hpp"

namespace refrain {
namespace {

class slru final : public ranked_eviction<std::uint32_t> {
 public:
  slru(const parameters& values, const eviction_setup& setup)
      : ranked_eviction{values, setup},
        protected_hits_{static_cast<std::uint32_t>(values.integer("protected_hits"))},
        hits_(setup.slots),
        past_{values} {}

  void on_insert(slot_id slot, const entry_view& seen) override {
    hits_[slot] = past_.recall(seen.key, 0);
    ranks_.add(slot, segment(slot), seen.parent);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    ++hits_[slot];
    ranks_.touch(slot, segment(slot));
  }
  void on_unpin(slot_id slot) override {
    // In use until now; and the tail of a chain comes first.
    ranks_.touch(slot, segment(slot));
    ranks_.unpin(slot);
  }
  void on_evict(slot_id slot, block_key key) override {
    past_.keep(key, hits_[slot] + 1);
    on_remove(slot);
  }

 private:
  std::uint32_t segment(slot_id slot) const { return hits_[slot] >= protected_hits_ ? 1 : 0; }

  std::uint32_t protected_hits_;
  std::vector<std::uint32_t> hits_;
  key_history<std::uint32_t> past_;
};

const register_eviction<slru> registration{
    policy_info{.name = "slru",
                .summary = "LRU among blocks hit less than twice, then among the others",
                .source = "Karedla, Love and Wherry, Computer 1994; as SGLang's radix cache has it",
                .parameters = {scope_parameter(),
                               history_parameter(),
                               {.name = "protected_hits",
                                .type = parameter_type::integer,
                                .standard = "2",
                                .description = "hits from which a block is protected",
                                .low = 1,
                                .high = 1e6}}}};

}  // namespace
}  // namespace refrain
