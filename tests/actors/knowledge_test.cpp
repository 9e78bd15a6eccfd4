// The knowledge base: updates of the corpus while questions are asked, and what becomes of the KV
// of older chunks in every memory.
#include "actors/knowledge_base.hpp"

#include <set>

#include "tests/actors/run_fixture.hpp"
#include "traces/corpus/questions.hpp"
#include "traces/keys.hpp"

namespace refrain::testing {
namespace {

/// A section that is one chunk of about 60 tokens, and one that differs in its end.
std::string section(const std::string& word, int edition) {
  std::string text = "# " + word + "\n";
  while (text.size() < 220) {
    text += word + " ";
  }
  return text + std::to_string(edition) + "\n";
}

constexpr chunk_settings by_heading{.rule = chunk_rule::heading, .span_tokens = token_count{64}};

struct edit {
  double at_s;
  std::string text;
  std::uint32_t page = 0;
};

/// Requests at these times that all ask for the first page, or for the page that is named.
struct asked {
  double at_s;
  std::uint32_t page = 0;
};

/// Pages that change, and questions about them at stated times.
struct changing_pages {
  std::vector<std::string> at_start;
  std::vector<edit> edits;
  std::vector<asked> questions;
  std::vector<request> rows{};
  trace_info info{};
  std::shared_ptr<corpus> what = std::make_shared<corpus>();
  update_stream updates{};

  void prepare() {
    auto history = std::make_shared<revision_history>();
    for (std::size_t i = 0; i < at_start.size(); ++i) {
      std::string name = "page" + std::to_string(i);
      history->documents.push_back(name);
      history->events.push_back({.document = static_cast<std::uint32_t>(i), .text = at_start[i]});
      what->documents.push_back({name, at_start[i]});
      std::string p = " p" + std::to_string(i);
      what->questions.push_back({name, "what of" + p + p + "b" + p + "c alpha?", {}});
    }
    // Milliseconds, so that updates fall between questions.
    for (const edit& each : edits) {
      history->events.push_back({.seconds = std::llround(each.at_s * 1000),
                                 .op = revision_op::modify,
                                 .document = each.page,
                                 .text = each.text});
    }
    updates = {history, at_start.size(), history->events.size(), 1000};
    info.format = "memory";
    info.has_content = info.has_versions = true;
    for (const asked& each : questions) {
      request r{};
      r.id = request_id{rows.size()};
      r.session = session_id{rows.size()};
      r.arrival = from_seconds(each.at_s);
      r.segments = {{content_of_question(what->questions[each.page]), token_count{5},
                     segment_kind::question}};
      r.input_tokens = token_count{5};
      r.output_tokens = token_count{4};
      rows.push_back(r);
    }
  }

  workload_plan workload() const {
    workload_plan plan;
    plan.open = [this] { return std::make_unique<vector_source>(rows, info); };
    plan.info = info;
    plan.requests = rows.size();
    return plan;
  }

  contender_plan contender(knowledge_protocol protocol, double delay_s, std::int64_t blocks = 1000,
                           survival rule = survival::chunk) const {
    contender_plan plan = small_plan(blocks, 16, "chunk", "lru");
    plan.keys = key_scheme{token_count{16}, token_count{0}};
    plan.keys.chunk_kinds = needs_of_reuse("chunk", plan.reuse.values).chunk_kinds;
    plan.knowledge = {updates, what, rule, protocol, from_seconds(delay_s)};
    search_settings how{.chunks = by_heading, .width = 4096, .top = 3};
    plan.retrieval.search = std::make_shared<corpus_search>(what, how);
    return plan;
  }
};

tier_plan host_below(const contender_plan& above) {
  tier_plan t{.kind = tier_kind::host, .name = "host"};
  t.capacity = byte_count{2000 * above.block_bytes()};
  t.load.bytes_per_s = t.store.bytes_per_s = 50e9;
  t.own_links = true;
  t.loading = tier_load::always;
  t.eviction = choose<eviction_entry>("lru");
  return t;
}

/// The memory recorder of a run in which the corpus changes.
class update_recorder final : public caf::event_based_actor {
 public:
  update_recorder(caf::actor_config& config, contender_control* control,
                  std::vector<request_over>* rows, std::vector<corpus_change>* changes,
                  std::int64_t* invalidated, std::int64_t* invalidated_below)
      : caf::event_based_actor{config},
        control_{*control},
        rows_{*rows},
        changes_{*changes},
        invalidated_{*invalidated},
        invalidated_below_{*invalidated_below} {}

 protected:
  caf::behavior make_behavior() override {
    return {[this](const request_over& row) {
              rows_.push_back(row);
              control_.finished.fetch_add(1);
            },
            [this](const corpus_changed& row) { changes_.push_back(row.what); },
            [this](const executor_sample& row) { invalidated_ = row.invalidated; },
            [this](const tier_summary& row) { invalidated_below_ += row.invalidated_blocks; },
            [](close_books) {}};
  }

 private:
  contender_control& control_;
  std::vector<request_over>& rows_;
  std::vector<corpus_change>& changes_;
  std::int64_t& invalidated_;
  std::int64_t& invalidated_below_;
};

struct knowledge_results {
  std::vector<request_over> rows{};  // by request
  std::vector<corpus_change> changes{};
  std::int64_t invalidated = 0;
  std::int64_t invalidated_below = 0;

  std::int64_t stale(std::size_t request) const { return rows.at(request).result.stale_tokens; }
  std::int64_t stale_answers() const {
    return std::ranges::count_if(rows, [](const auto& r) { return r.result.stale_tokens > 0; });
  }
};

knowledge_results run_of(const changing_pages& pages, const contender_plan& plan) {
  knowledge_results results;
  contender_control control;
  auto record = [&](caf::actor_system& system, contender_context&) {
    return system.spawn<update_recorder>(&control, &results.rows, &results.changes,
                                         &results.invalidated, &results.invalidated_below);
  };
  run_contender(pages.workload(), plan, record, control);
  std::ranges::sort(results.rows, {}, &request_over::id);
  return results;
}

changing_pages one_edit() {
  changing_pages pages;
  pages.at_start = {section("p0", 1) + section("alpha", 1)};
  pages.edits = {{2.5, section("p0", 2) + section("alpha", 1)}};
  pages.questions = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  pages.prepare();
  return pages;
}

TEST(a_knowledge_base, has_no_outdated_chunk_used_under_the_strict_protocol) {
  changing_pages pages = one_edit();
  for (double delay : {0.0, 2.0, 1000.0}) {
    knowledge_results results = run_of(pages, pages.contender(knowledge_protocol::strict, delay));
    EXPECT_EQ(results.stale_answers(), 0);
    ASSERT_EQ(results.changes.size(), 1u);
    EXPECT_EQ(results.changes[0].when, from_seconds(2.5));
    // What changed is computed once; what did not is found.
    EXPECT_GT(results.rows[3].result.computed_tokens, results.rows[2].result.computed_tokens + 40);
    EXPECT_LT(results.rows[3].result.computed_tokens, results.rows[0].result.computed_tokens - 40);
    EXPECT_EQ(results.rows[5].result.computed_tokens, results.rows[2].result.computed_tokens);
  }
}

TEST(a_knowledge_base, lets_caches_take_outdated_chunks_until_the_news_have_come) {
  changing_pages pages = one_edit();
  // Asked at 3, 4 and 5 seconds: after the update, before the news.
  knowledge_results results = run_of(pages, pages.contender(knowledge_protocol::loose, 3));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(results.stale(i) > 0, i >= 3 && i <= 5) << "request " << i;
  }
  EXPECT_EQ(run_of(pages, pages.contender(knowledge_protocol::loose, 0)).stale_answers(), 0);
  EXPECT_EQ(run_of(pages, pages.contender(knowledge_protocol::loose, 1000)).stale_answers(), 5);
}

TEST(a_knowledge_base, tells_the_tiers_below_the_gpu) {
  changing_pages pages;
  // Two pages take turns in a GPU that holds one of them: each comes back from host memory.
  for (int i = 0; i < 2; ++i) {
    std::string p = "p" + std::to_string(i);
    pages.at_start.push_back(section(p, 1) + section(p + "b", 1) + section(p + "c", 1));
  }
  pages.edits = {{4.5, section("p0", 2) + section("p0b", 2) + section("p0c", 2)}};
  for (int i = 0; i < 16; ++i) {
    pages.questions.push_back({static_cast<double>(i), static_cast<std::uint32_t>(i % 2)});
  }
  pages.prepare();
  contender_plan plan = pages.contender(knowledge_protocol::loose, 4, 16);
  plan.tiers = {host_below(plan)};
  knowledge_results results = run_of(pages, plan);
  EXPECT_GT(results.rows[4].result.tier_hit_tokens[0], 0);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(results.stale(i) > 0, i == 6 || i == 8) << "request " << i;
  }
  EXPECT_GT(results.rows[6].result.tier_hit_tokens[0], 0);
  EXPECT_GT(results.invalidated_below, 0);
  plan.knowledge.protocol = knowledge_protocol::strict;
  EXPECT_EQ(run_of(pages, plan).stale_answers(), 0);
}

TEST(a_knowledge_base, lets_a_version_that_comes_back_hit_again_while_its_kv_is_there) {
  changing_pages pages;
  pages.at_start = {section("p0", 1) + section("alpha", 1)};
  pages.edits = {{2.5, section("p0", 2) + section("alpha", 1)}, {4.5, pages.at_start[0]}};
  pages.questions = {{0}, {1}, {2}, {3}, {4}, {5}, {6}};
  pages.prepare();
  for (survival rule : {survival::prefix, survival::chunk}) {
    contender_plan late = pages.contender(knowledge_protocol::strict, 1000, 1000, rule);
    knowledge_results results = run_of(pages, late);
    EXPECT_EQ(results.rows[5].result.computed_tokens, results.rows[2].result.computed_tokens);
    EXPECT_EQ(results.invalidated, 0);
    contender_plan at_once = pages.contender(knowledge_protocol::strict, 0, 1000, rule);
    results = run_of(pages, at_once);
    EXPECT_GT(results.rows[5].result.computed_tokens, results.rows[2].result.computed_tokens + 40);
    EXPECT_EQ(results.rows[6].result.computed_tokens, results.rows[2].result.computed_tokens);
    EXPECT_GT(results.invalidated, 0);
  }
}

TEST(a_knowledge_base, saves_more_by_chunk_than_by_prefix) {
  changing_pages pages = one_edit();
  auto computed = [&](survival rule) {
    return run_of(pages, pages.contender(knowledge_protocol::strict, 0, 1000, rule))
        .rows[3]
        .result.computed_tokens;
  };
  EXPECT_LT(computed(survival::chunk) + 40, computed(survival::prefix));
}

/// Pages that are edited at random while they are asked for in quick succession.
changing_pages random_race(std::uint64_t seed) {
  random_stream draws{seed, "race"};
  changing_pages pages;
  std::vector<std::vector<int>> editions(3, std::vector<int>(3, 1));
  auto text_of = [&](std::size_t page) {
    std::string text;
    for (std::size_t part = 0; part < 3; ++part) {
      std::string word = "p" + std::to_string(page) + (part == 0 ? "" : part == 1 ? "b" : "c");
      text += section(word, editions[page][part]);
    }
    return text;
  };
  for (std::size_t page = 0; page < 3; ++page) {
    pages.at_start.push_back(text_of(page));
  }
  double now = 0;
  for (int i = 0; i < 60; ++i) {
    now += draws.exponential(0.02);
    auto page = static_cast<std::uint32_t>(draws.below(3));
    if (draws.below(3) == 0) {
      // Few editions, so that old ones come back.
      editions[page][draws.below(3)] = 1 + static_cast<int>(draws.below(3));
      pages.edits.push_back({now, text_of(page), page});
    } else {
      // Some are asked at the very instant of an update.
      bool at_once = draws.below(4) == 0 && !pages.edits.empty();
      double when = at_once ? std::round(pages.edits.back().at_s * 1000) / 1000 : now;
      pages.questions.push_back(
          {std::max(when, pages.questions.empty() ? 0 : pages.questions.back().at_s), page});
    }
  }
  pages.prepare();
  return pages;
}

/// Sees that each prompt holds just what the documents hold when it is asked, and that the first
/// pass foresees it.
void expect_present_chunks(const changing_pages& pages, const contender_plan& plan,
                           const knowledge_results& results) {
  auto rows = with_documents(
      std::make_unique<vector_source>(pages.rows, pages.info),
      std::make_unique<living_corpus>(pages.updates, pages.what, plan.retrieval.search->settings(),
                                      plan.knowledge.rule));
  request row;
  while (rows->next(row)) {
    std::size_t events = pages.updates.first;
    while (events < pages.updates.end && pages.updates.when(events) <= row.arrival) {
      ++events;
    }
    std::set<std::uint64_t> texts;
    for (const corpus_document& page : corpus_after(*pages.updates.history, events).documents) {
      for (const text_chunk& piece : cut_text(page.text, by_heading)) {
        texts.insert(fingerprint_of(piece.in(page.text)).content().get());
      }
    }
    for (const segment& piece : row.segments) {
      EXPECT_TRUE(piece.kind != segment_kind::document || texts.contains(piece.content.get()));
    }
    EXPECT_EQ(results.rows.at(row.id.get()).input_tokens, row.input_tokens);
  }
}

TEST(a_knowledge_base, wins_every_race_under_the_strict_protocol) {
  std::int64_t loose_stale = 0;
  std::int64_t from_host = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    changing_pages pages = random_race(seed);
    random_stream draws{seed, "settings"};
    bool tiers = draws.below(2) == 0;
    std::int64_t blocks = tiers ? 24 : 200;
    double delay = static_cast<double>(draws.below(3)) * 0.05;
    survival rule = draws.below(2) == 0 ? survival::prefix : survival::chunk;
    contender_plan plan = pages.contender(knowledge_protocol::strict, delay, blocks, rule);
    if (tiers) {
      plan.tiers = {host_below(plan)};
      plan.tiers[0].load.latency = from_seconds(0.01);  // transfers are under way for long
      plan.tiers[0].write = draws.below(2) == 0 ? tier_write::demote : tier_write::through;
    }
    knowledge_results results = run_of(pages, plan);
    ASSERT_EQ(results.rows.size(), pages.rows.size());
    EXPECT_EQ(results.stale_answers(), 0);
    for (const request_over& row : results.rows) {
      EXPECT_EQ(row.result.approximate_tokens, 0);
      from_host += row.result.tier_hit_tokens[0];
    }
    expect_present_chunks(pages, plan, results);
    plan.fast_forward = false;
    knowledge_results stepped = run_of(pages, plan);
    for (std::size_t i = 0; i < results.rows.size(); ++i) {
      EXPECT_EQ(results.rows[i].result.finished, stepped.rows[i].result.finished);
      EXPECT_EQ(results.rows[i].result.hit_tokens, stepped.rows[i].result.hit_tokens);
    }
    plan.knowledge.protocol = knowledge_protocol::loose;
    loose_stale += run_of(pages, plan).stale_answers();
  }
  EXPECT_GT(loose_stale, 0);
  EXPECT_GT(from_host, 0);
}

TEST(a_knowledge_base, leaves_prefix_reuse_right_since_its_keys_are_the_text) {
  changing_pages pages = one_edit();
  contender_plan plan = pages.contender(knowledge_protocol::loose, 1000);
  plan.reuse = choose<reuse_entry>("prefix");
  plan.keys.chunk_kinds = 0;
  knowledge_results results = run_of(pages, plan);
  EXPECT_EQ(results.stale_answers(), 0);
  EXPECT_EQ(results.changes.size(), 1u);
  EXPECT_EQ(results.invalidated, 0);
}

TEST(a_knowledge_base, gives_documents_versions_that_a_version_check_sees) {
  changing_pages pages = one_edit();
  contender_plan plan = pages.contender(knowledge_protocol::strict, 1000);
  plan.reuse = choose<reuse_entry>("versioned", {{"check", "never"}});
  EXPECT_EQ(run_of(pages, plan).stale_answers(), 5);
  plan.reuse = choose<reuse_entry>("versioned", {{"check", "always"}});
  EXPECT_EQ(run_of(pages, plan).stale_answers(), 0);
}

}  // namespace
}  // namespace refrain::testing
