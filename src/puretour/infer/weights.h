// Weights of a checkpoint in the form that the kernels want.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/models/tensor.h"

namespace puretour {

/// Batch normalisation with its running statistics: (x - mean) / sqrt(var + 1e-5) * weight + bias.
struct BatchNorm {
  std::vector<float> mean;
  std::vector<float> factor;
  std::vector<float> shift;
  void apply(float* x, std::size_t num_rows) const;
};

/// Layer normalisation over each row.
struct LayerNorm {
  std::vector<float> scale;
  std::vector<float> shift;
  float epsilon = 1e-5F;
  void apply(float* x, std::size_t num_rows) const;
};

/// Looks up weights by name; the checkpoint has been checked, so that a missing name is our own mistake.
class WeightReader {
 public:
  /// Layers get this precision.
  WeightReader(const TensorMap& weights, kernels::Precision precision) : weights_(weights), precision_(precision) {}

  [[nodiscard]] kernels::Precision precision() const { return precision_; }

  [[nodiscard]] std::span<const float> values(const std::string& name) const;
  /// NAME.weight, and NAME.bias where it exists.
  [[nodiscard]] kernels::Linear linear(const std::string& name) const;
  [[nodiscard]] BatchNorm batch_norm(const std::string& name) const;
  [[nodiscard]] LayerNorm layer_norm(const std::string& name, float epsilon) const;

 private:
  [[nodiscard]] const Tensor& tensor(const std::string& name) const;
  const TensorMap& weights_;
  kernels::Precision precision_;
};

/// For two layers of dim x dim that are folded into one: result[k * dim + c] = sum over i of a[i][c] b[i][k].
std::vector<double> folded_product(std::span<const float> a, std::span<const float> b, std::size_t dim);

/// The mean of all rows of `dim` values, summed in double.
std::vector<float> mean_of_rows(std::span<const float> rows, std::size_t dim);

}  // namespace puretour
