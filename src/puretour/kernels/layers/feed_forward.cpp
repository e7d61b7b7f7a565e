// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/feed_forward.h"

#include <algorithm>

#include "puretour/base/parallel.h"
#include "puretour/kernels/layers/tile_feed_forward.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

// Whole tiles of the product; the hidden values of a block stay in L2.
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
  parallel_for_blocks(num_rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    PrefetchQueue prefetches;
    prefetches.reads(x + end * first.inputs(), std::min(kRowBlock, num_rows - end) * first.inputs());
    prefetches.writes(out + begin * second.outputs(), (end - begin) * second.outputs());
    apply(x + begin * first.inputs(), end - begin, out + begin * second.outputs(),
          residual == nullptr ? nullptr : residual + begin * second.outputs(), prefetches);
  });
}

void FeedForward::apply(const float* x, std::size_t num_rows, float* out, const float* residual,
                        PrefetchQueue& prefetches) const {
  const bool by_tiles = amx_supports(*this);
  for (std::size_t begin = 0; begin < num_rows; begin += kRowBlock) {
    const std::size_t count = std::min(kRowBlock, num_rows - begin);
    const float* in = x + begin * first.inputs();
    float* to = out + begin * second.outputs();
    const float* from = residual == nullptr ? nullptr : residual + begin * second.outputs();
    if (by_tiles) {
      tile_feed_forward(*this, in, count, from, to, prefetches);
      continue;
    }
    const std::size_t size = count * first.outputs();
    float* hidden = ensure_size(scratch<Workspace>().hidden, size);
    first.apply(in, count, hidden);
    activate(activation, hidden, size);
    second.apply(hidden, count, to, from);
  }
}

FeedForwardGradientPass::FeedForwardGradientPass(const FeedForward& layers, const TransposedFeedForward& transposed,
                                                 bool residual_is_x, const FeedForwardGradient& sums)
    : layers_(layers),
      transposed_(transposed),
      residual_is_x_(residual_is_x),
      sums_(sums),
      by_tiles_(amx_supports(layers)) {
  if (by_tiles_) begin_tile_feed_forward_gradient(layers);
}

void FeedForwardGradientPass::add(const float* x, std::size_t num_rows, const float* out_gradient, float* x_gradient,
                                  PrefetchQueue& prefetches) {
  for (std::size_t begin = 0; begin < num_rows; begin += kGradientRowBlock) {
    const std::size_t count = std::min(kGradientRowBlock, num_rows - begin);
    const float* in = x + begin * layers_.first.inputs();
    const float* incoming = out_gradient + begin * layers_.second.outputs();
    float* outgoing = x_gradient + begin * layers_.first.inputs();
    if (by_tiles_) {
      tile_feed_forward_gradient(layers_, transposed_, in, count, incoming, residual_is_x_, outgoing, sums_,
                                 prefetches);
    } else {
      add_block(in, count, incoming, outgoing);
    }
  }
}

void FeedForwardGradientPass::add_block(const float* x, std::size_t num_rows, const float* out_gradient,
                                        float* x_gradient) {
  const std::size_t inputs = layers_.first.inputs();
  const std::size_t width = layers_.first.outputs();
  const std::size_t outputs = layers_.second.outputs();
  const auto add_product = layers_.first.bf16.empty() ? add_transposed_product : add_transposed_product_bfloat16;
  auto& work = scratch<Workspace>();
  float* hidden = ensure_size(work.hidden, kGradientRowBlock * width);
  float* gradient = ensure_size(work.gradient, kGradientRowBlock * width);
  layers_.first.apply(x, num_rows, hidden);
  transposed_.second.apply(out_gradient, num_rows, gradient);
  activate_with_gradient(layers_.activation, hidden, gradient, num_rows * width);
  transposed_.first.apply(gradient, num_rows, x_gradient, residual_is_x_ ? out_gradient : nullptr);
  add_product(out_gradient, outputs, outputs, hidden, width, width, num_rows, sums_.second_weight, width);
  add_product(gradient, width, width, x, inputs, inputs, num_rows, sums_.first_weight, inputs);
  add_column_sums(out_gradient, num_rows, outputs, outputs, sums_.second_bias);
  add_column_sums(gradient, num_rows, width, width, sums_.first_bias);
}

void FeedForwardGradientPass::end() {
  if (by_tiles_) end_tile_feed_forward_gradient(sums_);
}

void feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                           std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                           const FeedForwardGradient& sums) {
  FeedForwardGradientPass pass(layers, transposed, residual_is_x, sums);
  const std::size_t inputs = layers.first.inputs();
  const std::size_t outputs = layers.second.outputs();
  for (std::size_t begin = 0; begin < num_rows; begin += kGradientRowBlock) {
    const std::size_t end = std::min(num_rows, begin + kGradientRowBlock);
    const std::size_t next = std::min(num_rows, end + kGradientRowBlock);
    PrefetchQueue prefetches;
    prefetches.writes(x_gradient + begin * inputs, (end - begin) * inputs);
    prefetches.reads(x + end * inputs, (next - end) * inputs);
    prefetches.reads(out_gradient + end * outputs, (next - end) * outputs);
    pass.add(x + begin * inputs, end - begin, out_gradient + begin * outputs, x_gradient + begin * inputs, prefetches);
  }
  pass.end();
}

void apply_linear(const Linear& linear, const float* x, std::size_t num_rows, float* out, int threads) {
  parallel_for_blocks(num_rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    linear.apply(x + begin * linear.inputs(), end - begin, out + begin * linear.outputs());
  });
}

}  // namespace puretour::kernels
