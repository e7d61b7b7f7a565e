// Registers of sixteen floats on their way to bfloat16, for code that makes the factors of products (pairs.h). Only for
// functions that run where active_isa() is at least Isa::kAvx512Bf16.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#define PURETOUR_TILE_FEATURES target("avx512f,avx512bw,avx512dq,avx512bf16")
#define PURETOUR_TILE_TARGET __attribute__((PURETOUR_TILE_FEATURES))
#define PURETOUR_TILE_LAMBDA __attribute__((PURETOUR_TILE_FEATURES, always_inline))
#define PURETOUR_TILE_INLINE PURETOUR_TILE_LAMBDA inline

namespace puretour::kernels {

/// A mask that chooses all: compilers warn of the functions without one.
inline constexpr __mmask16 kAll = 0xFFFF;

/// The order of store_pair().
PURETOUR_TILE_INLINE __m512i interleaving() {
  return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19,
                          3, 18, 2, 17, 1, 16, 0);
}

/// to[i] = the pair of first[i] and second[i].
PURETOUR_TILE_INLINE void store_pair(std::uint32_t* to, __m512 first, __m512 second, __m512i order) {
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, both));
}

/// Thirty-two numbers that follow each other in a row.
PURETOUR_TILE_INLINE void store_row(std::uint32_t* to, __m512 first, __m512 second) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
}

}  // namespace puretour::kernels
#endif
