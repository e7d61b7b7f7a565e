// Products of a single row, as decoders need them at every step of a tour. Several sums run side by side, so that
// additions do not wait for each other as those of multiply() do.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "puretour/kernels/gemm/matrix.h"

namespace puretour::kernels {

/// out[c] = sum over k of a[k] b[k][c], in four parts (every fourth k). Whole panels are written.
void multiply_row(const float* a, const PanelView& b, float* out);

/// out[h * out_stride + c] = sum over k < head_dim of a[h * head_dim + k] b[h * head_dim + k][c] for every head h: the
/// scores of all heads. Whole panels are written.
void multiply_heads(const float* a, const PanelView& b, std::size_t num_heads, std::size_t head_dim, float* out,
                    std::size_t out_stride);

}  // namespace puretour::kernels
