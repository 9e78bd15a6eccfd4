#include "actors/recorder_tables.hpp"

#include <limits>

namespace refrain {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// One column of a table over rows of type Row.
template <class Row>
struct integer_of {
  const char* name;
  const char* unit;
  const char* description;
  std::int64_t (*value)(const Row&);
};
template <class Row>
struct real_of {
  const char* name;
  const char* unit;
  const char* description;
  double (*value)(const Row&);
};

bool done(const request_over& r) {
  return r.result.refused == refusal::none;
}
double seconds_if_done(const request_over& r, sim_time span) {
  return done(r) ? to_seconds(span) : undefined;
}
std::int64_t below(const request_over& r, std::size_t tier) {
  return r.result.tier_hit_tokens[tier];
}
double tpot(const request_over& r) {
  if (!done(r) || r.output_tokens < 2) {
    return undefined;
  }
  double decoding = to_seconds(r.result.finished - r.result.first_token);
  return decoding / static_cast<double>(r.output_tokens - 1);
}
double measured(std::int64_t ns) {
  return ns < 0 ? undefined : to_seconds(sim_time{ns});
}

const integer_of<request_over> request_integers[] = {
    {"request", "1", "row of the trace, from 0",
     [](const request_over& r) -> std::int64_t { return static_cast<std::int64_t>(r.id.get()); }},
    {"session", "1", "conversation, from 0 in order of first appearance",
     [](const request_over& r) -> std::int64_t {
       return static_cast<std::int64_t>(r.session.get());
     }},
    {"turn", "1", "place in the conversation, from 0",
     [](const request_over& r) -> std::int64_t { return r.turn; }},
    {"status", "1", "0 done, 1 refused",
     [](const request_over& r) -> std::int64_t { return done(r) ? 0 : 1; }},
    {"reason", "1", "why refused: 0 not, 1 larger than the KV pool",
     [](const request_over& r) -> std::int64_t {
       return static_cast<std::int64_t>(r.result.refused);
     }},
    {"executor", "1", "executor that served it; where prefill and decode are apart, its prompt",
     [](const request_over& r) -> std::int64_t { return r.result.executor; }},
    {"decode_executor", "1", "executor that went on after the first token",
     [](const request_over& r) -> std::int64_t { return r.result.decode_executor; }},
    {"input_tokens", "tokens", "length of the prompt",
     [](const request_over& r) -> std::int64_t { return r.input_tokens; }},
    {"output_tokens", "tokens", "length of the answer",
     [](const request_over& r) -> std::int64_t { return r.output_tokens; }},
    {"hit_blocks", "blocks", "prompt blocks found at first admission",
     [](const request_over& r) -> std::int64_t { return r.result.hit_blocks; }},
    {"hit_tokens", "tokens", "prompt tokens not computed, at most input - 1",
     [](const request_over& r) -> std::int64_t { return r.result.hit_tokens; }},
    {"hit_tokens_gpu", "tokens", "of hit_tokens, found in GPU memory",
     [](const request_over& r) -> std::int64_t {
       return r.result.hit_tokens - below(r, 0) - below(r, 1) - below(r, 2);
     }},
    {"hit_tokens_host", "tokens", "of hit_tokens, found in host memory",
     [](const request_over& r) -> std::int64_t { return below(r, 0); }},
    {"hit_tokens_nvme", "tokens", "of hit_tokens, found on NVMe",
     [](const request_over& r) -> std::int64_t { return below(r, 1); }},
    {"hit_tokens_remote", "tokens", "of hit_tokens, found in a remote store",
     [](const request_over& r) -> std::int64_t { return below(r, 2); }},
    {"hit_tokens_exact", "tokens", "of hit_tokens, exact prefixes",
     [](const request_over& r) -> std::int64_t {
       return r.result.hit_tokens - r.result.blended_tokens - r.result.approximate_tokens;
     }},
    {"hit_tokens_blended", "tokens", "of hit_tokens, chunks that were computed behind other text",
     [](const request_over& r) -> std::int64_t { return r.result.blended_tokens; }},
    {"hit_tokens_approximate", "tokens", "of hit_tokens, KV of other text",
     [](const request_over& r) -> std::int64_t { return r.result.approximate_tokens; }},
    {"stale_tokens", "tokens", "of hit_tokens, from an outdated document version",
     [](const request_over& r) -> std::int64_t { return r.result.stale_tokens; }},
    {"pending_tokens", "tokens",
     "tokens right behind the hits that another request was computing at admission",
     [](const request_over& r) -> std::int64_t { return r.result.pending_tokens; }},
    {"computed_tokens", "tokens", "tokens that prefill computed: input - hit - resumed + preempted",
     [](const request_over& r) -> std::int64_t { return r.result.computed_tokens; }},
    {"preempted_tokens", "tokens", "tokens computed again after preemption",
     [](const request_over& r) -> std::int64_t { return r.result.preempted_tokens; }},
    {"resumed_tokens", "tokens",
     "prompt tokens found when it resumed after preemption that it had not computed",
     [](const request_over& r) -> std::int64_t { return r.result.resumed_tokens; }},
    {"preemptions", "1", "times preempted",
     [](const request_over& r) -> std::int64_t { return r.result.preemptions; }},
    {"moved_bytes", "bytes", "KV loaded from lower tiers for it, or handed over",
     [](const request_over& r) -> std::int64_t { return r.result.loaded_bytes; }},
    {"routable_tokens", "tokens",
     "leading prompt tokens that some executor held when the router decided; 0 where routers "
     "do not ask what executors hold (routers.watch)",
     [](const request_over& r) -> std::int64_t { return r.result.routable_tokens; }},
    {"routed_tokens", "tokens",
     "leading prompt tokens that the router believed to be in the executor it chose; 0 likewise",
     [](const request_over& r) -> std::int64_t { return r.result.routed_tokens; }},
};

const integer_of<request_over> seen_integers[] = {
    {"seen_tokens_anywhere", "tokens", "of chunks that an earlier prompt or answer held",
     [](const request_over& r) -> std::int64_t { return r.result.seen.anywhere; }},
    {"seen_tokens_prefix", "tokens", "of these, with all before them, in the same order",
     [](const request_over& r) -> std::int64_t { return r.result.seen.in_prefix; }},
    {"seen_lost_order", "tokens",
     "of seen_tokens_anywhere, no hits since they stood elsewhere or behind other text",
     [](const request_over& r) -> std::int64_t { return r.result.seen.lost_order; }},
    {"seen_lost_floor", "tokens",
     "of seen_tokens_anywhere, no hits since they fill no block, and last tokens",
     [](const request_over& r) -> std::int64_t { return r.result.seen.lost_floor; }},
    {"seen_lost_blended", "tokens", "of seen_tokens_anywhere, of reused chunks, computed again",
     [](const request_over& r) -> std::int64_t { return r.result.seen.lost_blended; }},
    {"seen_lost_cache", "tokens",
     "of seen_tokens_anywhere, no hits for other reasons: evicted, not kept, not visible",
     [](const request_over& r) -> std::int64_t { return r.result.seen.lost_cache; }},
    {"hit_tokens_unseen", "tokens",
     "of hit_tokens, of chunks that no earlier prompt held: similar text, another order of service",
     [](const request_over& r) -> std::int64_t { return r.result.seen.hits_unseen; }},
};

const integer_of<request_over> searched_integers[] = {
    {"retrieved_chunks", "1", "pieces of documents that were found and put into the prompt",
     [](const request_over& r) -> std::int64_t { return r.result.retrieval.chunks; }},
    {"retrieved_tokens", "tokens", "of input_tokens, pieces of documents that were found",
     [](const request_over& r) -> std::int64_t { return r.result.retrieval.tokens; }},
    {"retrieval_ns", "ns", "time of the search, measured or stated as retriever.timing says",
     [](const request_over& r) -> std::int64_t { return r.result.retrieval.took.count(); }},
};

std::int64_t taken(const request_over& r, stand_in truth) {
  return r.result.reuses[static_cast<std::size_t>(truth)];
}
std::int64_t wrong(const request_over& r) {
  return taken(r, stand_in::number) + taken(r, stand_in::negation) + taken(r, stand_in::other);
}

const integer_of<request_over> judged_integers[] = {
    {"harmless_edits", "1", "1: its text is another's with an edit that leaves the answer",
     [](const request_over& r) -> std::int64_t { return r.planted == planted_edit::harmless; }},
    {"number_edits", "1", "1: its text is another's with one number changed, and so the answer",
     [](const request_over& r) -> std::int64_t { return r.planted == planted_edit::number; }},
    {"negations", "1", "1: its text is another's with a negation, which changes the answer",
     [](const request_over& r) -> std::int64_t { return r.planted == planted_edit::negation; }},
    {"reuses", "1", "chunks whose KV was taken from other text; right_reuses + wrong_reuses",
     [](const request_over& r) { return taken(r, stand_in::right) + wrong(r); }},
    {"right_reuses", "1", "of reuses, from text with the same answer",
     [](const request_over& r) { return taken(r, stand_in::right); }},
    {"wrong_reuses", "1", "of reuses, from text with another answer: the three below", wrong},
    {"wrong_reuses_number", "1", "of wrong_reuses, the two texts differ by a planted number",
     [](const request_over& r) { return taken(r, stand_in::number); }},
    {"wrong_reuses_negation", "1", "of wrong_reuses, the two texts differ by a planted negation",
     [](const request_over& r) { return taken(r, stand_in::negation); }},
    {"wrong_reuses_other", "1", "of wrong_reuses, the two come of different texts",
     [](const request_over& r) { return taken(r, stand_in::other); }},
};

const integer_of<request_over> updated_integers[] = {
    {"stale_answers", "requests",
     "1: it took KV of a chunk that was outdated when it was retrieved",
     [](const request_over& r) -> std::int64_t { return r.result.stale_tokens > 0 ? 1 : 0; }},
};

const real_of<request_over> request_reals[] = {
    {"arrival_s", "s", "when the session sent it",
     [](const request_over& r) { return to_seconds(r.sent); }},
    {"queue_s", "s", "from its arrival at the executor to its first iteration",
     [](const request_over& r) {
       return seconds_if_done(r, r.result.admitted - r.result.arrived);
     }},
    {"ttft_s", "s", "from arrival to the first output token",
     [](const request_over& r) { return seconds_if_done(r, r.result.first_token - r.sent); }},
    {"tpot_s", "s", "(e2e - ttft) / (output - 1); nan below two output tokens", tpot},
    {"e2e_s", "s", "from arrival to the last output token",
     [](const request_over& r) { return seconds_if_done(r, r.result.finished - r.sent); }},
    {"finish_s", "s", "when the last output token was out",
     [](const request_over& r) { return seconds_if_done(r, r.result.finished); }},
};

const real_of<request_over> measured_reals[] = {
    {"measured_ttft_s", "s", "time to first token as the trace measured it",
     [](const request_over& r) { return measured(r.measured_ttft_ns); }},
    {"measured_e2e_s", "s", "time to last token as the trace measured it",
     [](const request_over& r) { return measured(r.measured_e2e_ns); }},
};

const integer_of<executor_sample> sample_integers[] = {
    {"executor", "1", "executor, from 0",
     [](const executor_sample& s) -> std::int64_t { return s.executor; }},
    {"running", "requests", "in the batch", [](const executor_sample& s) { return s.running; }},
    {"waiting", "requests", "in the queue", [](const executor_sample& s) { return s.waiting; }},
    {"used_blocks", "blocks", "held by running requests",
     [](const executor_sample& s) { return s.used_blocks; }},
    {"cached_blocks", "blocks", "findable and not held",
     [](const executor_sample& s) { return s.cached_blocks; }},
    {"iterations", "1", "ended since the start",
     [](const executor_sample& s) { return s.iterations; }},
    {"preemptions", "1", "since the start", [](const executor_sample& s) { return s.preemptions; }},
    {"evictions", "blocks", "since the start",
     [](const executor_sample& s) { return s.evictions; }},
};

const real_of<executor_sample> sample_reals[] = {
    {"time_s", "s", "virtual time", [](const executor_sample& s) { return to_seconds(s.time); }},
};

const integer_of<iteration_timed> iteration_integers[] = {
    {"executor", "1", "executor, from 0",
     [](const iteration_timed& i) -> std::int64_t { return i.executor; }},
    {"began_ns", "ns", "virtual time", [](const iteration_timed& i) { return i.began.count(); }},
    {"took_ns", "ns", "measured; what passed in virtual time",
     [](const iteration_timed& i) { return i.what.took.count(); }},
    {"expected_ns", "ns", "the same by formula, from hardware.gpu",
     [](const iteration_timed& i) { return i.expected.count(); }},
    {"prefill_tokens", "tokens", "new tokens of all chunks",
     [](const iteration_timed& i) { return i.what.prefill_tokens; }},
    {"prefill_context", "tokens", "cached tokens before them",
     [](const iteration_timed& i) { return i.what.prefill_context; }},
    {"decodes", "sequences", "one new token each",
     [](const iteration_timed& i) { return i.what.decodes; }},
    {"decode_context", "tokens", "keys that these see, summed",
     [](const iteration_timed& i) { return i.what.decode_context; }},
};

template <class Columns>
void declare_integers(table& t, const Columns& columns) {
  for (const auto& c : columns) {
    t.columns.push_back(integer_column(c.name, c.unit, c.description));
  }
}
template <class Columns>
void declare_reals(table& t, const Columns& columns) {
  for (const auto& c : columns) {
    t.columns.push_back(real_column(c.name, c.unit, c.description));
  }
}
template <class Columns, class Row>
void add_integers(table& t, std::size_t& at, const Columns& columns, const Row& row) {
  for (const auto& c : columns) {
    t.columns[at++].integers().push_back(c.value(row));
  }
}
template <class Columns, class Row>
void add_reals(table& t, std::size_t& at, const Columns& columns, const Row& row) {
  for (const auto& c : columns) {
    t.columns[at++].reals().push_back(c.value(row));
  }
}

}  // namespace

table requests_table(const request_columns& more) {
  table t;
  declare_integers(t, request_integers);
  for (std::size_t cause = 0; cause < lost_causes; ++cause) {
    std::string name = "lost_tokens_" + std::string{name_of(static_cast<lost_cause>(cause))};
    t.columns.push_back(
        integer_column(name, "tokens", "of computed_tokens, by cause; the causes sum to it"));
  }
  if (more.seen) {
    declare_integers(t, seen_integers);
  }
  declare_reals(t, request_reals);
  if (more.measured) {
    declare_reals(t, measured_reals);
  }
  if (more.searched) {
    declare_integers(t, searched_integers);
  }
  if (more.judged) {
    declare_integers(t, judged_integers);
  }
  if (more.updated) {
    declare_integers(t, updated_integers);
  }
  return t;
}

void add_request(table& rows, const request_over& row, const request_columns& more) {
  std::size_t at = 0;
  add_integers(rows, at, request_integers, row);
  for (token_count tokens : row.result.lost) {
    rows.columns[at++].integers().push_back(tokens);
  }
  if (more.seen) {
    add_integers(rows, at, seen_integers, row);
  }
  add_reals(rows, at, request_reals, row);
  if (more.measured) {
    add_reals(rows, at, measured_reals, row);
  }
  if (more.searched) {
    add_integers(rows, at, searched_integers, row);
  }
  if (more.judged) {
    add_integers(rows, at, judged_integers, row);
  }
  if (more.updated) {
    add_integers(rows, at, updated_integers, row);
  }
}

table executors_table() {
  table t;
  declare_reals(t, sample_reals);
  declare_integers(t, sample_integers);
  return t;
}

void add_sample(table& rows, const executor_sample& row) {
  std::size_t at = 0;
  add_reals(rows, at, sample_reals, row);
  add_integers(rows, at, sample_integers, row);
}

table iterations_table() {
  table t;
  declare_integers(t, iteration_integers);
  return t;
}

void add_iteration(table& rows, const iteration_timed& row) {
  std::size_t at = 0;
  add_integers(rows, at, iteration_integers, row);
}

table updates_table() {
  return {{real_column("time_s", "s", "virtual time of the update"),
           integer_column("revision", "1", "of the stream, from 0"),
           text_column("op", "A added, M changed, D removed"), text_column("document", "its path"),
           integer_column("bytes", "bytes", "of the new text"),
           integer_column("surviving_bytes", "bytes",
                          "of these, in chunks whose KV is as good as before"),
           integer_column("chunks", "1", "of the new text"),
           integer_column("surviving_chunks", "1", "of these, likewise"),
           integer_column("outdated_chunks", "1", "chunks that are no more")}};
}

void add_update(table& rows, const corpus_change& change, const update_stream& updates) {
  constexpr std::string_view ops = "AMD";
  rows.at("time_s").reals().push_back(to_seconds(change.when));
  rows.at("op").texts().emplace_back(1, ops[static_cast<std::size_t>(change.op)]);
  rows.at("document").texts().push_back(updates.history->documents[change.document]);
  auto add = [&rows](const char* name, std::uint64_t value) {
    rows.at(name).integers().push_back(static_cast<std::int64_t>(value));
  };
  add("revision", change.event);
  add("bytes", change.bytes);
  add("surviving_bytes", change.surviving_bytes);
  add("chunks", change.chunks);
  add("surviving_chunks", change.surviving_chunks);
  add("outdated_chunks", change.outdated.size());
}

table tiers_table(const contender_plan& plan, const std::vector<executor_sample>& last,
                  const std::vector<tier_summary>& below) {
  table t{{text_column("tier", "which memory"),
           integer_column("instance", "1", "executor (gpu) or node"),
           integer_column("capacity_blocks", "blocks", "blocks it has room for"),
           integer_column("peak_blocks", "blocks", "most blocks held at once"),
           integer_column("held_blocks", "blocks", "held at the end"),
           integer_column("stored_blocks", "blocks", "written in all; of gpu memory, 0"),
           integer_column("loaded_blocks", "blocks", "read towards the GPU in all"),
           integer_column("evicted_blocks", "blocks", "evicted in all"),
           integer_column("invalidated_blocks", "blocks", "found outdated in all"),
           integer_column("dropped_blocks", "blocks", "not stored: no staging, no room, refused"),
           integer_column("block_bytes", "bytes", "size of a block, all ranks together")}};
  auto add = [&](const std::string& name, std::initializer_list<std::int64_t> values) {
    t.columns[0].texts().push_back(name);
    std::size_t at = 1;
    for (std::int64_t value : values) {
      t.columns[at++].integers().push_back(value);
    }
  };
  for (const executor_sample& s : last) {
    add("gpu", {s.executor, plan.blocks, s.peak_blocks, s.used_blocks + s.cached_blocks, 0, 0,
                s.evictions, s.invalidated, 0, plan.block_bytes()});
  }
  for (const tier_summary& s : below) {
    const tier_plan& tier = plan.tiers[s.tier];
    add(tier.name, {s.instance, tier.capacity / plan.block_bytes(), s.peak_blocks, s.held_blocks,
                    s.stored_blocks, s.loaded_blocks, s.evicted_blocks, s.invalidated_blocks,
                    s.dropped_blocks, plan.block_bytes()});
  }
  return t;
}

}  // namespace refrain
