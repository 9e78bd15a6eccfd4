// Finding the vectors nearest to one by cosine: exactly, by locality-sensitive hashing, or over a
// hierarchical graph. Vectors have length 1 or are zero; what is asked for by a zero vector has no
// neighbours. Approximate indexes may miss neighbours but never invent a score: they are computed
// as in the exact one, so results differ by omissions only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace refrain {

/// A vector found, and the cosine to the one asked for.
struct neighbour {
  std::uint32_t id = 0;
  float score = 0;

  /// Nearer ones first; of equally near ones the lower id.
  friend bool operator<(const neighbour& a, const neighbour& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  }
  friend bool operator==(const neighbour&, const neighbour&) = default;
};

/// A set of vectors with ids. Searching changes nothing: several threads may do it at once.
class vector_index {
 public:
  virtual ~vector_index() = default;
  /// Adds a vector under an id that the index has never had. It is copied.
  virtual void add(std::uint32_t id, std::span<const float> vector) = 0;
  /// Takes a vector away for good.
  virtual void remove(std::uint32_t id) = 0;
  /// At most `count` neighbours with a score above `least`, nearest first.
  virtual std::vector<neighbour> search(std::span<const float> vector, std::size_t count,
                                        float least) const = 0;
  /// How many vectors it holds.
  virtual std::size_t size() const = 0;
};

/// Hashing by random hyperplanes into several tables, the least certain bits flipped in turn (Lv et
/// al., VLDB 2007).
struct lsh_settings {
  std::size_t tables = 16;  ///< 1 to 1,024
  std::size_t bits = 8;     ///< of a table's hash: 1 to 30
  std::size_t probes = 8;   ///< buckets looked into in each table, the vector's own included
};

/// The graph of Malkov and Yashunin (hnswlib).
struct hnsw_settings {
  std::size_t links = 16;          ///< M, 2 to 512
  std::size_t build_effort = 200;  ///< ef_construction, 1 to 100,000
  std::size_t search_effort = 64;  ///< ef, 1 to 100,000; never below what is asked for
};

/// Which index, and its settings.
enum class index_kind : std::uint8_t { exact, lsh, hnsw };
inline constexpr std::string_view index_kind_names[] = {"exact", "lsh", "hnsw"};

/// How to search.
struct index_settings {
  index_kind kind = index_kind::exact;
  lsh_settings lsh{};
  hnsw_settings hnsw{};
  std::uint64_t seed = 0;  ///< of the hyperplanes and of the graph's levels
};

/// An empty index of vectors of `width` numbers.
std::unique_ptr<vector_index> make_index(const index_settings& settings, std::size_t width);

/// The best few of the vectors offered.
class nearest {
 public:
  nearest(std::size_t count, float least) : count_{count}, least_{least} {}
  void offer(neighbour candidate);
  /// What is left of them, nearest first.
  std::vector<neighbour> take();

 private:
  std::size_t count_;
  float least_;
  std::vector<neighbour> heap_;  // the farthest in front
};

/// Vectors under ids, packed row by row.
class vector_rows {
 public:
  explicit vector_rows(std::size_t width) : width_{width} {}
  /// The row that the vector went to; rows of removed vectors are used again.
  std::uint32_t add(std::uint32_t id, std::span<const float> vector);
  /// Frees a row.
  void remove(std::uint32_t row);
  bool is_live(std::uint32_t row) const { return live_[row] != 0; }
  std::uint32_t id(std::uint32_t row) const { return ids_[row]; }
  std::span<const float> at(std::uint32_t row) const {
    return {numbers_.data() + std::size_t{row} * width_, width_};
  }
  /// Rows, free ones included.
  std::uint32_t rows() const { return static_cast<std::uint32_t>(ids_.size()); }
  std::size_t size() const { return ids_.size() - free_.size(); }
  std::size_t width() const { return width_; }

 private:
  std::size_t width_;
  std::vector<float> numbers_;
  std::vector<std::uint32_t> ids_;
  std::vector<char> live_;
  std::vector<std::uint32_t> free_;
};

std::unique_ptr<vector_index> make_exact_index(std::size_t width);
std::unique_ptr<vector_index> make_lsh_index(const index_settings& settings, std::size_t width);
std::unique_ptr<vector_index> make_hnsw_index(const index_settings& settings, std::size_t width);

}  // namespace refrain
