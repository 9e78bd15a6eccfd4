// The three indexes against each other: what they find, what they must never give, and that the
// same work gives the same answer.
#include "traces/corpus/vector_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "traces/corpus/dot.hpp"
#include "traces/corpus/embedding.hpp"
#include "traces/corpus/retrieval_quality.hpp"
#include "traces/random.hpp"

namespace refrain {
namespace {

constexpr std::size_t width = 32;
constexpr float any_score = -2;

std::vector<float> random_vector(random_stream& random) {
  std::vector<float> vector(width);
  for (float& value : vector) {
    value = static_cast<float>(random.normal());
  }
  normalise(vector);
  return vector;
}

/// Near one that is given: cosine about 0.97.
std::vector<float> near_vector(std::vector<float> vector, random_stream& random) {
  for (float& value : vector) {
    value += static_cast<float>(0.045 * random.normal());
  }
  normalise(vector);
  return vector;
}

class indexes : public testing::TestWithParam<index_kind> {
 protected:
  indexes() {
    index_ = make_index(settings(), width);
    for (std::uint32_t id = 0; id < 400; ++id) {
      vectors_.push_back(random_vector(random_));
      index_->add(id, vectors_.back());
    }
  }

  static index_settings settings() {
    index_settings how;
    how.kind = GetParam();
    how.hnsw.build_effort = 40;
    return how;
  }

  std::vector<neighbour> truth(std::span<const float> vector, std::size_t count) const {
    nearest best{count, any_score};
    for (std::uint32_t id = 0; id < vectors_.size(); ++id) {
      if (!vectors_[id].empty()) {
        best.offer({id, dot(vectors_[id], vector)});
      }
    }
    return best.take();
  }

  random_stream random_{1, "vectors"};
  std::vector<std::vector<float>> vectors_;
  std::unique_ptr<vector_index> index_;
};

TEST_P(indexes, find_the_vector_that_was_put_in_and_its_near_copies) {
  for (std::uint32_t id = 0; id < 400; id += 7) {
    std::vector<neighbour> found = index_->search(near_vector(vectors_[id], random_), 1, any_score);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].id, id);
  }
}

TEST_P(indexes, never_give_a_score_that_is_not_the_cosine_nor_a_wrong_order) {
  std::vector<float> vector = random_vector(random_);
  std::vector<neighbour> found = index_->search(vector, 20, any_score);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  for (const neighbour& each : found) {
    EXPECT_EQ(each.score, dot(vectors_[each.id], vector));
  }
}

TEST_P(indexes, find_most_of_what_the_exact_search_finds) {
  double recall = 0;
  for (int i = 0; i < 50; ++i) {
    std::vector<float> vector = random_vector(random_);
    recall += recall_of_exact(index_->search(vector, 10, any_score), truth(vector, 10), 10);
  }
  EXPECT_GT(recall / 50, GetParam() == index_kind::exact ? 0.9999 : 0.8);
}

TEST_P(indexes, forget_what_is_taken_away_and_find_what_comes_later) {
  for (std::uint32_t id = 0; id < 200; ++id) {
    index_->remove(id);
    vectors_[id].clear();
  }
  EXPECT_EQ(index_->size(), 200u);
  for (std::uint32_t id = 400; id < 1300; ++id) {
    vectors_.push_back(random_vector(random_));
    index_->add(id, vectors_.back());
  }
  double recall = 0;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> vector = random_vector(random_);
    std::vector<neighbour> found = index_->search(vector, 10, any_score);
    recall += recall_of_exact(found, truth(vector, 10), 10);
    EXPECT_TRUE(std::ranges::none_of(found, [](const neighbour& n) { return n.id < 200; }));
  }
  EXPECT_GT(recall / 20, GetParam() == index_kind::exact ? 0.9999 : 0.5);
}

TEST_P(indexes, give_no_more_than_they_hold_and_nothing_below_the_least_score) {
  EXPECT_LE(index_->search(vectors_[0], 1'000'000, any_score).size(), 400u);
  EXPECT_TRUE(index_->search(vectors_[0], 0, any_score).empty());
  for (const neighbour& each : index_->search(vectors_[0], 400, 0.25f)) {
    EXPECT_GT(each.score, 0.25f);
  }
  for (std::uint32_t id = 0; id < 400; ++id) {
    index_->remove(id);
  }
  EXPECT_TRUE(index_->search(vectors_[0], 5, any_score).empty());
  EXPECT_EQ(index_->size(), 0u);
}

TEST_P(indexes, are_empty_at_first_and_find_nothing_then) {
  EXPECT_TRUE(make_index(settings(), width)->search(vectors_[0], 5, any_score).empty());
}

TEST_P(indexes, give_the_same_answer_for_the_same_work) {
  auto other = make_index(settings(), width);
  for (std::uint32_t id = 0; id < 400; ++id) {
    other->add(id, vectors_[id]);
  }
  for (int i = 0; i < 20; ++i) {
    std::vector<float> vector = random_vector(random_);
    EXPECT_EQ(index_->search(vector, 10, any_score), other->search(vector, 10, any_score));
  }
}

INSTANTIATE_TEST_SUITE_P(kinds, indexes,
                         testing::Values(index_kind::exact, index_kind::lsh, index_kind::hnsw),
                         [](const auto& param_info) {
                           return std::string{
                               index_kind_names[static_cast<std::size_t>(param_info.param)]};
                         });

TEST(lsh_index, finds_everything_once_every_bucket_is_looked_into) {
  random_stream random{2, "vectors"};
  index_settings settings;
  settings.kind = index_kind::lsh;
  settings.lsh = {.tables = 1, .bits = 4, .probes = 16};
  auto lsh = make_index(settings, width);
  auto exact = make_exact_index(width);
  for (std::uint32_t id = 0; id < 300; ++id) {
    std::vector<float> vector = random_vector(random);
    lsh->add(id, vector);
    exact->add(id, vector);
  }
  for (int i = 0; i < 10; ++i) {
    std::vector<float> vector = random_vector(random);
    EXPECT_EQ(lsh->search(vector, 300, any_score), exact->search(vector, 300, any_score));
  }
}

TEST(exact_index, equally_near_vectors_come_in_order_of_their_ids) {
  auto index = make_exact_index(2);
  std::vector<float> vector{1, 0};
  for (std::uint32_t id : {5u, 3u, 9u, 1u}) {
    index->add(id, vector);
  }
  std::vector<neighbour> found = index->search(vector, 3, any_score);
  EXPECT_THAT(found, testing::ElementsAre(neighbour{1, 1}, neighbour{3, 1}, neighbour{5, 1}));
}

}  // namespace
}  // namespace refrain
