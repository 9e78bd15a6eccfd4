// Looks at every vector: the truth that the others are measured against.
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "traces/corpus/dot.hpp"
#include "traces/corpus/vector_index.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

class exact_index final : public vector_index {
 public:
  explicit exact_index(std::size_t width) : rows_{width} {}

  void add(std::uint32_t id, std::span<const float> vector) override {
    bool is_new = places_.emplace(id, rows_.add(id, vector)).second;
    REFRAIN_ASSERT(is_new);
  }

  void remove(std::uint32_t id) override {
    auto found = places_.find(id);
    REFRAIN_ASSERT(found != places_.end());
    rows_.remove(found->second);
    places_.erase(found);
  }

  std::vector<neighbour> search(std::span<const float> vector, std::size_t count,
                                float least) const override {
    nearest best{count, least};
    for (std::uint32_t row = 0; row < rows_.rows(); ++row) {
      if (rows_.is_live(row)) {
        best.offer({rows_.id(row), dot(rows_.at(row), vector)});
      }
    }
    return best.take();
  }

  std::size_t size() const override { return rows_.size(); }

 private:
  vector_rows rows_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> places_;
};

}  // namespace

void nearest::offer(neighbour candidate) {
  if (!(candidate.score > least_) || count_ == 0) {
    return;
  }
  if (heap_.size() == count_) {
    if (!(candidate < heap_.front())) {
      return;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end());
}

std::vector<neighbour> nearest::take() {
  std::sort(heap_.begin(), heap_.end());
  return std::move(heap_);
}

std::uint32_t vector_rows::add(std::uint32_t id, std::span<const float> vector) {
  REFRAIN_ASSERT(vector.size() == width_);
  std::uint32_t row = rows();
  if (free_.empty()) {
    ids_.push_back(id);
    live_.push_back(1);
    numbers_.insert(numbers_.end(), vector.begin(), vector.end());
    return row;
  }
  row = free_.back();
  free_.pop_back();
  ids_[row] = id;
  live_[row] = 1;
  std::ranges::copy(vector, numbers_.begin() + static_cast<std::ptrdiff_t>(row * width_));
  return row;
}

void vector_rows::remove(std::uint32_t row) {
  REFRAIN_ASSERT(is_live(row));
  live_[row] = 0;
  free_.push_back(row);
}

std::unique_ptr<vector_index> make_exact_index(std::size_t width) {
  return std::make_unique<exact_index>(width);
}

std::unique_ptr<vector_index> make_index(const index_settings& settings, std::size_t width) {
  switch (settings.kind) {
    case index_kind::exact:
      return make_exact_index(width);
    case index_kind::lsh:
      return make_lsh_index(settings, width);
    case index_kind::hnsw:
      return make_hnsw_index(settings, width);
  }
  return nullptr;
}

}  // namespace refrain
