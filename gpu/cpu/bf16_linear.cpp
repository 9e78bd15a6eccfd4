// The linear layers of the bf16 precision: the rows of a decode batch read quantised weights, those
// of a prefill the packed ones, whichever takes less time for that many.
#include "gpu/cpu/linear.hpp"

namespace refrain {
namespace {

/// Most rows for which reading quantised weights is the faster way; see tests/bench.
constexpr std::int64_t few_rows = 8;

class bf16_linear final : public linear {
 public:
  bf16_linear(stacked_weights weights, std::pmr::memory_resource& memory)
      : few_{make_quantised_linear(weights, memory)},
        many_{make_onednn_linear(weights, true, memory)} {}

  void forward(const float* x, std::int64_t rows, float* y) override {
    (rows <= few_rows ? few_ : many_)->forward(x, rows, y);
  }

 private:
  std::unique_ptr<linear> few_, many_;
};

}  // namespace

std::unique_ptr<linear> make_bf16_linear(stacked_weights weights,
                                         std::pmr::memory_resource& memory) {
  return std::make_unique<bf16_linear>(weights, memory);
}

}  // namespace refrain
