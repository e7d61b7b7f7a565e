// Products of pairs of bfloat16 (pairs.h) by blocks of 32 x 32 sums, for kernels that need the sums in another form:
// they turn one block, which is still in L1, while the next one is multiplied.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "puretour/kernels/gemm/amx.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/gemm/tile_registers.h"
#include "puretour/kernels/gemm/tile_unit.h"
#include "puretour/kernels/gemm/vnni.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"

namespace puretour::kernels {

/// Rows and columns of a block.
inline constexpr std::size_t kSide = 32;
inline constexpr std::size_t kBlockSize = kSide * kSide;

constexpr std::size_t padded_to_side(std::size_t count) {
  return (count + kSide - 1) / kSide * kSide;
}

/// sums[r][c] = start[r][c] + sum over k of the pairs left[r][k] . right[k][c], for 32 columns.
struct BlockGemm {
  const std::uint32_t* left = nullptr;  // rows of pairs
  std::size_t left_stride = 0;
  const std::uint32_t* right = nullptr;  // two panels of sixteen columns
  std::size_t panel_stride = 0;
  std::size_t num_pairs = 0;     // whole tiles
  const float* start = nullptr;  // null: zero
  std::size_t start_stride = 0;  // 0: the same row for all
  float* sums = nullptr;         // may be start
  std::size_t stride = 0;
  std::size_t num_rows = kSide;  // sixteen or 32
};

/// By AMX.
struct TileBlocks {
  /// The sums are in the unit until store(). Between its steps of sixteen pairs it calls between(), whose work is done
  /// meanwhile: the unit takes 64 cycles for a step.
  template <class Between>
  PURETOUR_TILE_INLINE static void multiply(const BlockGemm& p, const Between& between) {
    p.num_rows > kBlock ? multiply_rows<true>(p, between) : multiply_rows<false>(p, between);
  }

  PURETOUR_INLINE static void store(const BlockGemm& p) {
    using Unit = MatrixUnit;
    const std::size_t bytes = p.stride * sizeof(float);
    Unit::store<0>(p.sums, bytes);
    Unit::store<1>(p.sums + kBlock, bytes);
    if (p.num_rows <= kBlock) return;
    Unit::store<2>(p.sums + kBlock * p.stride, bytes);
    Unit::store<3>(p.sums + kBlock * p.stride + kBlock, bytes);
  }

 private:
  static constexpr std::size_t kRowBytes = kBlock * sizeof(std::uint32_t);

  template <bool kTwo, class Between>
  PURETOUR_TILE_INLINE static void multiply_rows(const BlockGemm& p, const Between& between) {
    using Unit = MatrixUnit;
    begin<kTwo>(p);
    const std::size_t left_bytes = p.left_stride * sizeof(std::uint32_t);
    const std::uint32_t* upper = p.left;
    const std::uint32_t* lower = p.left + kBlock * p.left_stride;
    const std::uint32_t* right = p.right;
    for (std::size_t k = 0; k < p.num_pairs; k += kTilePairs) {
      Unit::load<4>(upper + k, left_bytes);
      Unit::load<6>(right, kRowBytes);
      Unit::add_product<0, 4, 6>();
      Unit::load<7>(right + p.panel_stride, kRowBytes);
      Unit::add_product<1, 4, 7>();
      if constexpr (kTwo) {
        Unit::load<5>(lower + k, left_bytes);
        Unit::add_product<2, 5, 6>();
        Unit::add_product<3, 5, 7>();
      }
      right += kTilePairs * kBlock;
      between();
    }
  }

  template <bool kTwo>
  PURETOUR_INLINE static void begin(const BlockGemm& p) {
    using Unit = MatrixUnit;
    if (p.start == nullptr) {
      Unit::zero<0>();
      Unit::zero<1>();
      Unit::zero<2>();
      Unit::zero<3>();
      return;
    }
    const std::size_t bytes = p.start_stride * sizeof(float);
    Unit::load<0>(p.start, bytes);
    Unit::load<1>(p.start + kBlock, bytes);
    if constexpr (kTwo) {
      Unit::load<2>(p.start + kBlock * p.start_stride, bytes);
      Unit::load<3>(p.start + kBlock * p.start_stride + kBlock, bytes);
    }
  }
};

/// Without an AMX unit.
struct RegisterBlocks {
  template <class Between>
  PURETOUR_TILE_INLINE static void multiply(const BlockGemm& p, const Between& between) {
    gemm_bf16({p.left, p.left_stride, p.right, kBlock, p.panel_stride, p.num_pairs, p.start, p.start_stride, p.sums,
               p.stride, p.num_rows, kSide});
    for (std::size_t k = 0; k < p.num_pairs; k += kTilePairs) between();
  }
  PURETOUR_INLINE static void store(const BlockGemm& /*p*/) {}
};

/// A block of left . columns [first, first + 32) of the layer, plus its bias. Rows of `left` lie padded_stride() apart.
inline BlockGemm block_of(const std::uint32_t* left, const Linear& linear, std::size_t first, float* sums,
                          std::size_t num_rows = kSide) {
  const Bfloat16Matrix& matrix = linear.bf16;
  return {left,
          padded_stride(matrix.num_pairs()),
          matrix.data() + first * matrix.num_pairs(),
          matrix.num_pairs() * kBlock,
          matrix.num_pairs(),
          linear.bias.empty() ? nullptr : linear.bias.data() + first,
          0,
          sums,
          kSide,
          num_rows};
}

/// Whether the layer is made of such blocks.
inline bool is_in_blocks(const Linear& linear) {
  return linear.inputs() % kSide == 0 && linear.outputs() % kSide == 0 && !linear.bf16.empty();
}

/// Sums of the gradients of a weight over many rows, by blocks of 32 x 32, [column / 32][row / 32][row % 32][column %
/// 32]: products read and write them in this order, and a block does not compete with itself for places of the cache.
class WeightSums {
 public:
  /// All zero.
  void begin(std::size_t num_rows, std::size_t num_columns) {
    num_rows_ = num_rows;
    num_columns_ = num_columns;
    std::fill_n(ensure_size(blocks_, num_rows * num_columns), num_rows * num_columns, 0.0F);
  }

  /// Adds the product for columns [first, first + 32). `left` is [row][pairs], `panels` are those of the columns.
  template <class Blocks, class Between>
  PURETOUR_TILE_INLINE void add(const std::uint32_t* left, std::size_t stride, const std::uint32_t* panels,
                                std::size_t num_pairs, std::size_t first, const Between& between) {
    float* sums = blocks_.data() + first * num_rows_;
    for (std::size_t r = 0; r < num_rows_; r += kSide, sums += kBlockSize) {
      const BlockGemm product{
          left + r * stride, stride, panels, num_pairs * kBlock, num_pairs, sums, kSide, sums, kSide};
      Blocks::multiply(product, between);
      Blocks::store(product);
    }
  }

  /// weight[row * num_columns + column] += sum.
  void add_to(float* weight) const {
    for_rows_of_blocks([&](std::size_t row, std::size_t column, const float* sums) {
      kernels::add(weight + row * num_columns_ + column, sums, kSide);
    });
  }
  /// weight[column * num_rows + row] += sum.
  void add_turned_to(float* weight) const {
    alignas(64) float turned[kBlock * kBlock];
    for_rows_of_blocks([&](std::size_t row, std::size_t column, const float* sums) {
      if (row % kBlock != 0) return;
      for (std::size_t half = 0; half < kSide; half += kBlock) {
        transpose_block(sums + half, kSide, turned, kBlock);
        for (std::size_t c = 0; c < kBlock; ++c) {
          kernels::add(weight + (column + half + c) * num_rows_ + row, turned + c * kBlock, kBlock);
        }
      }
    });
  }

 private:
  template <class Use>
  void for_rows_of_blocks(const Use& use) const {
    const float* sums = blocks_.data();
    for (std::size_t column = 0; column < num_columns_; column += kSide) {
      for (std::size_t row = 0; row < num_rows_; ++row, sums += kSide) use(row, column, sums);
    }
  }

  std::size_t num_rows_ = 0;
  std::size_t num_columns_ = 0;
  AlignedVector<float> blocks_;
};

}  // namespace puretour::kernels
#endif
