#include "gpu/cpu/avx512.hpp"

#include <immintrin.h>

#include "gpu/cpu/linear.hpp"

namespace refrain {

bool avx512_features() {
  static const bool has =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
  return has;
}

REFRAIN_AVX512 void to_bf16(const float* x, std::int64_t count, std::uint16_t* out) {
  for (std::int64_t i = 0; i < count; i += 16) {
    auto lanes = static_cast<__mmask16>(count - i >= 16 ? 0xFFFF : (1 << (count - i)) - 1);
    __m256bh halves = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes, x + i));
    _mm256_mask_storeu_epi16(out + i, lanes, reinterpret_cast<__m256i>(halves));
  }
}

}  // namespace refrain
