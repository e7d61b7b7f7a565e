// Two linear layers with an activation between them, in memory that does not grow with the number of rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/simd/prefetch_queue.h"

namespace puretour::kernels {

enum class Activation : std::uint8_t { kRelu, kGelu };

/// Replaces the values by those of the activation.
void activate(Activation activation, float* values, std::size_t count);
/// The same, and turns the gradients of the results into those of the values.
void activate_with_gradient(Activation activation, float* values, float* gradients, std::size_t count);

struct FeedForward {
  Linear first;
  Linear second;
  Activation activation = Activation::kRelu;

  /// out[r] = residual[r] + second(activation(first(x[r]))); out must not overlap x. `residual` may be null (none) or
  /// x.
  void apply(const float* x, std::size_t num_rows, float* out, int threads = 1, const float* residual = nullptr) const;
  /// The same on this thread, fetching what is prefetches meanwhile.
  void apply(const float* x, std::size_t num_rows, float* out, const float* residual, PrefetchQueue& prefetches) const;
};

/// Where the gradients of the four parts are added: weights as [outputs][inputs].
struct FeedForwardGradient {
  float* first_weight = nullptr;
  float* first_bias = nullptr;
  float* second_weight = nullptr;
  float* second_bias = nullptr;
};

/// The weights for the way back.
struct TransposedFeedForward {
  Linear first;   // hidden -> inputs
  Linear second;  // outputs -> hidden
};

/// From the gradient of the outputs: writes that of x, adds those of the weights. Hidden values are computed again, a
/// block of rows at a time, so that they never leave the cache. All products have the precision of the layers. With
/// `residual_is_x` the gradient of x includes the share through the residual.
void feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                           std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                           const FeedForwardGradient& sums);

/// The same in parts: add() some rows at a time, then end(). Meanwhile the gradients of the weights are in the scratch
/// memory of the thread, which must not begin another pass.
class FeedForwardGradientPass {
 public:
  FeedForwardGradientPass(const FeedForward& layers, const TransposedFeedForward& transposed, bool residual_is_x,
                          const FeedForwardGradient& sums);

  void add(const float* x, std::size_t num_rows, const float* out_gradient, float* x_gradient,
           PrefetchQueue& prefetches);
  void end();

 private:
  void add_block(const float* x, std::size_t num_rows, const float* out_gradient, float* x_gradient);

  const FeedForward& layers_;
  const TransposedFeedForward& transposed_;
  bool residual_is_x_;
  FeedForwardGradient sums_;
  bool by_tiles_;
};

/// linear.apply over blocks of rows on several threads.
void apply_linear(const Linear& linear, const float* x, std::size_t num_rows, float* out, int threads);

}  // namespace puretour::kernels
