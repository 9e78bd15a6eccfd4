// LHD, least hit density: for blocks of one class and age, hit density is the probability of a hit
// by the expected size x time that the block will still take. Classes are those of the sum of a
// block's last two hit ages (16, logarithmic); ages count accesses, coarsened so that 20,000 steps
// cover what occurs. Distributions of hits and evictions by age are aged (0.9) and turned into
// densities every 2^20 accesses; before that, densities are near GDSF's. The victim is the least of
// 32 blocks drawn at random (8 while it learns) and of 8 recent newcomers that looked poor. One
// access in 32 makes its block an explorer, which stays, within a hundredth of the capacity, until
// the 50th reconfiguration. As libCacheSim has it; left out: its classes by application, which are
// all the same there, and its random numbers. A small cache has fewer steps, each the longer, so
// that its tables take 32 bytes a slot beside 12; from 120,000 slots on they are libCacheSim's.
#include <algorithm>
#include <limits>

#include "policies/ranked.hpp"

namespace refrain {
namespace {

class lhd final : public eviction {
 public:
  lhd(const parameters& values, const eviction_setup& setup)
      : samples_{static_cast<std::uint32_t>(values.integer("samples"))},
        random_{setup.random},
        ages_{std::clamp(setup.slots / slots_per_age, ages_least, ages_most)},
        tags_(setup.slots),
        sizes_{setup.slots},
        classes_(hit_age_classes, age_class{ages_}),
        budget_{setup.capacity / 100} {
    for (std::uint32_t c = 0; c < hit_age_classes; ++c) {
      for (std::uint32_t a = 0; a < ages_; ++a) {
        // libCacheSim's one application is its class 1 of 16.
        classes_[c].density[a] =
            static_cast<float>(hit_age_classes + c + 1) / static_cast<float>(a + 1);
      }
    }
    std::fill(std::begin(newcomers_), std::end(newcomers_), no_slot);
  }

  void on_insert(slot_id slot, const entry_view& seen) override {
    sizes_.set(slot, seen.size);
    tags_[slot] = {.before_last_age = static_cast<std::uint16_t>(ages_), .resident = true};
    ++resident_;
    use(slot, true);
  }
  void on_hit(slot_id slot, const entry_view&) override {
    tag& t = tags_[slot];
    std::uint32_t age = age_of(t);
    classes_[class_of(t)].hits[age] += 1;
    stop_exploring(slot);
    t.before_last_age = t.last_age;
    t.last_age = static_cast<std::uint16_t>(age);
    use(slot, false);
  }
  void on_pin(slot_id slot) override { tags_[slot].pinned = true; }
  void on_unpin(slot_id slot) override { tags_[slot].pinned = false; }

  slot_id victim() override {
    slot_id least = no_slot;
    float least_density = std::numeric_limits<float>::max();
    auto consider = [&](slot_id slot) {
      float density = density_of(slot);
      if (least == no_slot || density < least_density) {
        least = slot;
        least_density = density;
      }
    };
    std::uint32_t draws = reconfigurations_ > 50 ? samples_ : 8;
    for (std::uint32_t i = 0; i < draws; ++i) {
      slot_id slot{static_cast<std::uint32_t>(random_.below(tags_.size()))};
      if (may_go(slot)) {
        consider(slot);
      }
    }
    for (slot_id slot : newcomers_) {
      if (slot != no_slot && may_go(slot)) {
        consider(slot);
      }
    }
    if (least == no_slot) {
      least = next_that_may_go();
      least_density = density_of(least);
    }
    victim_density_ = decay * victim_density_ + (1 - decay) * least_density;
    return least;
  }
  void on_evict(slot_id slot, block_key) override {
    classes_[class_of(tags_[slot])].evictions[age_of(tags_[slot])] += 1;
    on_remove(slot);
  }
  void on_remove(slot_id slot) override {
    stop_exploring(slot);
    tags_[slot] = {};
    --resident_;
    std::replace(std::begin(newcomers_), std::end(newcomers_), slot, slot_id{no_slot});
  }

 private:
  static constexpr std::uint32_t hit_age_classes = 16;
  static constexpr std::uint32_t ages_most = 20'000;
  static constexpr std::uint32_t ages_least = 1'000;
  static constexpr std::uint32_t slots_per_age = 6;
  static constexpr std::uint64_t per_reconfiguration = 1 << 20;
  static constexpr std::uint32_t one_explores_in = 32;
  static constexpr float decay = 0.9F;

  struct tag {
    std::uint32_t time = 0;  // ages are exact below 2^32 accesses
    std::uint16_t last_age = 0;
    std::uint16_t before_last_age = 0;
    bool resident : 1 = false;
    bool pinned : 1 = false;
    bool explorer : 1 = false;
  };
  struct age_class {
    explicit age_class(std::uint32_t ages) : hits(ages), evictions(ages), density(ages) {}

    std::vector<float> hits;
    std::vector<float> evictions;
    std::vector<float> density;
  };

  bool may_go(slot_id slot) const { return tags_[slot].resident && !tags_[slot].pinned; }
  /// Where chance found none: the next one behind where the last search ended.
  slot_id next_that_may_go() {
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      cursor_ = cursor_ + 1 >= tags_.size() ? 0 : cursor_ + 1;
      if (may_go(slot_id{cursor_})) {
        return slot_id{cursor_};
      }
    }
    return no_slot;
  }

  void use(slot_id slot, bool is_new) {
    tag& t = tags_[slot];
    t.time = static_cast<std::uint32_t>(clock_);
    bool explores = random_.below(one_explores_in) == 0;
    if (explores && budget_ > 0 && reconfigurations_ < 50) {
      t.explorer = true;
      budget_ -= sizes_[slot];
    }
    if (is_new && !explores && density_of(slot) < victim_density_) {
      newcomers_[newcomer_++ % std::size(newcomers_)] = slot;
    }
    if (++clock_ % per_reconfiguration == 0) {
      reconfigure();
    }
  }
  void stop_exploring(slot_id slot) {
    if (tags_[slot].explorer) {
      tags_[slot].explorer = false;
      budget_ += sizes_[slot];
    }
  }

  std::uint32_t age_of(const tag& t) const {
    return std::min((static_cast<std::uint32_t>(clock_) - t.time) >> shift_, ages_ - 1);
  }
  std::uint32_t class_of(const tag& t) const {
    std::uint32_t age = std::uint32_t{t.last_age} + t.before_last_age;
    if (age == 0) {
      return hit_age_classes - 1;
    }
    std::uint32_t log = 0;
    for (; age < ages_ && log < hit_age_classes - 1; ++log) {
      age <<= 1;
    }
    return log;
  }
  float density_of(slot_id slot) const {
    const tag& t = tags_[slot];
    std::uint32_t age = age_of(t);
    if (age == ages_ - 1) {
      return std::numeric_limits<float>::lowest();
    }
    float density = classes_[class_of(t)].density[age] / static_cast<float>(sizes_[slot]);
    return t.explorer ? density + 1 : density;
  }

  void reconfigure() {
    for (age_class& c : classes_) {
      for (std::uint32_t a = 0; a < ages_; ++a) {
        c.hits[a] *= decay;
        c.evictions[a] *= decay;
      }
    }
    adapt_coarsening();
    for (age_class& c : classes_) {
      model(c);
    }
    ++reconfigurations_;
  }
  // Expected lifetimes by adding up from the greatest age.
  void model(age_class& c) const {
    float events = c.hits[ages_ - 1] + c.evictions[ages_ - 1];
    float hits = c.hits[ages_ - 1];
    float lifetime = events;
    for (std::uint32_t a = ages_ - 1; a-- > 0;) {
      hits += c.hits[a];
      events += c.hits[a] + c.evictions[a];
      lifetime += events;
      c.density[a] = events > 1e-5F ? hits / lifetime : 0;
    }
  }
  // Twice, early and once more: steps such that the blocks of the cache span a hundredth of them.
  void adapt_coarsening() {
    objects_ = decay * objects_ + static_cast<float>(resident_);
    objects_mass_ = decay * objects_mass_ + 1;
    if (reconfigurations_ != 5 && reconfigurations_ != 25) {
      return;
    }
    float best = objects_ / objects_mass_ / (0.01F * static_cast<float>(ages_));
    std::uint32_t log = 1;
    while (static_cast<float>(1u << log) < best) {
      ++log;
    }
    std::uint32_t old = std::exchange(shift_, log);
    objects_ *= 8;
    objects_mass_ *= 8;
    for (age_class& c : classes_) {
      rescale(c.hits, old, log);
      rescale(c.evictions, old, log);
    }
  }
  void rescale(std::vector<float>& by_age, std::uint32_t from, std::uint32_t to) const {
    std::vector<float> out(ages_);
    if (to < from) {
      std::uint32_t parts = 1u << (from - to);
      for (std::uint32_t a = 0; a < ages_; ++a) {
        for (std::uint32_t i = 0; i < parts; ++i) {
          out[std::min(a * parts + i, ages_ - 1)] += by_age[a] / static_cast<float>(parts);
        }
      }
    } else {
      for (std::uint32_t a = 0; a < ages_; ++a) {
        out[a >> (to - from)] += by_age[a];
      }
    }
    by_age.swap(out);
  }

  std::uint32_t samples_;
  random_stream random_;
  std::uint32_t ages_;  // steps
  std::vector<tag> tags_;
  slot_sizes sizes_;
  std::vector<age_class> classes_;
  std::int64_t budget_;  // units that explorers may still take
  std::uint64_t clock_ = 0;
  std::uint64_t resident_ = 0;
  std::uint32_t reconfigurations_ = 0;
  std::uint32_t shift_ = 10;
  float objects_ = 0;
  float objects_mass_ = 0;
  float victim_density_ = 0;
  slot_id newcomers_[8];
  std::uint32_t newcomer_ = 0;
  std::uint32_t cursor_ = 0;
};

const register_eviction<lhd> registration{
    policy_info{.name = "lhd",
                .summary = "evicts the least chance of a hit by size and time, as learnt by age",
                .source = "Beckmann, Chen and Cidon, LHD, NSDI 2018; as in libCacheSim",
                .parameters = {{.name = "samples",
                                .type = parameter_type::integer,
                                .standard = "32",
                                .description = "blocks drawn at random for a victim",
                                .low = 1,
                                .high = 1024}}}};

}  // namespace
}  // namespace refrain
