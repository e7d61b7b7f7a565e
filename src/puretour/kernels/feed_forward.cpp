// SPDX-License-Identifier: MIT
#include "puretour/kernels/feed_forward.h"

#include <algorithm>

#include "puretour/base/parallel.h"
#include "puretour/kernels/aligned.h"
#include "puretour/kernels/rows.h"
#include "puretour/kernels/scratch.h"
#include "puretour/kernels/tile_feed_forward.h"

namespace puretour::kernels {
namespace {

// Whole tiles of the product; the hidden values of a block stay in the second cache.
constexpr std::size_t kRowBlock = 96;
// On the way back every block of rows passes over the gradients of all weights: larger blocks read them less often.
constexpr std::size_t kGradientRowBlock = kTileFeedForwardRows;

// Kept from call to call.
struct Workspace {
  AlignedVector<float> hidden;
  AlignedVector<float> gradient;
};

}  // namespace

void activate(Activation activation, float* values, std::size_t count) {
  activation == Activation::kRelu ? relu(values, count) : gelu(values, count);
}

void activate_with_gradient(Activation activation, float* values, float* gradients, std::size_t count) {
  if (activation == Activation::kGelu) return gelu_gradient(values, gradients, count);
  relu(values, count);
  relu_gradient(values, gradients, count);
}

void FeedForward::apply(const float* x, std::size_t num_rows, float* out, int threads, const float* residual) const {
  const bool by_tiles = tiles_take(*this);
  parallel_for_blocks(num_rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    if (by_tiles) {
      return tile_feed_forward(*this, x + begin * first.inputs(), end - begin,
                               residual == nullptr ? nullptr : residual + begin * second.outputs(),
                               out + begin * second.outputs());
    }
    const std::size_t size = (end - begin) * first.outputs();
    float* hidden = room(scratch<Workspace>().hidden, size);
    first.apply(x + begin * first.inputs(), end - begin, hidden);
    activate(activation, hidden, size);
    float* to = out + begin * second.outputs();
    second.apply(hidden, end - begin, to, residual == nullptr ? nullptr : residual + begin * second.outputs());
  });
}

void feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                           std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                           const FeedForwardGradient& sums) {
  const std::size_t inputs = layers.first.inputs();
  const std::size_t width = layers.first.outputs();
  const std::size_t outputs = layers.second.outputs();
  const auto add_product = layers.first.rounded.empty() ? add_transposed_product : add_transposed_product_bfloat16;
  const bool by_tiles = tiles_take(layers);
  auto& work = scratch<Workspace>();
  float* hidden = by_tiles ? nullptr : room(work.hidden, kGradientRowBlock * width);
  float* gradient = by_tiles ? nullptr : room(work.gradient, kGradientRowBlock * width);
  for (std::size_t begin = 0; begin < num_rows; begin += kGradientRowBlock) {
    const std::size_t count = std::min(kGradientRowBlock, num_rows - begin);
    const float* in = x + begin * inputs;
    const float* incoming = out_gradient + begin * outputs;
    if (by_tiles) {
      tile_feed_forward_gradient(layers, transposed, in, count, incoming, residual_is_x, x_gradient + begin * inputs,
                                 sums);
      continue;
    }
    layers.first.apply(in, count, hidden);
    transposed.second.apply(incoming, count, gradient);
    activate_with_gradient(layers.activation, hidden, gradient, count * width);
    transposed.first.apply(gradient, count, x_gradient + begin * inputs, residual_is_x ? incoming : nullptr);
    add_product(incoming, outputs, outputs, hidden, width, width, count, sums.second_weight, width);
    add_product(gradient, width, width, in, inputs, inputs, count, sums.first_weight, inputs);
    add_column_sums(incoming, count, outputs, outputs, sums.second_bias);
    add_column_sums(gradient, count, width, width, sums.first_bias);
  }
}

void apply_linear(const Linear& linear, const float* x, std::size_t num_rows, float* out, int threads) {
  parallel_for_blocks(num_rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    linear.apply(x + begin * linear.inputs(), end - begin, out + begin * linear.outputs());
  });
}

}  // namespace puretour::kernels
