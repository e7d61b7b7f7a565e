// Normalisations of a sum of two matrices, forward and backward: the residual connections of the networks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace puretour::kernels {

/// sum = a + b, out = layer normalisation of every row of the sum, scaled and shifted. Without b (null) that of a, and
/// nothing is written to `sum`.
void add_layer_norm(const float* a, const float* b, std::size_t num_rows, std::size_t dim, const float* scale,
                    const float* shift, float epsilon, float* sum, float* out);

/// From the gradient of `out`: writes that of the sum, adds those of scale and shift.
void layer_norm_gradient(const float* sum, const float* out_gradient, std::size_t num_rows, std::size_t dim,
                         const float* scale, float epsilon, float* sum_gradient, float* scale_gradient,
                         float* shift_gradient);

/// sums[c] += x[r][c] and squares[c] += x[r][c]^2 over all rows, in double.
void add_column_moments(const float* x, std::size_t num_rows, std::size_t dim, double* sums, double* squares);

/// sums[c] += gradient and products[c] += gradient * (x - mean) * root over all rows: in float for 64 rows at a time,
/// whose sums are added up in double.
void add_gradient_moments(const float* x, const float* gradient, std::size_t num_rows, std::size_t dim,
                          const float* mean, const float* root, double* sums, double* products);

/// The gradient of batch normalisation, with the mean gradient and the mean product of the whole batch:
/// out = (gradient - gradient_mean - (x - mean) * root * product_mean) * factor.
void batch_norm_gradient(const float* x, const float* gradient, std::size_t num_rows, std::size_t dim,
                         const float* mean, const float* root, const float* gradient_mean, const float* product_mean,
                         const float* factor, float* out);

}  // namespace puretour::kernels
