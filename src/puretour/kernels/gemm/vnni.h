// Numbers rounded to bfloat16, in pairs: how they are made, turned and multiplied.
//
// A pair is a 32-bit word of two numbers that follow each other in the direction of a sum, the first one below.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "puretour/kernels/gemm/amx.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

/// The bits of the nearest bfloat16, ties to even; NaN stays NaN.
PURETOUR_INLINE std::uint32_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t quiet_nan = (bits >> 16U) | 0x40U;
  return (bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest;
}

/// out[i] = row[i], for i < count.
void round_row(const float* row, std::size_t count, std::uint16_t* out);
/// Row r becomes num_pairs pairs at out + r * out_stride; those that have no number of the row are zero.
void round_rows(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns, std::uint32_t* out,
                std::size_t out_stride, std::size_t num_pairs);
/// out[i] = the pair of first[i] and second[i].
void round_pair(const float* first, const float* second, std::size_t count, std::uint32_t* out);
/// out[i] = the pair of first[i] and zero.
void round_single(const float* first, std::size_t count, std::uint32_t* out);

/// out[k][c] = the pair of rows 2 k and 2 k + 1 in column c, for whole tiles of kTilePairs pairs: what is missing is
/// zero. Rows of `out` have `width` words, of which `columns` are written (all of them where a pair is missing).
void round_row_pairs(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns,
                     std::uint32_t* out, std::size_t width);
/// The same in panels of sixteen columns: column c of pair k lies at out[(c / 16 * num_row_pairs(num_rows) + k) * 16 +
/// c % 16]. Tiles of panels are read without gaps. There is room for whole panels.
void round_row_panels(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns,
                      std::uint32_t* out);
/// The number of such pairs.
constexpr std::size_t num_row_pairs(std::size_t num_rows) {
  return padded((num_rows + 1) / 2);
}

/// How far apart to put rows of num_pairs pairs that tiles are read of: an odd number of cache lines, so
/// that the rows of a tile do not compete for the same few places of the cache.
constexpr std::size_t padded_stride(std::size_t num_pairs) {
  return num_pairs / kTilePairs % 2 == 0 ? num_pairs + kTilePairs : num_pairs;
}

/// out[c * out_stride + k] = the pair of rows 2 k and 2 k + 1 in column c, for num_row_pairs(num_rows) pairs: what is
/// missing is zero. `columns` are whole blocks.
void round_columns(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns, std::uint32_t* out,
                   std::size_t out_stride);

/// out[c][k] = pairs[k][c] for num_pairs pairs and `columns` columns, both whole tiles.
void transpose_pairs(const std::uint32_t* pairs, std::size_t num_pairs, std::size_t columns, std::uint32_t* out);

/// to[c][r] = from[r][c] for sixteen rows and columns of 32 bits.
void transpose_block(const std::uint32_t* from, std::size_t from_stride, std::uint32_t* to, std::size_t to_stride);
void transpose_block(const float* from, std::size_t from_stride, float* to, std::size_t to_stride);

/// The product by the best instructions that this CPU has; see Bf16Gemm for what must be zero.
void gemm_bf16(const Bf16Gemm& product);

}  // namespace puretour::kernels
