// Feed-forward blocks with products of bfloat16: hidden values are made in blocks of 32 x 32, and one block is rounded
// for the next products while the following one is multiplied.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/kernels/simd/prefetch_queue.h"

namespace puretour::kernels {

/// Whether the layers are rounded and of a suitable width, and this CPU has the instructions.
bool amx_supports(const FeedForward& layers);

/// Rows at a time, at most.
inline constexpr std::size_t kTileFeedForwardRows = 192;

/// As FeedForward::apply() and FeedForwardGradientPass::add(), for at most kTileFeedForwardRows rows. Between begin()
/// and end() the gradients of the weights are added up in an order of their own.
void tile_feed_forward(const FeedForward& layers, const float* x, std::size_t num_rows, const float* residual,
                       float* out, PrefetchQueue& prefetches);
void begin_tile_feed_forward_gradient(const FeedForward& layers);
void tile_feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                                std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                                const FeedForwardGradient& sums, PrefetchQueue& prefetches);
void end_tile_feed_forward_gradient(const FeedForwardGradient& sums);

}  // namespace puretour::kernels
