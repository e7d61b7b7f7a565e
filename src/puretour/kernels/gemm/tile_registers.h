// Registers of sixteen floats on their way to bfloat16, for code that makes the factors of products (pairs.h). Only for
// functions that run where active_isa() is at least Isa::kAvx512Bf16.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
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

/// In every quarter of the registers: columns[c][r] = rows[r][c] for four rows and columns of 32 bits.
__attribute__((target("avx512f"), always_inline)) inline void transpose_quarters(const __m512i (&rows)[4],
                                                                                 __m512i* columns) {
  constexpr __mmask8 kAllOfEight = 0xFF;
  const __m512i upper_left = _mm512_maskz_unpacklo_epi32(kAll, rows[0], rows[1]);
  const __m512i upper_right = _mm512_maskz_unpackhi_epi32(kAll, rows[0], rows[1]);
  const __m512i lower_left = _mm512_maskz_unpacklo_epi32(kAll, rows[2], rows[3]);
  const __m512i lower_right = _mm512_maskz_unpackhi_epi32(kAll, rows[2], rows[3]);
  columns[0] = _mm512_maskz_unpacklo_epi64(kAllOfEight, upper_left, lower_left);
  columns[1] = _mm512_maskz_unpackhi_epi64(kAllOfEight, upper_left, lower_left);
  columns[2] = _mm512_maskz_unpacklo_epi64(kAllOfEight, upper_right, lower_right);
  columns[3] = _mm512_maskz_unpackhi_epi64(kAllOfEight, upper_right, lower_right);
}

/// columns[c][r] = from[r][c] for sixteen rows and columns of 32 bits: four words of four rows come together on their
/// way from memory, which is cheaper than exchanging them between registers. Where active_isa() is at least
/// Isa::kAvx512.
__attribute__((target("avx512f"), always_inline)) inline void load_columns(const void* from, std::size_t stride,
                                                                           __m512i (&columns)[16]) {
  const auto four_words = [&](std::size_t row, std::size_t column) {
    return _mm_loadu_si128(
        reinterpret_cast<const __m128i*>(static_cast<const std::uint32_t*>(from) + row * stride + column));
  };
  for (std::size_t c = 0; c < 16; c += 4) {
    __m512i rows[4];  // rows[i]: of rows i, i + 4, i + 8 and i + 12
    for (std::size_t i = 0; i < 4; ++i) {
      rows[i] = _mm512_zextsi128_si512(four_words(i, c));
      rows[i] = _mm512_mask_broadcast_i32x4(rows[i], 0x00F0, four_words(i + 4, c));
      rows[i] = _mm512_mask_broadcast_i32x4(rows[i], 0x0F00, four_words(i + 8, c));
      rows[i] = _mm512_mask_broadcast_i32x4(rows[i], 0xF000, four_words(i + 12, c));
    }
    transpose_quarters(rows, columns + c);
  }
}

/// out[c * out_stride + k] = the pair of rows 2 k and 2 k + 1 in column c, for sixteen pairs and columns. Rows from
/// `count` on are zero.
PURETOUR_TILE_INLINE void transpose_row_pairs(const float* rows, std::size_t stride, std::size_t count,
                                              std::uint32_t* out, std::size_t out_stride) {
  alignas(64) std::uint32_t pairs[16 * 16];
  const __m512i order = interleaving();
  const auto row = [&](std::size_t r) PURETOUR_TILE_LAMBDA {
    return r < count ? _mm512_loadu_ps(rows + r * stride) : _mm512_setzero_ps();
  };
  for (std::size_t k = 0; k < 16; ++k) store_pair(pairs + k * 16, row(2 * k), row(2 * k + 1), order);
  __m512i columns[16];
  load_columns(pairs, 16, columns);
  for (std::size_t c = 0; c < 16; ++c) _mm512_storeu_si512(out + c * out_stride, columns[c]);
}

}  // namespace puretour::kernels
#endif
