// Kernels of the bf16 precision, written for AVX-512 with BF16 and VNNI (Zen 4, Cooper Lake and
// later). Each is compiled for these instructions alone, so the program still starts on any x86-64
// CPU; callers ask avx512_features() once.
#pragma once

#include <cstdint>

/// Marks a function that may use these instructions.
#define REFRAIN_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,fma,f16c")))

namespace refrain {

/// Rounds `count` floats to bf16, to nearest even.
void to_bf16(const float* x, std::int64_t count, std::uint16_t* out);

}  // namespace refrain
