// Rows of small matrices brought into the panels of PackedMatrix, in memory that the caller keeps.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "puretour/kernels/gemm/vnni.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

/// Row r becomes row r of the panels: num_rows x columns. Missing columns of the last panel are left as they are.
inline void pack_rows(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns, float* panels) {
  for (std::size_t c = 0; c < columns; c += kBlock) {
    const std::size_t width = std::min(kBlock, columns - c);
    float* panel = panels + c * num_rows;
    if (width == kBlock) {
      for (std::size_t r = 0; r < num_rows; ++r) std::memcpy(panel + r * kBlock, rows + r * stride + c, 64);
    } else {
      for (std::size_t r = 0; r < num_rows; ++r) std::copy_n(rows + r * stride + c, width, panel + r * kBlock);
    }
  }
}

/// Row r becomes column r of the panels: columns x num_rows. Missing columns of the last panel are left as they are.
inline void pack_rows_as_columns(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns,
                                 float* panels) {
  const std::size_t whole_rows = num_rows / kBlock * kBlock;
  const std::size_t whole_columns = columns / kBlock * kBlock;
  for (std::size_t r = 0; r < whole_rows; r += kBlock) {
    for (std::size_t c = 0; c < whole_columns; c += kBlock) {
      transpose_block(rows + r * stride + c, stride, panels + r * columns + c * kBlock, kBlock);
    }
  }
  for (std::size_t r = 0; r < num_rows; ++r) {
    float* to = panels + r / kBlock * columns * kBlock + r % kBlock;
    const float* from = rows + r * stride;
    for (std::size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) to[c * kBlock] = from[c];
  }
}

}  // namespace puretour::kernels
