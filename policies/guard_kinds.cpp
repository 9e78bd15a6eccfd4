// The guards of the smaller kinds: each passes calls on and checks the answer's range, since what
// asks for it indexes with it or waits for it.
#include "policies/guard.hpp"

namespace refrain {

namespace {

class guarded_admission final : public admission {
 public:
  guarded_admission(const std::string& who, std::unique_ptr<admission> policy)
      : guard_{who}, policy_{std::move(policy)} {}

  std::int64_t limit(std::int64_t capacity) const override {
    std::int64_t units = guard_.call("limit", [&] { return policy_->limit(capacity); });
    if (units < 0 || units > capacity) {
      guard_.fail("limit() said " + std::to_string(units) + "; expected 0 to " +
                  std::to_string(capacity));
    }
    return units;
  }
  std::size_t leading(std::span<const block_key> keys) override {
    return guard_.call("leading", [&] { return policy_->leading(keys); });
  }
  void on_access(block_key key) override {
    guard_.call("on_access", [&] { policy_->on_access(key); });
  }
  bool admit(const entry_view& entry, const block_key* victim) override {
    return guard_.call("admit", [&] { return policy_->admit(entry, victim); });
  }
  void on_evict(block_key key) override {
    guard_.call("on_evict", [&] { policy_->on_evict(key); });
  }

 private:
  call_guard guard_;
  std::unique_ptr<admission> policy_;
};

class guarded_reuse final : public reuse {
 public:
  guarded_reuse(const std::string& who, std::unique_ptr<reuse> policy)
      : guard_{who}, policy_{std::move(policy)} {}

  bool shares() const override {
    return guard_.call("shares", [&] { return policy_->shares(); });
  }
  std::int64_t plan(const reuse_offer& offer) override {
    std::int64_t blocks = guard_.call("plan", [&] { return policy_->plan(offer); });
    if (blocks < 0 || blocks > offer.leading_blocks) {
      guard_.fail("plan() took " + std::to_string(blocks) + " blocks of " +
                  std::to_string(offer.leading_blocks));
    }
    return blocks;
  }

 private:
  call_guard guard_;
  std::unique_ptr<reuse> policy_;
};

class guarded_batching final : public batching {
 public:
  guarded_batching(const std::string& who, std::unique_ptr<batching> policy)
      : guard_{who}, policy_{std::move(policy)} {}

  token_count token_budget() const override {
    token_count tokens = guard_.call("token_budget", [&] { return policy_->token_budget(); });
    check("token_budget", tokens);
    return tokens;
  }
  std::int64_t max_sequences() const override {
    std::int64_t most = guard_.call("max_sequences", [&] { return policy_->max_sequences(); });
    check("max_sequences", most);
    return most;
  }

 private:
  void check(const char* name, std::int64_t value) const {
    if (value < 1) {
      guard_.fail(std::string{name} + "() said " + std::to_string(value) + "; expected at least 1");
    }
  }

  call_guard guard_;
  std::unique_ptr<batching> policy_;
};

class guarded_routing final : public routing {
 public:
  guarded_routing(const std::string& who, std::unique_ptr<routing> policy)
      : guard_{who}, policy_{std::move(policy)} {}

  std::size_t choose(const routed_request& request,
                     std::span<const executor_view> executors) override {
    std::size_t at = guard_.call("choose", [&] { return policy_->choose(request, executors); });
    if (at >= executors.size()) {
      guard_.fail("choose() named executor " + std::to_string(at) + " of " +
                  std::to_string(executors.size()) + ", counted from 0");
    }
    return at;
  }

 private:
  call_guard guard_;
  std::unique_ptr<routing> policy_;
};

/// `entry` with `Guard` around every policy that it makes.
template <class Guard, class Entry>
Entry with_guard(const Entry& entry, const std::string& who) {
  Entry safe = entry;
  safe.make = [make = entry.make, who](const auto&... arguments) {
    auto policy = call_guard{who}.call("constructor", [&] { return make(arguments...); });
    if (policy == nullptr) {
      throw run_error{who + ": made no policy"};
    }
    return std::make_unique<Guard>(who, std::move(policy));
  };
  return safe;
}

}  // namespace

admission_entry guarded(const admission_entry& entry, const std::string& who) {
  admission_entry safe = with_guard<guarded_admission>(entry, who);
  safe.needs = [needs = entry.needs, who](const parameters& values) {
    return call_guard{who}.call("needs", [&] { return needs(values); });
  };
  return safe;
}
reuse_entry guarded(const reuse_entry& entry, const std::string& who) {
  return with_guard<guarded_reuse>(entry, who);
}
batching_entry guarded(const batching_entry& entry, const std::string& who) {
  return with_guard<guarded_batching>(entry, who);
}
routing_entry guarded(const routing_entry& entry, const std::string& who) {
  return with_guard<guarded_routing>(entry, who);
}

}  // namespace refrain
