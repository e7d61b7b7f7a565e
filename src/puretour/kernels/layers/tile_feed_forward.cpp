// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/tile_feed_forward.h"

#include <algorithm>

#include "puretour/base/error.h"
#include "puretour/kernels/gemm/tile_blocks.h"
#include "puretour/kernels/gemm/tile_registers.h"
#include "puretour/kernels/gemm/vnni.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {

#if defined(__x86_64__)
namespace {

// Lines of prefetches rows per step of a product: a block's own share is far less than what it has time for.
constexpr std::size_t kLinesPerStep = 8;

// Kept from call to call.
struct Workspace {
  AlignedVector<std::uint32_t> x_rows;            // [row][pairs of channels]
  AlignedVector<std::uint32_t> incoming_rows;     // the same of the gradient of the outputs
  AlignedVector<std::uint32_t> hidden_rows;       // the same of the hidden values, or of their gradients
  AlignedVector<std::uint32_t> x_columns;         // [channel][pairs of rows]
  AlignedVector<std::uint32_t> incoming_columns;  // the same of the gradient of the outputs
  // Of 32 columns of hidden values: [sixteen channels][pair of rows][channel]
  AlignedVector<std::uint32_t> hidden_panels;
  AlignedVector<std::uint32_t> gradient_panels;
  // Gradients of the weights, with the hidden values across.
  WeightSums first_sums;
  WeightSums second_sums;
  // Blocks that are multiplied and that are turned, by turns.
  alignas(64) float hidden[2][kBlockSize];
  alignas(64) float gradient[2][kBlockSize];
};

// A block of hidden values on its way to rows of pairs, a few rows at a time. kRelu: the activation has yet to be
// computed.
template <bool kRelu>
class RowsOfBlock {
 public:
  RowsOfBlock() = default;
  RowsOfBlock(const float* block, std::uint32_t* rows, std::size_t stride)
      : block_(block), rows_(rows), stride_(stride), num_left_(kSide) {}

  PURETOUR_TILE_INLINE void turn_some() { turn(kSide / 4); }
  PURETOUR_TILE_INLINE void turn_rest() { turn(num_left_); }

 private:
  PURETOUR_TILE_INLINE void turn(std::size_t count) {
    count = std::min(count, num_left_);
    for (std::size_t r = 0; r < count; ++r) {
      auto row = reinterpret_cast<__m512i>(
          _mm512_cvtne2ps_pbh(_mm512_load_ps(block_ + r * kSide + kBlock), _mm512_load_ps(block_ + r * kSide)));
      // A bfloat16 below zero is a negative integer, too.
      if constexpr (kRelu) row = _mm512_max_epi16(row, _mm512_setzero_si512());
      _mm512_storeu_si512(rows_ + r * stride_, row);
    }
    block_ += count * kSide;
    rows_ += count * stride_;
    num_left_ -= count;
  }

  const float* block_ = nullptr;
  std::uint32_t* rows_ = nullptr;
  std::size_t stride_ = 0;
  std::size_t num_left_ = 0;
};

// Where the forms of a block of hidden values and of their gradients belong.
struct PackedGradientTiles {
  std::uint32_t* gradient_rows = nullptr;  // [row][pairs of channels]
  std::size_t gradient_stride = 0;
  std::uint32_t* hidden_panels = nullptr;  // two panels: [pair of rows][channel]
  std::uint32_t* gradient_panels = nullptr;
  std::size_t panel_stride = 0;
  float* sums = nullptr;  // of the gradients of a channel, to be added to
};

// Such blocks on their way there, a few pairs of rows at a time.
template <bool kRelu>
class PackedBlock {
 public:
  PackedBlock() = default;
  PackedBlock(const float* hidden, const float* gradient, const PackedGradientTiles& forms)
      : hidden_(hidden), gradient_(gradient), forms_(forms), num_left_(kSide / 2) {}

  PURETOUR_TILE_INLINE void turn_some() { turn(2); }
  PURETOUR_TILE_INLINE void turn_rest() { turn(num_left_); }

 private:
  // Sixteen columns of two rows, one behind the other.
  PURETOUR_TILE_INLINE static __m512i two_rows(const float* rows) {
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_load_ps(rows + kSide), _mm512_load_ps(rows)));
  }

  PURETOUR_TILE_INLINE void turn(std::size_t count) {
    count = std::min(count, num_left_);
    const __m512i order = interleaving();
    const __m512i zero = _mm512_setzero_si512();
    const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3F80));
    for (std::size_t i = 0; i < count; ++i) {
      __m512i gradients[2];
      for (std::size_t half = 0; half < 2; ++half) {
        __m512i hidden = two_rows(hidden_ + half * kBlock);
        gradients[half] = two_rows(gradient_ + half * kBlock);
        if constexpr (kRelu) {
          gradients[half] = _mm512_maskz_mov_epi16(_mm512_cmpgt_epi16_mask(hidden, zero), gradients[half]);
          hidden = _mm512_max_epi16(hidden, zero);
        }
        const __m512i pairs = _mm512_permutexvar_epi16(order, gradients[half]);
        _mm512_store_si512(forms_.hidden_panels + half * forms_.panel_stride, _mm512_permutexvar_epi16(order, hidden));
        _mm512_store_si512(forms_.gradient_panels + half * forms_.panel_stride, pairs);
        float* sums = forms_.sums + half * kBlock;
        _mm512_storeu_ps(sums, _mm512_dpbf16_ps(_mm512_loadu_ps(sums), reinterpret_cast<__m512bh>(pairs), ones));
      }
      constexpr int kLowerHalves = 0x44;
      constexpr int kUpperHalves = 0xEE;
      constexpr __mmask8 kAllOfEight = 0xFF;
      _mm512_storeu_si512(forms_.gradient_rows,
                          _mm512_maskz_shuffle_i64x2(kAllOfEight, gradients[0], gradients[1], kLowerHalves));
      _mm512_storeu_si512(forms_.gradient_rows + forms_.gradient_stride,
                          _mm512_maskz_shuffle_i64x2(kAllOfEight, gradients[0], gradients[1], kUpperHalves));
      hidden_ += 2 * kSide;
      gradient_ += 2 * kSide;
      forms_.hidden_panels += kBlock;
      forms_.gradient_panels += kBlock;
      forms_.gradient_rows += 2 * forms_.gradient_stride;
    }
    num_left_ -= count;
  }

  const float* hidden_ = nullptr;
  const float* gradient_ = nullptr;
  PackedGradientTiles forms_;
  std::size_t num_left_ = 0;
};

void multiply_all(const std::uint32_t* left, std::size_t num_rows, const Linear& linear, float* out,
                  const float* residual) {
  const Bfloat16Matrix& matrix = linear.bf16;
  const bool start_with_residual = linear.bias.empty();
  const float* start = start_with_residual ? residual : linear.bias.data();
  gemm_bf16({left, padded_stride(matrix.num_pairs()), matrix.data(), kBlock, matrix.num_pairs() * kBlock,
             matrix.num_pairs(), start, start_with_residual ? linear.outputs() : 0, out, linear.outputs(), num_rows,
             linear.outputs()});
  if (residual != nullptr && !start_with_residual) add(out, residual, num_rows * linear.outputs());
}

template <class Blocks, bool kRelu>
PURETOUR_TILE_TARGET void forward(const FeedForward& layers, const float* x, std::size_t num_rows,
                                  const float* residual, float* out, PrefetchQueue& prefetches) {
  const std::size_t inputs = layers.first.inputs();
  const std::size_t x_stride = padded_stride(layers.first.bf16.num_pairs());
  const std::size_t hidden_stride = padded_stride(layers.second.bf16.num_pairs());
  const std::size_t rows = padded_to_side(num_rows);
  auto& work = scratch<Workspace>();
  std::uint32_t* x_rows = ensure_size(work.x_rows, rows * x_stride);
  std::uint32_t* hidden_rows = ensure_size(work.hidden_rows, rows * hidden_stride);
  round_rows(x, inputs, num_rows, inputs, x_rows, x_stride, inputs / 2);
  RowsOfBlock<kRelu> last;
  float* block = work.hidden[0];
  float* other = work.hidden[1];
  for (std::size_t c = 0; c < layers.first.outputs(); c += kSide) {
    for (std::size_t r = 0; r < rows; r += kSide) {
      const BlockGemm product = block_of(x_rows + r * x_stride, layers.first, c, block);
      Blocks::multiply(product, [&]() PURETOUR_TILE_LAMBDA {
        last.turn_some();
        prefetches.fetch(kLinesPerStep);
      });
      last.turn_rest();
      Blocks::store(product);
      if constexpr (!kRelu) activate(layers.activation, block, kBlockSize);
      last = RowsOfBlock<kRelu>(block, hidden_rows + r * hidden_stride + c / 2, hidden_stride);
      std::swap(block, other);
    }
  }
  last.turn_rest();
  multiply_all(hidden_rows, num_rows, layers.second, out, residual);
}

template <class Blocks, bool kRelu>
PURETOUR_TILE_TARGET void backward(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                                   std::size_t num_rows, const float* out_gradient, bool residual_is_x,
                                   float* x_gradient, const FeedForwardGradient& sums, PrefetchQueue& prefetches) {
  const std::size_t inputs = layers.first.inputs();
  const std::size_t width = layers.first.outputs();
  const std::size_t outputs = layers.second.outputs();
  const std::size_t x_stride = padded_stride(layers.first.bf16.num_pairs());
  const std::size_t hidden_stride = padded_stride(layers.second.bf16.num_pairs());
  const std::size_t out_stride = padded_stride(transposed.second.bf16.num_pairs());
  const std::size_t rows = padded_to_side(num_rows);
  const std::size_t num_pairs = rows / 2;
  const std::size_t column_stride = padded_stride(num_pairs);
  auto& work = scratch<Workspace>();

  std::uint32_t* x_rows = ensure_size(work.x_rows, rows * x_stride);
  std::uint32_t* x_columns = ensure_size(work.x_columns, inputs * column_stride);
  std::uint32_t* incoming_rows = ensure_size(work.incoming_rows, rows * out_stride);
  std::uint32_t* incoming_columns = ensure_size(work.incoming_columns, outputs * column_stride);
  round_rows(x, inputs, num_rows, inputs, x_rows, x_stride, inputs / 2);
  round_columns(x, inputs, num_rows, inputs, x_columns, column_stride);
  round_rows(out_gradient, outputs, num_rows, outputs, incoming_rows, out_stride, outputs / 2);
  // Rows behind the last one add nothing to any sum; not even zero times what was left there, which may be no number.
  std::fill(x_rows + num_rows * x_stride, x_rows + rows * x_stride, 0);
  std::fill(incoming_rows + num_rows * out_stride, incoming_rows + rows * out_stride, 0);
  round_columns(out_gradient, outputs, num_rows, outputs, incoming_columns, column_stride);

  std::uint32_t* gradient_rows = ensure_size(work.hidden_rows, rows * hidden_stride);
  std::uint32_t* hidden_panels = ensure_size(work.hidden_panels, num_pairs * kSide);
  std::uint32_t* gradient_panels = ensure_size(work.gradient_panels, num_pairs * kSide);
  for (std::size_t c = 0; c < width; c += kSide) {
    PackedBlock<kRelu> last;
    const auto meanwhile = [&]() PURETOUR_TILE_LAMBDA {
      last.turn_some();
      prefetches.fetch(kLinesPerStep);
    };
    for (std::size_t r = 0; r < rows; r += kSide) {
      float* hidden = work.hidden[r / kSide % 2];
      float* gradient = work.gradient[r / kSide % 2];
      const BlockGemm of_hidden = block_of(x_rows + r * x_stride, layers.first, c, hidden);
      Blocks::multiply(of_hidden, meanwhile);
      Blocks::store(of_hidden);
      const BlockGemm of_gradient = block_of(incoming_rows + r * out_stride, transposed.second, c, gradient);
      Blocks::multiply(of_gradient, meanwhile);
      last.turn_rest();
      Blocks::store(of_gradient);
      if constexpr (!kRelu) activate_with_gradient(layers.activation, hidden, gradient, kBlockSize);
      last = {
          hidden, gradient,
          PackedGradientTiles{gradient_rows + r * hidden_stride + c / 2, hidden_stride, hidden_panels + r / 2 * kBlock,
                              gradient_panels + r / 2 * kBlock, num_pairs * kBlock, sums.first_bias + c}};
    }
    last.turn_rest();
    const auto fetch = [&]() PURETOUR_TILE_LAMBDA { prefetches.fetch(2); };
    work.second_sums.add<Blocks>(incoming_columns, column_stride, hidden_panels, num_pairs, c, fetch);
    work.first_sums.add<Blocks>(x_columns, column_stride, gradient_panels, num_pairs, c, fetch);
  }
  multiply_all(gradient_rows, num_rows, transposed.first, x_gradient, residual_is_x ? out_gradient : nullptr);
  add_column_sums(out_gradient, num_rows, outputs, outputs, sums.second_bias);
}

// Calls use.operator()<Blocks, kRelu>().
template <class Use>
void with_kind(const FeedForward& layers, const Use& use) {
  const MatrixUnitInUse in_use;
  const bool by_unit = active_isa() >= Isa::kAmx;
  if (layers.activation == Activation::kRelu) {
    by_unit ? use.template operator()<TileBlocks, true>() : use.template operator()<RegisterBlocks, true>();
  } else {
    by_unit ? use.template operator()<TileBlocks, false>() : use.template operator()<RegisterBlocks, false>();
  }
}

}  // namespace

bool amx_supports(const FeedForward& layers) {
  return active_isa() >= Isa::kAvx512Bf16 && is_in_blocks(layers.first) && is_in_blocks(layers.second);
}

void tile_feed_forward(const FeedForward& layers, const float* x, std::size_t num_rows, const float* residual,
                       float* out, PrefetchQueue& prefetches) {
  with_kind(layers, [&]<class Blocks, bool kRelu>() {
    forward<Blocks, kRelu>(layers, x, num_rows, residual, out, prefetches);
  });
}

void begin_tile_feed_forward_gradient(const FeedForward& layers) {
  auto& work = scratch<Workspace>();
  work.first_sums.begin(layers.first.inputs(), layers.first.outputs());
  work.second_sums.begin(layers.second.outputs(), layers.first.outputs());
}

void tile_feed_forward_gradient(const FeedForward& layers, const TransposedFeedForward& transposed, const float* x,
                                std::size_t num_rows, const float* out_gradient, bool residual_is_x, float* x_gradient,
                                const FeedForwardGradient& sums, PrefetchQueue& prefetches) {
  with_kind(layers, [&]<class Blocks, bool kRelu>() {
    backward<Blocks, kRelu>(layers, transposed, x, num_rows, out_gradient, residual_is_x, x_gradient, sums, prefetches);
  });
}

void end_tile_feed_forward_gradient(const FeedForwardGradient& sums) {
  const auto& work = scratch<Workspace>();
  work.first_sums.add_turned_to(sums.first_weight);
  work.second_sums.add_to(sums.second_weight);
}

#else

bool amx_supports(const FeedForward& /*layers*/) {
  return false;
}

void tile_feed_forward(const FeedForward&, const float*, std::size_t, const float*, float*, PrefetchQueue&) {
  throw InternalError("tile_feed_forward: this CPU has no instructions for it");
}

void begin_tile_feed_forward_gradient(const FeedForward&) {}

void tile_feed_forward_gradient(const FeedForward&, const TransposedFeedForward&, const float*, std::size_t,
                                const float*, bool, float*, const FeedForwardGradient&, PrefetchQueue&) {
  throw InternalError("tile_feed_forward_gradient: this CPU has no instructions for it");
}

void end_tile_feed_forward_gradient(const FeedForwardGradient&) {}

#endif

}  // namespace puretour::kernels
