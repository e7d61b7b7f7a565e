// SPDX-License-Identifier: MIT
#include "puretour/kernels/simd/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "puretour/base/vectorize.h"
#include "puretour/kernels/simd/row_moments.h"

namespace puretour::kernels {
namespace {

// Several rows side by side: what one of them waits for is time for the others.
template <int kLanes, std::size_t kRows>
PURETOUR_INLINE void exponentials_of(float* values, std::size_t stride, std::size_t count, float* largest,
                                     float* sums) {
  using B = Block<kLanes>;
  const std::size_t end = padded(count);
  // The last block, without what lies behind the values: small stores into it would hold up the loads that follow.
  B last[kRows];
  B best[kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    B::load(last[row], values + row * stride + end - kBlock);
    B::keep_first(last[row], count + kBlock - end, -std::numeric_limits<float>::infinity());
    best[row] = last[row];
  }
  for (std::size_t i = 0; i + kBlock < end; i += kBlock) {
    for (std::size_t row = 0; row < kRows; ++row) {
      B block;
      B::load(block, values + row * stride + i);
      B::maximum(best[row], block);
    }
  }
  B total[kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    largest[row] = B::largest(best[row]);
    B::fill(total[row], 0);
  }
  for (std::size_t i = 0; i < end; i += kBlock) {
    for (std::size_t row = 0; row < kRows; ++row) {
      B block = last[row];
      if (i + kBlock < end) B::load(block, values + row * stride + i);
      for (std::size_t r = 0; r < B::kRegisters; ++r) block.part[r] -= largest[row];
      B::exponential(block);
      B::store(block, values + row * stride + i);
      B::add(total[row], block);
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) sums[row] = B::sum(total[row]);
}

template <int kLanes>
PURETOUR_INLINE void exponentials_impl(float* values, std::size_t count, float* largest, float* sum) {
  exponentials_of<kLanes, 1>(values, 0, count, largest, sum);
}

template <int kLanes>
PURETOUR_INLINE void exponentials_of_rows_impl(float* values, std::size_t num_rows, std::size_t stride,
                                               std::size_t count, float* sums) {
  constexpr std::size_t kTogether = 4;
  float largest[kTogether];
  std::size_t row = 0;
  for (; row + kTogether <= num_rows; row += kTogether) {
    exponentials_of<kLanes, kTogether>(values + row * stride, stride, count, largest, sums + row);
  }
  for (; row < num_rows; ++row) exponentials_of<kLanes, 1>(values + row * stride, stride, count, largest, sums + row);
}

template <int kLanes>
PURETOUR_INLINE void clipped_tanh_impl(float* values, std::size_t count, float clip) {
  using B = Block<kLanes>;
  for (std::size_t i = 0; i < padded(count); i += kBlock) {
    B block;
    B::load(block, values + i);
    B::hyperbolic_tangent(block);
    for (std::size_t r = 0; r < B::kRegisters; ++r) block.part[r] *= clip;
    B::store(block, values + i);
  }
}

template <int kLanes>
PURETOUR_INLINE void weighted_sum_impl(const float* weights, const float* rows, std::size_t count, float* out) {
  using B = Block<kLanes>;
  // Four sums in turn, or every addition would wait for the one before.
  constexpr std::size_t kChains = 4;
  B sums[kChains];
  for (std::size_t c = 0; c < kChains; ++c) B::fill(sums[c], 0);
  std::size_t j = 0;
  for (; j + kChains <= count; j += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) {
      B row;
      B::load(row, rows + (j + c) * kBlock);
      B::add_scaled(sums[c], weights[j + c], row);
    }
  }
  for (; j < count; ++j) {
    B row;
    B::load(row, rows + j * kBlock);
    B::add_scaled(sums[0], weights[j], row);
  }
  B::add(sums[0], sums[1]);
  B::add(sums[2], sums[3]);
  B::add(sums[0], sums[2]);
  B::store(sums[0], out);
}

template <int kLanes>
PURETOUR_INLINE void relu_impl(float* values, std::size_t count) {
  using B = Block<kLanes>;
  B zero;
  B::fill(zero, 0);
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    B block;
    B::load(block, values + i);
    B::maximum(block, zero);
    B::store(block, values + i);
  }
  for (; i < count; ++i) values[i] = values[i] > 0 ? values[i] : 0;
}

template <int kLanes>
PURETOUR_INLINE void softmax_gradient_impl(float* weights, float* gradients, std::size_t count, float factor,
                                           float scale) {
  using B = Block<kLanes>;
  B total;
  B::fill(total, 0);
  for (std::size_t i = 0; i < padded(count); i += kBlock) {
    B weight;
    B gradient;
    B::load(weight, weights + i);
    B::load(gradient, gradients + i);
    for (std::size_t r = 0; r < B::kRegisters; ++r) {
      weight.part[r] *= factor;
      total.part[r] += weight.part[r] * gradient.part[r];
    }
    B::store(weight, weights + i);
  }
  const float mean = B::sum(total);
  for (std::size_t i = 0; i < padded(count); i += kBlock) {
    B weight;
    B gradient;
    B::load(weight, weights + i);
    B::load(gradient, gradients + i);
    for (std::size_t r = 0; r < B::kRegisters; ++r) {
      gradient.part[r] = weight.part[r] * scale * (gradient.part[r] - mean);
    }
    B::store(gradient, gradients + i);
  }
}

// Leaves Phi(x) and the density phi(x). erf by formula 7.1.26 of Abramowitz and Stegun, whose exponential is that of
// the density.
template <int kLanes>
PURETOUR_INLINE void normal_distribution(const Block<kLanes>& x, Block<kLanes>& distribution, Block<kLanes>& density) {
  using B = Block<kLanes>;
  using Float = typename B::Float;
  constexpr float kSqrtHalf = 0.70710678F;
  constexpr float kDensity = 0.39894228F;  // 1 / sqrt(2 pi)
  for (std::size_t r = 0; r < B::kRegisters; ++r) density.part[r] = x.part[r] * x.part[r] * -0.5F;
  B::exponential(density);
  for (std::size_t r = 0; r < B::kRegisters; ++r) {
    const Float z = (x.part[r] < Float{} ? -x.part[r] : x.part[r]) * kSqrtHalf;
    const Float t = 1.0F / (1.0F + 0.3275911F * z);
    Float p = t * 1.061405429F - 1.453152027F;
    p = p * t + 1.421413741F;
    p = p * t - 0.284496736F;
    p = p * t + 0.254829592F;
    const Float tail = 0.5F * (p * t * density.part[r]);  // 1 - Phi(|x|)
    distribution.part[r] = x.part[r] < Float{} ? tail : 1.0F - tail;
    density.part[r] *= kDensity;
  }
}

template <int kLanes>
PURETOUR_INLINE void gelu_block(float* values, float* gradients) {
  using B = Block<kLanes>;
  B x;
  B distribution;
  B density;
  B::load(x, values);
  normal_distribution<kLanes>(x, distribution, density);
  B result;
  for (std::size_t r = 0; r < B::kRegisters; ++r) result.part[r] = x.part[r] * distribution.part[r];
  B::store(result, values);
  if (gradients == nullptr) return;
  B gradient;
  B::load(gradient, gradients);
  for (std::size_t r = 0; r < B::kRegisters; ++r) {
    gradient.part[r] *= distribution.part[r] + x.part[r] * density.part[r];
  }
  B::store(gradient, gradients);
}

// gradients may be null.
template <int kLanes>
PURETOUR_INLINE void gelu_with_gradient_impl(float* values, float* gradients, std::size_t count) {
  const std::size_t whole = count / kBlock * kBlock;
  for (std::size_t i = 0; i < whole; i += kBlock) {
    gelu_block<kLanes>(values + i, gradients == nullptr ? nullptr : gradients + i);
  }
  if (whole == count) return;
  float rest[kBlock] = {};
  float rest_gradients[kBlock] = {};
  const std::size_t bytes = (count - whole) * sizeof(float);
  std::memcpy(rest, values + whole, bytes);
  if (gradients != nullptr) std::memcpy(rest_gradients, gradients + whole, bytes);
  gelu_block<kLanes>(rest, rest_gradients);
  std::memcpy(values + whole, rest, bytes);
  if (gradients != nullptr) std::memcpy(gradients + whole, rest_gradients, bytes);
}

template <int kLanes>
PURETOUR_INLINE void layer_norm_impl(float* x, std::size_t num_rows, std::size_t dim, const float* scale,
                                     const float* shift, float epsilon) {
  using B = Block<kLanes>;
  const std::size_t whole = dim / kBlock * kBlock;
  for (std::size_t r = 0; r < num_rows; ++r) {
    float* row = x + r * dim;
    B block;
    const auto [mean, factor] = row_moments<kLanes>(row, dim, epsilon);
    for (std::size_t i = 0; i < whole; i += kBlock) {
      B scales;
      B shifts;
      B::load(block, row + i);
      B::load(scales, scale + i);
      B::load(shifts, shift + i);
      for (std::size_t p = 0; p < B::kRegisters; ++p) {
        block.part[p] = (block.part[p] - mean) * factor * scales.part[p] + shifts.part[p];
      }
      B::store(block, row + i);
    }
    for (std::size_t i = whole; i < dim; ++i) row[i] = (row[i] - mean) * factor * scale[i] + shift[i];
  }
}

}  // namespace

PURETOUR_KERNEL(exponentials, (float* values, std::size_t count, float* largest, float* sum),
                (values, count, largest, sum))
PURETOUR_KERNEL(exponentials_of_rows,
                (float* values, std::size_t num_rows, std::size_t stride, std::size_t count, float* sums),
                (values, num_rows, stride, count, sums))
PURETOUR_KERNEL(clipped_tanh, (float* values, std::size_t count, float clip), (values, count, clip))
PURETOUR_KERNEL(weighted_sum, (const float* weights, const float* rows, std::size_t count, float* out),
                (weights, rows, count, out))
PURETOUR_KERNEL(relu, (float* values, std::size_t count), (values, count))
PURETOUR_KERNEL(layer_norm,
                (float* x, std::size_t num_rows, std::size_t dim, const float* scale, const float* shift,
                 float epsilon),
                (x, num_rows, dim, scale, shift, epsilon))

PURETOUR_KERNEL(softmax_gradient, (float* weights, float* gradients, std::size_t count, float factor, float scale),
                (weights, gradients, count, factor, scale))

namespace {
PURETOUR_KERNEL(gelu_with_gradient, (float* values, float* gradients, std::size_t count), (values, gradients, count))
}  // namespace

void gelu(float* values, std::size_t count) {
  gelu_with_gradient(values, nullptr, count);
}

void gelu_gradient(float* values, float* gradients, std::size_t count) {
  gelu_with_gradient(values, gradients, count);
}

PURETOUR_VECTORISED void relu_gradient(const float* results, float* gradients, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) gradients[i] = results[i] > 0 ? gradients[i] : 0;
}

PURETOUR_VECTORISED void mask_below(float* values, const std::int32_t* ranks, std::int32_t least, std::size_t count) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < count; ++i) values[i] = ranks[i] < least ? kNever : values[i];
}

PURETOUR_VECTORISED void clipped_score_gradient(float* scores, const float* weights, std::size_t count, float factor,
                                                float clip, float scale) {
  const float inverse_clip = 1 / clip;
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] = factor * weights[i] * ((clip - scores[i] * scores[i] * inverse_clip) * scale);
  }
}

PURETOUR_VECTORISED void subtract_distances(float* scores, const float* coordinates, std::size_t stride,
                                            const float* here, std::size_t count) {
  const float h0 = here[0];
  const float h1 = here[1];
  const float h2 = here[2];
  const float h3 = here[3];
  const float h4 = here[4];
  const float h5 = here[5];
  for (std::size_t j = 0; j < count; ++j) {
    const float d0 = coordinates[j] - h0;
    const float d1 = coordinates[stride + j] - h1;
    const float d2 = coordinates[2 * stride + j] - h2;
    const float d3 = coordinates[3 * stride + j] - h3;
    const float d4 = coordinates[4 * stride + j] - h4;
    const float d5 = coordinates[5 * stride + j] - h5;
    scores[j] -= std::sqrt(d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5);
  }
}

PURETOUR_VECTORISED void add(float* target, const float* added, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) target[i] += added[i];
}

PURETOUR_VECTORISED void scale_rows(const float* x, std::size_t num_rows, std::size_t dim, const float* mean,
                                    const float* factor, const float* shift, float* out) {
  for (std::size_t r = 0; r < num_rows; ++r) {
    const float* row = x + r * dim;
    for (std::size_t i = 0; i < dim; ++i) out[r * dim + i] = (row[i] - mean[i]) * factor[i] + shift[i];
  }
}

}  // namespace puretour::kernels
