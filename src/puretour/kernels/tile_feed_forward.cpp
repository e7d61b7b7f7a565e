// SPDX-License-Identifier: MIT
#include "puretour/kernels/tile_feed_forward.h"

#include <algorithm>

#include "puretour/kernels/aligned.h"
#include "puretour/kernels/pairs.h"
#include "puretour/kernels/rows.h"

namespace puretour::kernels {
namespace {

// Columns of hidden values at a time: with the rows of a block they fit the first cache.
constexpr std::size_t kChunk = 64;

// Kept by every thread.
struct Workspace {
  AlignedVector<std::uint32_t> x_rows;            // [row][pairs of channels]
  AlignedVector<std::uint32_t> incoming_rows;     // the same of the gradient of the outputs
  AlignedVector<std::uint32_t> hidden_rows;       // the same of the hidden values, or of their gradients
  AlignedVector<std::uint32_t> x_pairs;           // [pair of rows][channel]
  AlignedVector<std::uint32_t> hidden_pairs;      // the same of a chunk of hidden values
  AlignedVector<std::uint32_t> pairs;             // the same of what is turned next
  AlignedVector<std::uint32_t> incoming_columns;  // [channel][pairs of rows]
  AlignedVector<std::uint32_t> gradient_columns;  // the same of a chunk of gradients
  AlignedVector<float> hidden;                    // [row][kChunk]
  AlignedVector<float> gradient;                  // [row][kChunk]
};

Workspace& workspace() {
  thread_local Workspace work;
  return work;
}

// [row][pairs of channels] of an even number of channels.
void fill_rows(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t channels, std::uint32_t* out,
               std::size_t out_stride) {
  for (std::size_t r = 0; r < num_rows; ++r) {
    round_row(rows + r * stride, channels, reinterpret_cast<std::uint16_t*>(out + r * out_stride));
  }
}

// out = left . columns [first, first + kChunk) of `matrix`, plus the bias.
void multiply_chunk(const std::uint32_t* left, std::size_t num_rows, const Linear& linear, std::size_t first,
                    float* out) {
  const Bfloat16Matrix& matrix = linear.rounded;
  multiply_pairs({left, matrix.num_pairs(), matrix.data() + first * matrix.num_pairs(), kBlock,
                  matrix.num_pairs() * kBlock, matrix.num_pairs(),
                  linear.bias.empty() ? nullptr : linear.bias.data() + first, 0, out, kChunk, num_rows, kChunk});
}

void multiply_all(const std::uint32_t* left, std::size_t num_rows, const Linear& linear, float* out) {
  const Bfloat16Matrix& matrix = linear.rounded;
  multiply_pairs({left, matrix.num_pairs(), matrix.data(), kBlock, matrix.num_pairs() * kBlock, matrix.num_pairs(),
                  linear.bias.empty() ? nullptr : linear.bias.data(), 0, out, linear.outputs(), num_rows,
                  linear.outputs()});
}

bool whole_blocks(const Linear& linear) {
  return linear.inputs() % kBlock == 0 && linear.outputs() % kBlock == 0 && !linear.rounded.empty();
}

}  // namespace

bool tiles_take(const FeedForward& layers) {
  return active_isa() >= Isa::kAvx512Bf16 && whole_blocks(layers.first) && whole_blocks(layers.second) &&
         layers.first.outputs() % kChunk == 0;
}

void tile_feed_forward(const FeedForward& layers, const float* x, std::size_t num_rows, const float* residual,
                       float* out) {
  const std::size_t inputs = layers.first.inputs();
  const std::size_t width = layers.first.outputs();
  const std::size_t outputs = layers.second.outputs();
  const MatrixUnitInUse in_use;
  Workspace& work = workspace();
  const std::size_t rows = padded(num_rows);
  std::uint32_t* x_rows = room(work.x_rows, rows * inputs / 2);
  std::uint32_t* hidden_rows = room(work.hidden_rows, rows * width / 2);
  float* hidden = room(work.hidden, rows * kChunk);
  fill_rows(x, inputs, num_rows, inputs, x_rows, inputs / 2);
  for (std::size_t c = 0; c < width; c += kChunk) {
    multiply_chunk(x_rows, num_rows, layers.first, c, hidden);
    activate(layers.activation, hidden, num_rows * kChunk);
    fill_rows(hidden, kChunk, num_rows, kChunk, hidden_rows + c / 2, width / 2);
  }
  multiply_all(hidden_rows, num_rows, layers.second, out);
  if (residual != nullptr) add(out, residual, num_rows * outputs);
}

void tile_feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                                std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                                const FeedForwardGradient& sums) {
  const std::size_t inputs = layers.first.inputs();
  const std::size_t width = layers.first.outputs();
  const std::size_t outputs = layers.second.outputs();
  const std::size_t rows = padded(num_rows);
  const std::size_t num_pairs = num_row_pairs(num_rows);
  const MatrixUnitInUse in_use;
  Workspace& work = workspace();

  std::uint32_t* x_rows = room(work.x_rows, rows * inputs / 2);
  std::uint32_t* x_pairs = room(work.x_pairs, num_pairs * inputs);
  fill_rows(x, inputs, num_rows, inputs, x_rows, inputs / 2);
  round_row_pairs(x, inputs, num_rows, inputs, x_pairs, inputs);

  std::uint32_t* incoming_rows = room(work.incoming_rows, rows * outputs / 2);
  std::uint32_t* incoming_columns = room(work.incoming_columns, outputs * num_pairs);
  std::uint32_t* pairs = room(work.pairs, num_pairs * std::max(outputs, kChunk));
  fill_rows(out_gradient, outputs, num_rows, outputs, incoming_rows, outputs / 2);
  round_row_pairs(out_gradient, outputs, num_rows, outputs, pairs, outputs);
  turn_pairs(pairs, num_pairs, outputs, incoming_columns);

  float* hidden = room(work.hidden, rows * kChunk);
  float* gradient = room(work.gradient, rows * kChunk);
  std::uint32_t* gradient_rows = room(work.hidden_rows, rows * width / 2);
  std::uint32_t* hidden_pairs = room(work.hidden_pairs, num_pairs * kChunk);
  std::uint32_t* gradient_columns = room(work.gradient_columns, kChunk * num_pairs);
  for (std::size_t c = 0; c < width; c += kChunk) {
    multiply_chunk(x_rows, num_rows, layers.first, c, hidden);
    multiply_chunk(incoming_rows, num_rows, transposed.second, c, gradient);
    activate_with_gradient(layers.activation, hidden, gradient, num_rows * kChunk);
    fill_rows(gradient, kChunk, num_rows, kChunk, gradient_rows + c / 2, width / 2);
    round_row_pairs(hidden, kChunk, num_rows, kChunk, hidden_pairs, kChunk);
    multiply_pairs({incoming_columns, num_pairs, hidden_pairs, kChunk, kBlock, num_pairs, sums.second_weight + c, width,
                    sums.second_weight + c, width, outputs, kChunk});
    round_row_pairs(gradient, kChunk, num_rows, kChunk, pairs, kChunk);
    turn_pairs(pairs, num_pairs, kChunk, gradient_columns);
    float* of_first = sums.first_weight + c * inputs;
    multiply_pairs({gradient_columns, num_pairs, x_pairs, inputs, kBlock, num_pairs, of_first, inputs, of_first, inputs,
                    kChunk, inputs});
    add_column_sums(gradient, num_rows, kChunk, kChunk, sums.first_bias + c);
  }
  multiply_all(gradient_rows, num_rows, transposed.first, x_gradient);
  if (residual_is_x) add(x_gradient, out_gradient, num_rows * inputs);
  add_column_sums(out_gradient, num_rows, outputs, outputs, sums.second_bias);
}

}  // namespace puretour::kernels
