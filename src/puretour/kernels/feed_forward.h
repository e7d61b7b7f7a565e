// Two linear layers with an activation between them, in memory that does not grow with the number of rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "puretour/kernels/matrix.h"

namespace puretour::kernels {

enum class Activation : std::uint8_t { kRelu, kGelu };

struct FeedForward {
  Linear first;
  Linear second;
  Activation activation = Activation::kRelu;

  /// out[r] = second(activation(first(x[r]))); out must not overlap x.
  void apply(const float* x, std::size_t num_rows, float* out, int threads = 1) const;
};

/// linear.apply over blocks of rows on several threads.
void apply_linear(const Linear& linear, const float* x, std::size_t num_rows, float* out, int threads);

}  // namespace puretour::kernels
