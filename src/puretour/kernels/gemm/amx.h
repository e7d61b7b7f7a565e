// Products of pairs of bfloat16 by AMX of the CPU (AMX), sixteen rows by sixteen columns at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace puretour::kernels {

/// Pairs of the depth of one tile: products take a multiple of it.
inline constexpr std::size_t kTilePairs = 16;
/// Rows of one tile.
inline constexpr std::size_t kTileHeight = 16;

/// out[r][c] = start[r][c] + sum over k of the pairs left[r][k] . right[k][c], for r < num_rows and c < columns.
struct Bf16Gemm {
  /// Row r begins at left + r * left_stride. Whole tiles are read: the caller has memory for num_rows rounded up to
  /// kTileHeight, and what it holds behind the last row does not matter.
  const std::uint32_t* left = nullptr;
  std::size_t left_stride = 0;
  /// Pair k of column c lies at right + c / 16 * panel_stride + k * right_step + c % 16; whole panels are read.
  const std::uint32_t* right = nullptr;
  std::size_t right_step = 0;
  std::size_t panel_stride = 0;
  std::size_t num_pairs = 0;     // for tiles: a multiple of kTilePairs
  const float* start = nullptr;  // null: zero
  std::size_t start_stride = 0;  // 0: the same row for all
  float* out = nullptr;          // may be start
  std::size_t out_stride = 0;
  std::size_t num_rows = 0;
  std::size_t columns = 0;
};

/// While one exists, AMX stays as products need it: getting it ready takes as long as a small product. Code
/// that multiplies several times should hold one; they may be nested. Other code finds the unit as it should be,
/// unused. Without an AMX unit nothing happens.
class MatrixUnitInUse {
 public:
  MatrixUnitInUse();
  ~MatrixUnitInUse();
  MatrixUnitInUse(const MatrixUnitInUse&) = delete;
  MatrixUnitInUse& operator=(const MatrixUnitInUse&) = delete;

 private:
  bool is_there_ = false;
};

/// Only where active_isa() is Isa::kAmx. See gemm_bf16() for all other CPUs and depths.
void multiply_tiles(const Bf16Gemm& product);

/// The same walk over tiles with an emulated AMX unit: slow, for tests on any CPU.
void multiply_tiles_emulated(const Bf16Gemm& product);

}  // namespace puretour::kernels
