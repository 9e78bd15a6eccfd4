// hnswlib's graph over inner products. Its random levels come from its own generator, seeded; it is
// filled by one thread, so the same vectors in the same order give the same graph. A vector that is
// taken away stays in the graph as a way to others. Distances are our own sums, as in the exact
// index; with hnswlib's vector code go its prefetches, which read behind the ends of its lists.
#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>

#include "traces/corpus/dot.hpp"
#include "traces/corpus/vector_index.hpp"
#include "traces/error.hpp"

namespace refrain {

namespace {

/// 1 - cosine, of vectors of length 1.
class cosine_space final : public hnswlib::SpaceInterface<float> {
 public:
  explicit cosine_space(std::size_t width) : width_{width} {}

  std::size_t get_data_size() override { return width_ * sizeof(float); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance; }
  void* get_dist_func_param() override { return &width_; }

 private:
  static float distance(const void* a, const void* b, const void* width) {
    std::size_t count = *static_cast<const std::size_t*>(width);
    return 1 - dot({static_cast<const float*>(a), count}, {static_cast<const float*>(b), count});
  }

  std::size_t width_;
};

class hnsw_index final : public vector_index {
 public:
  hnsw_index(const index_settings& settings, std::size_t width)
      : width_{width},
        search_effort_{settings.hnsw.search_effort},
        space_{width},
        graph_{&space_, first_capacity, settings.hnsw.links, settings.hnsw.build_effort,
               settings.seed} {}

  void add(std::uint32_t id, std::span<const float> vector) override {
    REFRAIN_ASSERT(vector.size() == width_ && !graph_.label_lookup_.contains(id));
    if (graph_.cur_element_count == graph_.max_elements_) {
      graph_.resizeIndex(2 * graph_.max_elements_);
    }
    graph_.addPoint(vector.data(), id);
    ++size_;
  }

  void remove(std::uint32_t id) override {
    graph_.markDelete(id);
    --size_;
  }

  std::vector<neighbour> search(std::span<const float> vector, std::size_t count,
                                float least) const override {
    nearest best{count, least};
    std::size_t wanted = std::min(std::max(count, search_effort_), size_);
    if (wanted == 0 || count == 0) {
      return {};
    }
    // Asked for all that it has looked at, so that its search effort is set by each question.
    auto found = graph_.searchKnn(vector.data(), wanted);
    for (; !found.empty(); found.pop()) {
      auto id = static_cast<std::uint32_t>(found.top().second);
      best.offer({id, dot(vector_of(id), vector)});
    }
    return best.take();
  }

  std::size_t size() const override { return size_; }

 private:
  static constexpr std::size_t first_capacity = 1024;

  std::span<const float> vector_of(std::uint32_t id) const {
    const char* data = graph_.getDataByInternalId(graph_.label_lookup_.at(id));
    return {reinterpret_cast<const float*>(data), width_};
  }

  std::size_t width_, search_effort_;
  std::size_t size_ = 0;
  cosine_space space_;
  hnswlib::HierarchicalNSW<float> graph_;
};

}  // namespace

std::unique_ptr<vector_index> make_hnsw_index(const index_settings& settings, std::size_t width) {
  return std::make_unique<hnsw_index>(settings, width);
}

}  // namespace refrain
