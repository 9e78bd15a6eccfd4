// Linear layers by oneDNN, whose generated kernels fit the CPU that runs them. Weights are packed
// once into the order that its kernels want. A kernel belongs to one number of rows, so any number
// is cut into powers of two, the last piece padded.
#include <algorithm>
#include <array>
#include <bit>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "gpu/cpu/avx512.hpp"
#include "gpu/cpu/large_pages.hpp"
#include "gpu/cpu/linear.hpp"
#include "gpu/cpu/stacked.hpp"

// Of the OpenMP runtime that oneDNN uses; its header comes with some compilers only.
extern "C" void omp_set_num_threads(int threads);

namespace refrain {
namespace {

using tag = dnnl::memory::format_tag;
using data_type = dnnl::memory::data_type;

constexpr std::int64_t rows_min = 8;
constexpr std::int64_t rows_max = 512;

dnnl::engine& onednn() {
  static dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  return engine;
}

class onednn_linear final : public linear {
 public:
  onednn_linear(stacked_weights weights, bool bf16, std::pmr::memory_resource& memory)
      : type_{bf16 ? data_type::bf16 : data_type::f32},
        columns_{weights.front().columns},
        outputs_{stacked_rows(weights)},
        stream_{onednn()} {
    omp_set_num_threads(1);  // of this thread: pieces of work are handed out by ourselves
    std::vector<float> plain(static_cast<std::size_t>(columns_ * outputs_));
    dequantise_stacked(weights, [&](std::int64_t row, std::span<const float> values) {
      std::ranges::copy(values, plain.data() + row * columns_);
    });
    dnnl::memory given{{{columns_, outputs_}, data_type::f32, tag::ba}, onednn(), plain.data()};
    dnnl::memory::desc packed = product(rows_max).weights_desc();
    weights_ =
        dnnl::memory{packed, onednn(), take_lines<std::byte>(memory, packed.get_size()).data()};
    dnnl::reorder(given, weights_).execute(stream_, given, weights_);
    stream_.wait();
  }

  void forward(const float* x, std::int64_t rows, float* y) override {
    omp_set_num_threads(1);
    for (std::int64_t done = 0; done < rows;) {
      auto left = static_cast<std::uint64_t>(rows - done);
      std::int64_t piece =
          std::clamp(static_cast<std::int64_t>(std::bit_floor(left)), rows_min, rows_max);
      if (rows - done < 2 * piece && rows - done > piece + piece / 2) {
        piece = std::min(2 * piece, rows_max);  // one padded product rather than several small ones
      }
      std::int64_t real = std::min(piece, rows - done);
      run(piece, x + done * columns_, real, y + done * outputs_);
      done += real;
    }
  }

 private:
  using description = dnnl::matmul::primitive_desc;

  description product(std::int64_t rows) const {
    dnnl::memory::desc x{{rows, columns_}, type_, tag::ab};
    dnnl::memory::desc y{{rows, outputs_}, data_type::f32, tag::ab};
    dnnl::memory::desc w =
        weights_ ? weights_.get_desc() : dnnl::memory::desc{{columns_, outputs_}, type_, tag::any};
    return {dnnl::matmul::desc{x, w, y}, onednn()};
  }

  void run(std::int64_t piece, const float* x, std::int64_t real, float* y) {
    auto& primitive =
        products_[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(piece)))];
    if (!primitive) {
      primitive = dnnl::matmul{product(piece)};
    }
    bool padded = real < piece;
    const void* input = x;
    if (type_ == data_type::bf16) {
      halves_.resize(static_cast<std::size_t>(piece * columns_));
      to_bf16(x, real * columns_, halves_.data());
      input = halves_.data();
    } else if (padded) {
      inputs_.assign(x, x + real * columns_);
      inputs_.resize(static_cast<std::size_t>(piece * columns_));
      input = inputs_.data();
    }
    float* output = y;
    if (padded) {
      padded_.resize(static_cast<std::size_t>(piece * outputs_));
      output = padded_.data();
    }
    dnnl::memory from{{{piece, columns_}, type_, tag::ab}, onednn(), const_cast<void*>(input)};
    dnnl::memory to{{{piece, outputs_}, data_type::f32, tag::ab}, onednn(), output};
    primitive.execute(stream_,
                      {{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, to}});
    stream_.wait();
    if (padded) {
      std::copy_n(padded_.data(), real * outputs_, y);
    }
  }

  data_type type_;
  std::int64_t columns_, outputs_;
  dnnl::stream stream_;
  dnnl::memory weights_;
  std::array<dnnl::matmul, 10> products_;  // by log2 of their rows
  std::vector<std::uint16_t> halves_;      // activations in bf16
  std::vector<float> inputs_, padded_;
};

}  // namespace

std::unique_ptr<linear> make_onednn_linear(stacked_weights weights, bool bf16,
                                           std::pmr::memory_resource& memory) {
  return std::make_unique<onednn_linear>(weights, bf16, memory);
}

}  // namespace refrain
