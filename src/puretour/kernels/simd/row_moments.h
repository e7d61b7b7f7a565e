// Mean and spread of a row, as layer normalisation and its gradient need them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

struct RowMoments {
  float mean;
  float root;  // 1 / sqrt(variance + epsilon)
};

template <int kLanes>
PURETOUR_INLINE RowMoments row_moments(const float* row, std::size_t dim, float epsilon) {
  using B = Block<kLanes>;
  const std::size_t whole = dim / kBlock * kBlock;
  B block;
  B total;
  B::fill(total, 0);
  for (std::size_t i = 0; i < whole; i += kBlock) {
    B::load(block, row + i);
    B::add(total, block);
  }
  float sum = B::sum(total);
  for (std::size_t i = whole; i < dim; ++i) sum += row[i];
  const float mean = sum / static_cast<float>(dim);
  B::fill(total, 0);
  for (std::size_t i = 0; i < whole; i += kBlock) {
    B::load(block, row + i);
    for (std::size_t p = 0; p < B::kRegisters; ++p) {
      const auto difference = block.part[p] - mean;
      total.part[p] += difference * difference;
    }
  }
  float squares = B::sum(total);
  for (std::size_t i = whole; i < dim; ++i) squares += (row[i] - mean) * (row[i] - mean);
  return {mean, 1.0F / std::sqrt(squares / static_cast<float>(dim) + epsilon)};
}

}  // namespace puretour::kernels
