// Sticky sessions: a session stays on the executor that has served it until that one is loaded by
// more than a threshold beyond the least loaded, and then moves there for good; a new session goes
// to the least loaded. What is cached is not asked for. As llm-d's affinity filter ("sticky until
// saturated"), with saturation told by requests and not by utilisation. A session is forgotten with
// its last turn, so memory is that of live sessions.
#include <absl/container/flat_hash_map.h>

#include "policies/routing.hpp"

namespace refrain {
namespace {

class sticky final : public routing {
 public:
  explicit sticky(const parameters& values) : threshold_{values.integer("threshold")} {}

  std::size_t choose(const routed_request& request,
                     std::span<const executor_view> executors) override {
    std::size_t to = least(executors, load);
    auto home = homes_.find(request.session);
    if (home != homes_.end() && load(executors[home->second]) - load(executors[to]) <= threshold_) {
      to = home->second;
    }
    if (request.last_turn) {
      homes_.erase(request.session);
    } else {
      homes_[request.session] = to;
    }
    return to;
  }

 private:
  static std::int64_t load(const executor_view& e) { return e.outstanding_requests; }

  std::int64_t threshold_;
  absl::flat_hash_map<session_id, std::size_t> homes_;
};

const register_policy<routing_entry> registration{
    {policy_info{.name = "sticky",
                 .summary = "keeps a session where it is until that executor is overloaded",
                 .source = "session affinity; llm-d, \"sticky until saturated\" (2025)",
                 .parameters = {{.name = "threshold",
                                 .type = parameter_type::integer,
                                 .standard = "8",
                                 .description = "requests by which its executor may exceed the "
                                                "least loaded"}}},
     [](const parameters& values) -> std::unique_ptr<routing> {
       return std::make_unique<sticky>(values);
     },
     routing_needs{.sessions = true}}};

}  // namespace
}  // namespace refrain
