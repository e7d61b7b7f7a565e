// SPDX-License-Identifier: MIT
#include "puretour/infer/weights.h"

#include <fmt/format.h>

#include <cmath>

#include "puretour/base/error.h"
#include "puretour/base/vectorize.h"
#include "puretour/kernels/simd/rows.h"

namespace puretour {

void BatchNorm::apply(float* x, std::size_t num_rows) const {
  kernels::scale_rows(x, num_rows, mean.size(), mean.data(), factor.data(), shift.data(), x);
}

void LayerNorm::apply(float* x, std::size_t num_rows) const {
  kernels::layer_norm(x, num_rows, scale.size(), scale.data(), shift.data(), epsilon);
}

const Tensor& WeightReader::tensor(const std::string& name) const {
  const auto found = weights_.find(name);
  if (found == weights_.end()) throw InternalError(fmt::format("there is no weight {}", name));
  return found->second;
}

std::span<const float> WeightReader::values(const std::string& name) const {
  return tensor(name).values;
}

kernels::Linear WeightReader::linear(const std::string& name) const {
  const Tensor& weight = tensor(name + ".weight");
  const auto bias = weights_.find(name + ".bias");
  return kernels::make_linear(weight.values, bias == weights_.end() ? std::span<const float>() : bias->second.values,
                              weight.shape[0], weight.shape[1], precision_);
}

BatchNorm WeightReader::batch_norm(const std::string& name) const {
  constexpr double kEpsilon = 1e-5;  // that of PyTorch's BatchNorm1d, which all models use
  BatchNorm norm;
  norm.mean = tensor(name + ".running_mean").values;
  norm.shift = tensor(name + ".bias").values;
  const auto scale = values(name + ".weight");
  const auto variance = values(name + ".running_var");
  for (std::size_t i = 0; i < scale.size(); ++i) {
    norm.factor.push_back(static_cast<float>(scale[i] / std::sqrt(variance[i] + kEpsilon)));
  }
  return norm;
}

LayerNorm WeightReader::layer_norm(const std::string& name, float epsilon) const {
  return {tensor(name + ".weight").values, tensor(name + ".bias").values, epsilon};
}

PURETOUR_VECTORISED std::vector<double> folded_product(std::span<const float> a, std::span<const float> b,
                                                       std::size_t dim) {
  std::vector<double> result(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t k = 0; k < dim; ++k) {
      const auto factor = static_cast<double>(b[i * dim + k]);
      double* row = result.data() + k * dim;
      for (std::size_t c = 0; c < dim; ++c) row[c] += static_cast<double>(a[i * dim + c]) * factor;
    }
  }
  return result;
}

PURETOUR_VECTORISED std::vector<float> mean_of_rows(std::span<const float> rows, std::size_t dim) {
  std::vector<double> sums(dim);
  for (std::size_t i = 0; i < rows.size(); i += dim) {
    for (std::size_t c = 0; c < dim; ++c) sums[c] += static_cast<double>(rows[i + c]);
  }
  std::vector<float> means(dim);
  const std::size_t num_rows = rows.size() / dim;
  for (std::size_t c = 0; c < dim; ++c) means[c] = static_cast<float>(sums[c] / static_cast<double>(num_rows));
  return means;
}

}  // namespace puretour
