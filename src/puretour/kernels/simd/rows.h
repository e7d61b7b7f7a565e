// Operations on vectors and on the rows of a matrix: softmax, normalisation, activation.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

/// Replaces values[0 .. count) by exp(value - largest); what lies behind, up to padded(count), becomes 0. *largest and
/// *sum receive the largest value and the sum of the results; the softmax is result / sum. count >= 1.
void exponentials(float* values, std::size_t count, float* largest, float* sum);
/// The same for rows of `count` values each, with sums[row]; faster than one by one.
void exponentials_of_rows(float* values, std::size_t num_rows, std::size_t stride, std::size_t count, float* sums);

/// Replaces values[0 .. count) by clip * tanh(value), and those behind up to padded(count) by whatever.
void clipped_tanh(float* values, std::size_t count, float clip);

/// out[0 .. 16) = sum over j < count of weights[j] * rows[j][0 .. 16), where rows follow each other every 16 floats.
void weighted_sum(const float* weights, const float* rows, std::size_t count, float* out);

inline constexpr std::size_t kDistanceDims = 6;

/// scores[j] -= Euclidean distance of the point (coordinates[k * stride + j] for k < 6) from `here`, for j < count.
void subtract_distances(float* scores, const float* coordinates, std::size_t stride, const float* here,
                        std::size_t count);

/// Minus infinity for the values whose rank is below `least`.
void mask_below(float* values, const std::int32_t* ranks, std::int32_t least, std::size_t count);

/// The softmax and its gradient: `weights` are what exponentials() leaves, and become the softmax (times 1 / sum =
/// factor); `gradients` of the softmax become those of the values before they were multiplied by `scale`. Behind
/// `count`, up to padded(count), weights must be 0 and gradients finite; they become 0.
void softmax_gradient(float* weights, float* gradients, std::size_t count, float factor, float scale);

/// Replaces scores = clip * tanh(x) by the gradients factor * weights * scale * (derivative of the score by x).
void clipped_score_gradient(float* scores, const float* weights, std::size_t count, float factor, float clip,
                            float scale);

/// max(x, 0).
void relu(float* values, std::size_t count);
/// Replaces the gradients by 0 where relu() gave 0.
void relu_gradient(const float* results, float* gradients, std::size_t count);

/// x Phi(x) with the normal distribution function Phi, not its approximation by tanh: absolute error below 5e-7 |x|.
void gelu(float* values, std::size_t count);
/// The same, and multiplies the gradients of the results so that they become those of the values.
void gelu_gradient(float* values, float* gradients, std::size_t count);

/// target += added.
void add(float* target, const float* added, std::size_t count);

/// Every row: out = (x - mean) * factor + shift, value by value. out may be x.
void scale_rows(const float* x, std::size_t num_rows, std::size_t dim, const float* mean, const float* factor,
                const float* shift, float* out);

/// Every row: layer normalisation with its mean and (biased) variance, then scale and shift.
void layer_norm(float* x, std::size_t num_rows, std::size_t dim, const float* scale, const float* shift, float epsilon);

}  // namespace puretour::kernels
