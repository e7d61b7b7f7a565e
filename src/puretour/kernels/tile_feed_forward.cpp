// SPDX-License-Identifier: MIT
#include "puretour/kernels/tile_feed_forward.h"

#include <algorithm>

#include "puretour/base/error.h"
#include "puretour/kernels/aligned.h"
#include "puretour/kernels/pairs.h"
#include "puretour/kernels/rows.h"
#include "puretour/kernels/scratch.h"
#include "puretour/kernels/tile_registers.h"

namespace puretour::kernels {

#if defined(__x86_64__)
namespace {

// Columns of hidden values at a time: with the rows of a block they fit the first cache.
constexpr std::size_t kChunk = 64;

// Kept from call to call.
struct Workspace {
  AlignedVector<std::uint32_t> x_rows;            // [row][pairs of channels]
  AlignedVector<std::uint32_t> incoming_rows;     // the same of the gradient of the outputs
  AlignedVector<std::uint32_t> hidden_rows;       // the same of the hidden values, or of their gradients
  AlignedVector<std::uint32_t> x_panels;          // [sixteen channels][pair of rows][channel]
  AlignedVector<std::uint32_t> hidden_panels;     // the same of a chunk of hidden values
  AlignedVector<std::uint32_t> pairs;             // [pair of rows][channel] of what is turned next
  AlignedVector<std::uint32_t> incoming_columns;  // [channel][pairs of rows]
  AlignedVector<std::uint32_t> gradient_columns;  // the same of a chunk of gradients
  AlignedVector<float> hidden;                    // [row][kChunk]
  AlignedVector<float> gradient;                  // [row][kChunk]
};

// Two rows of a chunk, sixteen columns of it. kRelu: the activation has yet to be computed.
template <bool kRelu>
struct TwoRows {
  __m512 hidden[2];
  __m512 gradient[2];

  // Row `second` may be missing.
  PURETOUR_TILE_INLINE TwoRows(const float* hiddens, const float* gradients, bool has_second) {
    for (std::size_t r = 0; r < 2; ++r) {
      const bool is_there = r == 0 || has_second;
      hidden[r] = is_there ? _mm512_loadu_ps(hiddens + r * kChunk) : _mm512_setzero_ps();
      gradient[r] = is_there ? _mm512_loadu_ps(gradients + r * kChunk) : _mm512_setzero_ps();
      if constexpr (kRelu) {
        const __mmask16 positive = _mm512_cmp_ps_mask(hidden[r], _mm512_setzero_ps(), _CMP_GT_OQ);
        hidden[r] = _mm512_maskz_mov_ps(positive, hidden[r]);
        gradient[r] = _mm512_maskz_mov_ps(positive, gradient[r]);
      }
    }
  }
};

struct ChunkForms {
  std::uint32_t* gradient_rows;  // [row][pairs of channels]
  std::size_t gradient_stride;
  std::uint32_t* hidden_panels;   // [sixteen channels][pair of rows][channel]
  std::uint32_t* gradient_pairs;  // [pair of rows][channel]
  float* sums;                    // of the gradients of a channel, to be added to
};

// A chunk of hidden values and their gradients in all forms that products need, in one pass.
template <bool kRelu>
PURETOUR_TILE_TARGET void round_chunk(const float* hidden, const float* gradient, std::size_t num_rows,
                                      const ChunkForms& forms) {
  const std::size_t num_pairs = num_row_pairs(num_rows);
  const __m512i order = interleaving();
  __m512 sums[kChunk / kBlock];
  for (std::size_t j = 0; j < kChunk / kBlock; ++j) sums[j] = _mm512_loadu_ps(forms.sums + j * kBlock);
  for (std::size_t r = 0; r < num_rows; r += 2) {
    const bool has_second = r + 1 < num_rows;
    for (std::size_t j = 0; j < kChunk; j += 2 * kBlock) {
      const std::size_t at = r * kChunk + j;
      const TwoRows<kRelu> left(hidden + at, gradient + at, has_second);
      const TwoRows<kRelu> right(hidden + at + kBlock, gradient + at + kBlock, has_second);
      const std::size_t pair_at = r / 2 * kChunk + j;
      const std::size_t panel_at = j * num_pairs + r / 2 * kBlock;
      store_pair(forms.hidden_panels + panel_at, left.hidden[0], left.hidden[1], order);
      store_pair(forms.hidden_panels + panel_at + num_pairs * kBlock, right.hidden[0], right.hidden[1], order);
      store_pair(forms.gradient_pairs + pair_at, left.gradient[0], left.gradient[1], order);
      store_pair(forms.gradient_pairs + pair_at + kBlock, right.gradient[0], right.gradient[1], order);
      std::uint32_t* rows = forms.gradient_rows + r * forms.gradient_stride + j / 2;
      store_row(rows, left.gradient[0], right.gradient[0]);
      if (has_second) store_row(rows + forms.gradient_stride, left.gradient[1], right.gradient[1]);
      __m512& left_sum = sums[j / kBlock];
      __m512& right_sum = sums[j / kBlock + 1];
      left_sum = _mm512_add_ps(_mm512_add_ps(left_sum, left.gradient[0]), left.gradient[1]);
      right_sum = _mm512_add_ps(_mm512_add_ps(right_sum, right.gradient[0]), right.gradient[1]);
    }
  }
  for (std::size_t j = 0; j < kChunk / kBlock; ++j) _mm512_storeu_ps(forms.sums + j * kBlock, sums[j]);
  for (std::size_t k = (num_rows + 1) / 2; k < num_pairs; ++k) {
    for (std::size_t j = 0; j < kChunk; j += kBlock) {
      std::fill_n(forms.hidden_panels + j * num_pairs + k * kBlock, kBlock, 0);
    }
    std::fill_n(forms.gradient_pairs + k * kChunk, kChunk, 0);
  }
}

PURETOUR_TILE_TARGET void relu_and_round_rows(const float* hidden, std::size_t num_rows, std::uint32_t* rows,
                                              std::size_t stride) {
  const __m512 zero = _mm512_setzero_ps();
  for (std::size_t r = 0; r < num_rows; ++r) {
    for (std::size_t j = 0; j < kChunk; j += 2 * kBlock) {
      const float* from = hidden + r * kChunk + j;
      store_row(rows + r * stride + j / 2, _mm512_maskz_max_ps(kAll, _mm512_loadu_ps(from), zero),
                _mm512_maskz_max_ps(kAll, _mm512_loadu_ps(from + kBlock), zero));
    }
  }
}

void round_hidden(Activation activation, float* hidden, std::size_t num_rows, std::uint32_t* rows, std::size_t stride) {
  if (activation == Activation::kRelu) return relu_and_round_rows(hidden, num_rows, rows, stride);
  activate(activation, hidden, num_rows * kChunk);
  round_rows(hidden, kChunk, num_rows, kChunk, rows, stride, kChunk / 2);
}

void round_hidden_and_gradient(Activation activation, float* hidden, float* gradient, std::size_t num_rows,
                               const ChunkForms& forms) {
  if (activation == Activation::kRelu) return round_chunk<true>(hidden, gradient, num_rows, forms);
  activate_with_gradient(activation, hidden, gradient, num_rows * kChunk);
  round_chunk<false>(hidden, gradient, num_rows, forms);
}

// out = left . columns [first, first + kChunk) of `matrix`, plus the bias.
void multiply_chunk(const std::uint32_t* left, std::size_t num_rows, const Linear& linear, std::size_t first,
                    float* out) {
  const Bfloat16Matrix& matrix = linear.rounded;
  multiply_pairs({left, spread_stride(matrix.num_pairs()), matrix.data() + first * matrix.num_pairs(), kBlock,
                  matrix.num_pairs() * kBlock, matrix.num_pairs(),
                  linear.bias.empty() ? nullptr : linear.bias.data() + first, 0, out, kChunk, num_rows, kChunk});
}

void multiply_all(const std::uint32_t* left, std::size_t num_rows, const Linear& linear, float* out,
                  const float* residual) {
  const Bfloat16Matrix& matrix = linear.rounded;
  const bool start_with_residual = linear.bias.empty();
  const float* start = start_with_residual ? residual : linear.bias.data();
  multiply_pairs({left, spread_stride(matrix.num_pairs()), matrix.data(), kBlock, matrix.num_pairs() * kBlock,
                  matrix.num_pairs(), start, start_with_residual ? linear.outputs() : 0, out, linear.outputs(),
                  num_rows, linear.outputs()});
  if (residual != nullptr && !start_with_residual) add(out, residual, num_rows * linear.outputs());
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
  const std::size_t x_stride = spread_stride(layers.first.rounded.num_pairs());
  const std::size_t hidden_stride = spread_stride(layers.second.rounded.num_pairs());
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  const std::size_t rows = padded(num_rows);
  std::uint32_t* x_rows = room(work.x_rows, rows * x_stride);
  std::uint32_t* hidden_rows = room(work.hidden_rows, rows * hidden_stride);
  float* hidden = room(work.hidden, rows * kChunk);
  round_rows(x, inputs, num_rows, inputs, x_rows, x_stride, inputs / 2);
  for (std::size_t c = 0; c < width; c += kChunk) {
    multiply_chunk(x_rows, num_rows, layers.first, c, hidden);
    round_hidden(layers.activation, hidden, num_rows, hidden_rows + c / 2, hidden_stride);
  }
  multiply_all(hidden_rows, num_rows, layers.second, out, residual);
}

void tile_feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                                std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                                const FeedForwardGradient& sums) {
  const std::size_t inputs = layers.first.inputs();
  const std::size_t width = layers.first.outputs();
  const std::size_t outputs = layers.second.outputs();
  const std::size_t x_stride = spread_stride(layers.first.rounded.num_pairs());
  const std::size_t hidden_stride = spread_stride(layers.second.rounded.num_pairs());
  const std::size_t out_stride = spread_stride(transposed.second.rounded.num_pairs());
  const std::size_t rows = padded(num_rows);
  const std::size_t num_pairs = num_row_pairs(num_rows);
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();

  std::uint32_t* x_rows = room(work.x_rows, rows * x_stride);
  std::uint32_t* x_panels = room(work.x_panels, num_pairs * inputs);
  round_rows(x, inputs, num_rows, inputs, x_rows, x_stride, inputs / 2);
  round_row_panels(x, inputs, num_rows, inputs, x_panels);

  std::uint32_t* incoming_rows = room(work.incoming_rows, rows * out_stride);
  std::uint32_t* incoming_columns = room(work.incoming_columns, outputs * num_pairs);
  std::uint32_t* pairs = room(work.pairs, num_pairs * std::max(outputs, kChunk));
  round_rows(out_gradient, outputs, num_rows, outputs, incoming_rows, out_stride, outputs / 2);
  round_row_pairs(out_gradient, outputs, num_rows, outputs, pairs, outputs);
  turn_pairs(pairs, num_pairs, outputs, incoming_columns);

  float* hidden = room(work.hidden, rows * kChunk);
  float* gradient = room(work.gradient, rows * kChunk);
  std::uint32_t* gradient_rows = room(work.hidden_rows, rows * hidden_stride);
  std::uint32_t* hidden_panels = room(work.hidden_panels, num_pairs * kChunk);
  std::uint32_t* gradient_columns = room(work.gradient_columns, kChunk * num_pairs);
  for (std::size_t c = 0; c < width; c += kChunk) {
    multiply_chunk(x_rows, num_rows, layers.first, c, hidden);
    multiply_chunk(incoming_rows, num_rows, transposed.second, c, gradient);
    round_hidden_and_gradient(layers.activation, hidden, gradient, num_rows,
                              {gradient_rows + c / 2, hidden_stride, hidden_panels, pairs, sums.first_bias + c});
    multiply_pairs({incoming_columns, num_pairs, hidden_panels, kBlock, num_pairs * kBlock, num_pairs,
                    sums.second_weight + c, width, sums.second_weight + c, width, outputs, kChunk});
    turn_pairs(pairs, num_pairs, kChunk, gradient_columns);
    float* of_first = sums.first_weight + c * inputs;
    multiply_pairs({gradient_columns, num_pairs, x_panels, kBlock, num_pairs * kBlock, num_pairs, of_first, inputs,
                    of_first, inputs, kChunk, inputs});
  }
  multiply_all(gradient_rows, num_rows, transposed.first, x_gradient, residual_is_x ? out_gradient : nullptr);
  add_column_sums(out_gradient, num_rows, outputs, outputs, sums.second_bias);
}

#else

bool tiles_take(const FeedForward& /*layers*/) {
  return false;
}

void tile_feed_forward(const FeedForward&, const float*, std::size_t, const float*, float*) {
  throw InternalError("tile_feed_forward: this CPU has no instructions for it");
}

void tile_feed_forward_gradient(const FeedForward&, const TransposedFeedForward&, const float*, std::size_t,
                                const float*, bool, float*, const FeedForwardGradient&) {
  throw InternalError("tile_feed_forward_gradient: this CPU has no instructions for it");
}

#endif

}  // namespace puretour::kernels
