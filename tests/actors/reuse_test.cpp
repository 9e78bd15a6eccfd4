// Reuse of chunks, similar texts and versions in whole small runs: what is counted, what it costs,
// and what is never shared.
#include <gtest/gtest.h>

#include <map>

#include "tests/actors/run_fixture.hpp"

namespace refrain {
namespace {

using testing::quick_run;
using testing::small_plan;
using testing::small_workload;

constexpr auto document = segment_kind::document;
constexpr auto question = segment_kind::question;
constexpr auto web = segment_kind::web;

segment piece(segment_kind kind, std::uint64_t content, std::int64_t tokens) {
  return {content_id{content}, token_count{tokens}, kind};
}

/// One request a second, unless told otherwise.
void ask(small_workload& w, std::vector<segment> pieces, std::uint64_t salt = 0) {
  request r{};
  r.id = request_id{w.rows.size()};
  r.session = session_id{w.rows.size()};
  r.arrival = from_seconds(static_cast<double>(w.rows.size()));
  r.output_tokens = token_count{2};
  r.salt = salt;
  for (const segment& each : pieces) {
    r.input_tokens += each.tokens;
  }
  r.segments = std::move(pieces);
  w.info = {.format = "memory", .has_content = true, .id_scope = "trace"};
  w.rows.push_back(std::move(r));
}

/// A system prompt, up to five of 12 documents, some twice, and a question; two tenants.
small_workload random_documents(std::uint64_t seed, std::uint64_t count, double gap_s) {
  random_stream draws{seed, "random documents"};
  small_workload w;
  double now = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<segment> pieces{piece(segment_kind::system, 1 + draws.below(2), 9)};
    for (std::uint64_t k = draws.below(6); k > 0; --k) {
      std::uint64_t which = draws.below(12);
      pieces.push_back(piece(draws.below(9) == 0 ? web : document, 10 + which,
                             3 + static_cast<std::int64_t>(which)));
    }
    pieces.push_back(piece(question, draws.below(3) == 0 ? 40 : 100 + i, 6));
    ask(w, pieces, draws.below(5) == 0 ? 7 : 0);
    w.rows.back().arrival = from_seconds(now);
    w.rows.back().input_tokens += token_count{static_cast<std::int64_t>(draws.below(3))};
    w.rows.back().output_tokens = token_count{1 + static_cast<std::int64_t>(draws.below(12))};
    now += draws.exponential(gap_s);
  }
  return w;
}

contender_plan plan_of(const std::string& reuse, const given_parameters& given,
                       std::int64_t blocks = 4000, std::int64_t block = 4) {
  contender_plan p = small_plan(blocks, block, reuse, "lru");
  p.reuse = testing::choose<reuse_entry>(reuse, given);
  p.keys = key_scheme{token_count{block}, token_count{}};
  p.keys.chunk_kinds = needs_of_reuse(reuse, p.reuse.values).chunk_kinds;
  return p;
}

tier_plan tier_below(const contender_plan& above, std::int64_t blocks,
                     const std::string& name = "host") {
  tier_plan t{.kind = name == "host"   ? tier_kind::host
                      : name == "nvme" ? tier_kind::nvme
                                       : tier_kind::remote,
              .name = name};
  t.capacity = byte_count{blocks * above.block_bytes()};
  t.load.bytes_per_s = t.store.bytes_per_s = 50e9;
  t.own_links = name == "host";
  t.per_node = name != "remote";
  t.loading = tier_load::always;
  t.eviction = testing::choose<eviction_entry>("lru");
  return t;
}

std::vector<answer> answers(const small_workload& w, const contender_plan& p, bool serial = false,
                            bool seen = false) {
  workload_plan workload = w.plan();
  workload.serial = serial;
  workload.count_seen = seen;
  std::vector<answer> by_id(w.rows.size());
  for (request_over& row : quick_run(workload, p).rows) {
    by_id[row.id] = std::move(row.result);
  }
  return by_id;
}

void expect_books_to_balance(const small_workload& w, const std::vector<answer>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    const answer& a = all[i];
    if (a.refused != refusal::none) {
      continue;
    }
    EXPECT_LT(a.hit_tokens, w.rows[i].input_tokens);
    EXPECT_GE(a.hit_tokens, a.blended_tokens + a.approximate_tokens);
    EXPECT_EQ(a.computed_tokens,
              w.rows[i].input_tokens - a.hit_tokens - a.resumed_tokens + a.preempted_tokens);
    token_count sum;
    for (token_count tokens : a.lost) {
      EXPECT_GE(tokens, 0);
      sum += tokens;
    }
    EXPECT_EQ(sum, a.computed_tokens);
    const seen_tokens& s = a.seen;
    EXPECT_EQ(s.anywhere, a.hit_tokens - s.hits_unseen + s.lost_order + s.lost_floor +
                              s.lost_blended + s.lost_cache);
  }
}

// Debug builds check at every event that no block is lost and no pin forgotten.
TEST(chunk_runs, balance_their_books_in_pools_of_any_size) {
  std::int64_t preempted = 0, blended = 0, from_host = 0;
  for (std::uint64_t seed = 0; seed < (refrain_debug_checks ? 20u : 120u); ++seed) {
    SCOPED_TRACE(seed);
    small_workload w = random_documents(seed, 40, 0.003);
    const char* ratios[] = {"0", "0.3", "1"};
    const char* places[] = {"deviation", "spread", "head"};
    contender_plan p = plan_of("chunk",
                               {{"r", ratios[seed % 3]},
                                {"placement", places[seed / 3 % 3]},
                                {"exact_prefix", seed % 4 == 0 ? "false" : "true"},
                                {"chunks", seed % 5 == 0 ? "all" : "documents"}},
                               18 + static_cast<std::int64_t>(seed % 40));
    const char* evictions[] = {"lru", "infinite", "look_ahead_lru", "fifo"};
    p.eviction = testing::choose<eviction_entry>(evictions[seed % 4]);
    if (seed % 2 == 0) {
      p.tiers.push_back(tier_below(p, 200));
    }
    std::vector<answer> all = answers(w, p, false, true);
    expect_books_to_balance(w, all);
    for (const answer& a : all) {
      preempted += a.preempted_tokens;
      blended += a.blended_tokens;
      from_host += a.tier_hit_tokens[0];
    }
    contender_plan stepping = p;
    stepping.fast_forward = false;
    EXPECT_TRUE(testing::same_times(quick_run(w.plan(), p), quick_run(w.plan(), stepping)));
  }
  EXPECT_GT(preempted, 0);
  EXPECT_GT(blended, 0);
  EXPECT_GT(from_host, 0);
}

TEST(chunk_runs, at_ratio_one_are_runs_without_reuse) {
  small_workload w = random_documents(3, 60, 0.01);
  contender_plan p = plan_of("chunk", {{"r", "1"}, {"exact_prefix", "false"}});
  p.tiers.push_back(tier_below(p, 4000));
  workload_plan serial = w.plan();
  serial.serial = true;
  EXPECT_TRUE(testing::same_times(quick_run(serial, p), quick_run(serial, plan_of("none", {}))));
  for (const answer& a : answers(w, p, true)) {
    EXPECT_EQ(a.hit_tokens, 0);
  }
}

TEST(chunk_runs, compute_more_and_take_longer_the_larger_the_ratio) {
  small_workload w;
  for (std::uint64_t i = 0; i < 24; ++i) {
    ask(w, {piece(document, 2 + i % 3, 300), piece(document, 5 + i % 4, 200),
            piece(document, 9 + i % 5, 100), piece(question, 100 + i, 20)});
  }
  std::int64_t computed_before = 0;
  std::int64_t time_before = 0;
  for (const char* ratio : {"0", "0.15", "0.5", "1"}) {
    SCOPED_TRACE(ratio);
    contender_plan p = plan_of("chunk", {{"r", ratio}});
    p.batching = testing::choose<batching_entry>("fcfs");
    std::int64_t computed = 0;
    std::int64_t time = 0;
    for (const answer& a : answers(w, p, true)) {
      computed += a.computed_tokens;
      time += (a.first_token - a.arrived).count();
    }
    EXPECT_GT(computed, computed_before);
    EXPECT_GT(time, time_before);
    computed_before = computed;
    time_before = time;
  }
}

// With an endless cache, one request after the other, and blocks of any length.
TEST(chunk_runs, find_all_chunks_that_were_seen_anywhere) {
  for (std::int64_t block : {1, 4, 16}) {
    small_workload w = random_documents(5, 80, 0.01);
    contender_plan p = plan_of("chunk", {{"r", "0"}, {"chunks", "all"}}, 8000, block);
    for (const answer& a : answers(w, p, true, true)) {
      EXPECT_EQ(a.hit_tokens, a.seen.anywhere - a.seen.lost_floor);
      EXPECT_LE(a.seen.lost_floor, 1) << "a prompt's last token";
    }
  }
}

TEST(chunk_runs, take_what_was_computed_behind_the_same_text_as_exact_and_all_else_as_blended) {
  small_workload w;
  std::vector<segment> first{piece(segment_kind::system, 1, 8), piece(document, 2, 10),
                             piece(document, 3, 10), piece(question, 4, 8)};
  ask(w, first);
  ask(w, first);
  ask(w, {piece(segment_kind::system, 1, 8), piece(document, 3, 10), piece(document, 2, 10),
          piece(question, 4, 8)});
  ask(w, first);
  std::vector<answer> a = answers(w, plan_of("chunk", {{"r", "0"}}));
  EXPECT_EQ(a[1].hit_tokens, 35);
  EXPECT_EQ(a[1].blended_tokens, 0);
  EXPECT_EQ(a[2].hit_tokens, 28);
  EXPECT_EQ(a[2].blended_tokens, 20);
  EXPECT_EQ(a[3].hit_tokens, 35) << "what is computed behind a blend does not replace exact KV";
  EXPECT_EQ(a[3].blended_tokens, 0);
}

TEST(chunk_runs, do_not_call_exact_what_was_computed_behind_a_blend) {
  small_workload w;
  ask(w, {piece(document, 2, 10), piece(question, 9, 8)});
  std::vector<segment> blended{piece(document, 3, 10), piece(document, 2, 10),
                               piece(document, 4, 10), piece(question, 5, 8)};
  ask(w, blended);
  ask(w, blended);
  std::vector<answer> a = answers(w, plan_of("chunk", {{"r", "0"}}));
  EXPECT_EQ(a[1].blended_tokens, 10);
  EXPECT_EQ(a[2].hit_tokens, 30);
  EXPECT_EQ(a[2].blended_tokens, 20) << "3 is exact, 2 and 4 are not";
  EXPECT_EQ(a[2].computed_tokens, 8) << "nor is the question, which is computed again";
}

TEST(chunk_runs, count_a_document_that_stands_twice_in_a_prompt_as_often_as_it_is_found) {
  small_workload w;
  std::vector<segment> twice{piece(document, 2, 10), piece(document, 2, 10), piece(question, 4, 8)};
  ask(w, twice);
  twice.back() = piece(question, 5, 8);
  ask(w, twice);
  std::vector<answer> a = answers(w, plan_of("chunk", {{"r", "0"}}));
  EXPECT_EQ(a[0].hit_tokens, 0) << "its own first copy is still being computed";
  EXPECT_EQ(a[1].hit_tokens, 20);
}

// What a document is worth by salt, for every policy that shares and in every memory.
struct sharing {
  std::string reuse;
  given_parameters given;
};

TEST(salts, keep_tenants_apart_and_equal_ones_together_in_every_tier_and_kind_of_reuse) {
  std::vector<float> direction{1, 2};
  auto texts = std::make_shared<text_store>(2);
  for (std::uint64_t content : {2, 3}) {
    texts->add(content_id{content}, direction, {}, "test");
  }
  for (const sharing& how : {sharing{"prefix", {}}, sharing{"reorder", {}}, sharing{"chunk", {}},
                             sharing{"chunk", {{"chunks", "all"}}}, sharing{"versioned", {}},
                             sharing{"similar", {{"min_hit_rate", "0"}}}}) {
    for (const char* where : {"", "host", "nvme", "remote"}) {
      SCOPED_TRACE(how.reuse + " " + where);
      bool lower = *where != '\0';
      for (std::uint64_t other : {5, 6}) {
        small_workload w;
        ask(w, {piece(document, 2, 160), piece(question, 4, 8)}, 5);
        if (lower) {
          ask(w, {piece(question, 90, 380)}, 5);  // pushes the document out of GPU memory
        }
        bool similar = how.reuse == "similar" && !lower;
        ask(w, {piece(document, similar ? 3 : 2, 160), piece(question, 5, 8)}, other);
        w.info.texts = texts;
        contender_plan p = plan_of(how.reuse, how.given, 100);
        if (lower) {
          p.tiers.push_back(tier_below(p, 1000, where));
        }
        answer last = answers(w, p).back();
        EXPECT_EQ(last.hit_tokens > 0, other == 5);
        EXPECT_EQ(last.approximate_tokens > 0, other == 5 && similar);
        token_count loaded;
        for (token_count tokens : last.tier_hit_tokens) {
          loaded += tokens;
        }
        EXPECT_EQ(loaded > 0, other == 5 && lower);
      }
    }
  }
}

TEST(similar_runs, take_the_most_similar_text_that_is_still_cached_as_approximate) {
  auto texts = std::make_shared<text_store>(2);
  texts->add(content_id{2}, std::vector<float>{1, 0}, {}, "test");
  texts->add(content_id{3}, std::vector<float>{0.77f, 0.64f}, {}, "test");
  texts->add(content_id{4}, std::vector<float>{0.97f, 0.26f}, {}, "test");
  texts->add(content_id{5}, std::vector<float>{0, 1}, {}, "test");
  small_workload w;
  ask(w, {piece(document, 3, 40), piece(question, 20, 4)});
  ask(w, {piece(document, 2, 24), piece(question, 21, 4)});
  ask(w, {piece(document, 4, 40), piece(question, 22, 4)});
  ask(w, {piece(document, 5, 40), piece(question, 23, 4)});
  ask(w, {piece(document, 4, 40), piece(question, 24, 4)});
  w.info.texts = texts;
  std::vector<answer> a =
      answers(w, plan_of("similar", {{"min_hit_rate", "0"}, {"match", "cosine"}}));
  EXPECT_EQ(a[2].approximate_tokens, 24) << "the nearest is the shorter one";
  EXPECT_EQ(a[3].hit_tokens, 0);
  EXPECT_EQ(a[4].approximate_tokens, 24) << "behind KV of other text its own is of no use";
  std::vector<answer> gated =
      answers(w, plan_of("similar", {{"min_hit_rate", "0.9"}, {"match", "cosine"}}));
  EXPECT_EQ(gated[2].hit_tokens, 0);
}

// Text 2 is asked first; 3 is 2 reworded, 4 is 2 with another number, 5 another text.
class judged_texts final : public text_table {
 public:
  std::size_t width() const override { return 2; }
  std::span<const float> embedding(content_id content) const override {
    static const std::map<std::uint64_t, std::vector<float>> all{
        {2, {1, 0}}, {3, {0.98f, 0.2f}}, {4, {0.97f, -0.24f}}, {5, {0.9f, 0.44f}}};
    auto found = all.find(content.get());
    return found == all.end() ? std::span<const float>{} : found->second;
  }
  std::span<const std::uint32_t> tokens(content_id) const override { return {}; }
  stand_in judge(content_id wanted, content_id other) const override {
    EXPECT_NE(wanted, other);
    return wanted == content_id{5}   ? stand_in::other
           : wanted == content_id{4} ? stand_in::number
                                     : stand_in::right;
  }
};

TEST(similar_runs, count_reuse_by_what_the_workload_knows_of_the_text_that_stood_in) {
  small_workload w;
  for (std::uint64_t text : {2, 4, 3, 5, 2}) {
    ask(w, {piece(document, text, 40), piece(question, 90 + w.rows.size(), 4)});
  }
  w.info.texts = std::make_shared<judged_texts>();
  using counts = std::array<std::int64_t, stand_ins>;
  auto reuses = [&](const char* threshold) {
    counts sum{};
    auto given = given_parameters{{"similarity_threshold", threshold}, {"match", "cosine"}};
    for (const answer& each : answers(w, plan_of("similar", given))) {
      for (std::size_t i = 0; i < stand_ins; ++i) {
        sum[i] += each.reuses[i];
      }
    }
    return sum;
  };
  EXPECT_EQ(reuses("0.85"), (counts{0, 1, 1, 0, 1})) << "its own KV is no reuse of other text";
  EXPECT_EQ(reuses("0.95"), (counts{0, 1, 1, 0, 0}));
  EXPECT_EQ(reuses("0.975"), (counts{0, 1, 0, 0, 0}));
  EXPECT_EQ(reuses("1"), (counts{}));
}

small_workload updates() {
  small_workload w;
  for (std::uint32_t version : {1, 1, 2, 2, 1}) {
    segment quoted = piece(document, 50 + version, 40);
    quoted.document = content_id{9};
    quoted.version = version;
    ask(w, {quoted, piece(question, 20 + w.rows.size(), 4)});
    w.info.has_versions = true;
  }
  return w;
}

std::vector<std::int64_t> hits(const std::vector<answer>& all, token_count answer::*what) {
  std::vector<std::int64_t> values;
  for (const answer& a : all) {
    values.push_back(a.*what);
  }
  return values;
}

TEST(versioned_runs, never_take_an_outdated_document_where_they_check) {
  std::vector<answer> a = answers(updates(), plan_of("versioned", {{"r", "0"}}));
  using values = std::vector<std::int64_t>;
  EXPECT_EQ(hits(a, &answer::hit_tokens), (values{0, 40, 0, 40, 40}));
  EXPECT_EQ(hits(a, &answer::stale_tokens), (values{0, 0, 0, 0, 0}));
}

TEST(versioned_runs, count_outdated_documents_as_stale_and_approximate_where_they_do_not) {
  std::vector<answer> a =
      answers(updates(), plan_of("versioned", {{"r", "0"}, {"check", "never"}}));
  using values = std::vector<std::int64_t>;
  EXPECT_EQ(hits(a, &answer::hit_tokens), (values{0, 40, 40, 40, 40}));
  EXPECT_EQ(hits(a, &answer::stale_tokens), (values{0, 0, 40, 40, 0}));
  EXPECT_EQ(hits(a, &answer::approximate_tokens), (values{0, 0, 40, 40, 0}));
}

TEST(versioned_runs, compute_a_document_anew_for_ever_where_the_check_stores_nothing) {
  std::vector<answer> a =
      answers(updates(), plan_of("versioned", {{"r", "0"}, {"stores", "false"}}));
  EXPECT_EQ(hits(a, &answer::hit_tokens), (std::vector<std::int64_t>{0, 40, 0, 0, 40}));
}

TEST(reorder_runs, hit_more_of_the_same_documents_in_another_order_and_remember_what_was_sent) {
  small_workload w;
  ask(w, {piece(document, 2, 16), piece(document, 3, 16), piece(question, 20, 8)});
  ask(w, {piece(document, 3, 16), piece(document, 2, 16), piece(question, 21, 8)});
  std::vector<answer> a = answers(w, plan_of("reorder", {}));
  EXPECT_EQ(a[1].hit_tokens, 32);
  EXPECT_EQ(answers(w, plan_of("prefix", {}))[1].hit_tokens, 0);

  // The second turn repeats the first turn's documents in the retriever's order.
  small_workload chat;
  ask(chat, {piece(document, 9, 16), piece(document, 3, 16), piece(question, 20, 8)});
  chat.rows[0].last_turn = false;
  std::vector<segment> later = chat.rows[0].segments;
  for (segment& old : later) {
    old.past = true;
  }
  later.push_back(piece(question, 30, 8));
  ask(chat, later);
  chat.rows[1].session = chat.rows[0].session;
  chat.rows[1].turn = 1;
  chat.info.has_sessions = true;
  EXPECT_EQ(answers(chat, plan_of("reorder", {}))[1].hit_tokens, 40);
}

}  // namespace
}  // namespace refrain
