// Feed-forward blocks with products of bfloat16: hidden values are made some columns at a time, and are rounded for the
// second product while they are in the first cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "puretour/kernels/feed_forward.h"

namespace puretour::kernels {

/// Whether the layers are rounded and of a suitable width, and this CPU has the instructions.
bool tiles_take(const FeedForward& layers);

/// As FeedForward::apply() and feed_forward_gradient(), for a block of at most kTileFeedForwardRows rows.
inline constexpr std::size_t kTileFeedForwardRows = 192;
void tile_feed_forward(const FeedForward& layers, const float* x, std::size_t num_rows, const float* residual,
                       float* out);
void tile_feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                                std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                                const FeedForwardGradient& sums);

}  // namespace puretour::kernels
