// The retriever: what it finds is in the prompts that executors see, and the search takes its time.
#include "actors/retriever.hpp"

#include "tests/actors/run_fixture.hpp"
#include "traces/corpus/questions.hpp"

namespace refrain::testing {
namespace {

std::shared_ptr<corpus> small_corpus() {
  auto what = std::make_shared<corpus>();
  what->source = "memory";
  for (const char* word : {"wing", "slab", "jet", "hull"}) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += std::string{word} + " number " + std::to_string(i) + ". ";
    }
    what->documents.push_back({word, text});
    what->questions.push_back({word, std::string{"what of the "} + word + "?", {}});
  }
  what->questions.push_back({"nothing", "?!", {}});
  return what;
}

struct searched_workload {
  std::shared_ptr<const corpus> what = small_corpus();
  question_settings ask{.requests = 40, .per_second = 20, .output_tokens = token_count{8}};
  search_settings how{.chunks = {chunk_rule::fixed, token_count{32}}, .width = 128, .top = 3};

  std::unique_ptr<source> open() const { return make_question_source(what, ask, 1); }

  workload_plan workload() const {
    workload_plan plan;
    plan.open = [this] { return open(); };
    plan.info = open()->info();
    plan.requests = ask.requests;
    return plan;
  }

  contender_plan contender(sim_time latency) const {
    contender_plan plan = small_plan(1000, 16, "prefix", "lru");
    plan.keys = key_scheme{token_count{16}, token_count{0}};
    plan.retrieval.latency = latency;
    plan.retrieval.search = std::make_shared<corpus_search>(what, how);
    return plan;
  }
};

TEST(retriever, puts_what_it_finds_before_the_question) {
  searched_workload w;
  contender_plan plan = w.contender(from_seconds(0.003));
  quick_results results = quick_run(w.workload(), plan);
  ASSERT_EQ(results.rows.size(), 40u);
  std::vector<request> expected(40);
  auto rows = with_documents(w.open(), plan.retrieval.search);
  for (request& row : expected) {
    ASSERT_TRUE(rows->next(row));
  }
  std::size_t without = 0;
  for (const request_over& row : results.rows) {
    const request& whole = expected.at(row.id.get());
    const search_result& found = row.result.retrieval;
    EXPECT_EQ(row.input_tokens, whole.input_tokens);
    EXPECT_EQ(found.took, from_seconds(0.003));
    EXPECT_EQ(row.result.arrived, row.sent + found.took);
    if (whole.segments.back().content == content_of_question(w.what->questions.back())) {
      ++without;
      EXPECT_EQ(found.chunks, 0);
      EXPECT_EQ(whole.segments.size(), 2u);
      continue;
    }
    EXPECT_EQ(found.chunks, 3);
    ASSERT_EQ(whole.segments.size(), 5u);
    EXPECT_EQ(whole.segments[0].kind, segment_kind::system);
    EXPECT_EQ(whole.segments[1].kind, segment_kind::document);
    EXPECT_EQ(whole.segments[4].kind, segment_kind::question);
  }
  EXPECT_GT(without, 0u);
}

TEST(retriever, lets_equal_questions_share_all_that_they_find) {
  searched_workload w;
  w.what = [] {
    auto one = small_corpus();
    one->questions.resize(1);
    return one;
  }();
  quick_results results = quick_run(w.workload(), w.contender(sim_time{0}));
  std::int64_t whole = 0;
  for (const request_over& row : results.rows) {
    whole += row.result.hit_tokens >= row.input_tokens - 16;
  }
  EXPECT_GT(whole, 30);
}

TEST(retriever, times_searches_where_it_is_told_to) {
  searched_workload w;
  contender_plan plan = w.contender(from_seconds(0.001));
  plan.retrieval.measured = true;
  for (const request_over& row : quick_run(w.workload(), plan).rows) {
    EXPECT_GT(row.result.retrieval.took, from_seconds(0.001));
    EXPECT_EQ(row.result.arrived, row.sent + row.result.retrieval.took);
  }
}

TEST(retriever, passes_on_prompts_without_a_question_that_the_corpus_has) {
  searched_workload w;
  small_workload other = random_chains(1, 20, 16, 100, 0.1);
  other.info.has_chains = false;
  other.info.has_content = true;
  for (request& row : other.rows) {
    row.blocks.clear();
    row.segments = {{content_id{row.id.get() + 1}, row.input_tokens, segment_kind::question}};
  }
  quick_results results = quick_run(other.plan(), w.contender(sim_time{0}));
  ASSERT_EQ(results.rows.size(), 20u);
  for (const request_over& row : results.rows) {
    EXPECT_EQ(row.result.retrieval.chunks, 0);
    EXPECT_EQ(row.input_tokens, other.rows[row.id.get()].input_tokens);
  }
}

TEST(retriever, gives_the_same_run_twice_where_its_time_is_stated) {
  searched_workload w;
  EXPECT_TRUE(same_times(quick_run(w.workload(), w.contender(from_seconds(0.002))),
                         quick_run(w.workload(), w.contender(from_seconds(0.002)))));
}

}  // namespace
}  // namespace refrain::testing
