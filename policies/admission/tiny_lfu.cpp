// TinyLFU: where one block must give way for another, the newcomer enters only if it was used more
// often lately than the one that would go. Uses, hits and misses alike, are counted in a sketch
// that is halved every `sample` x capacity accesses. Left out: the doorkeeper, a Bloom filter in
// front of the sketch that saves memory.
#include "policies/admission.hpp"
#include "policies/frequency_sketch.hpp"

namespace refrain {
namespace {

class tiny_lfu final : public admission {
 public:
  static admission_needs needs(const parameters&) { return {.accesses = true, .victim = true}; }

  tiny_lfu(const parameters& values, const admission_setup& setup)
      : uses_{setup.capacity, setup.capacity * values.integer("sample")} {}

  void on_access(block_key key) override { uses_.add(key); }
  bool admit(const entry_view& entry, const block_key* victim) override {
    return victim == nullptr || uses_.count(entry.key) > uses_.count(*victim);
  }

 private:
  frequency_sketch uses_;
};

const register_admission<tiny_lfu> registration{
    policy_info{.name = "tiny_lfu",
                .summary = "a newcomer enters only if used more often than what it replaces",
                .source = "Einziger, Friedman and Manes, TinyLFU, ACM TOS 2017",
                .parameters = {{.name = "sample",
                                .type = parameter_type::integer,
                                .standard = "10",
                                .description = "accesses, by the capacity, until counts are halved",
                                .low = 1,
                                .high = 1000}}}};

}  // namespace
}  // namespace refrain
