// SPDX-License-Identifier: MIT
#include "puretour/nn/packed_weights.h"

#include <span>

namespace puretour::nn {
namespace {

using kernels::PackedMatrix;
using kernels::Precision;

std::span<const float> values_of(const Tensor& x) {
  return {x.data_ptr<float>(), static_cast<std::size_t>(x.numel())};
}

std::size_t extent(const Tensor& x, std::int64_t dimension) {
  return static_cast<std::size_t>(x.size(dimension));
}

kernels::Linear packed(const Tensor& weight, const Tensor& bias, Precision precision) {
  return kernels::make_linear(values_of(weight), values_of(bias), extent(weight, 0), extent(weight, 1), precision);
}

kernels::Linear packed_transposed(const Tensor& weight, Precision precision) {
  kernels::Linear linear;
  linear.matrix = PackedMatrix::from_rows(values_of(weight), extent(weight, 0), extent(weight, 1));
  linear.set_precision(precision);
  return linear;
}

}  // namespace

std::shared_ptr<const PackedLinear> packed_linear(const Tensor& weight, const Tensor& bias, const Packing& packing) {
  return packing.get<PackedLinear>([&] {
    return PackedLinear{packed(weight, bias, packing.precision), packed_transposed(weight, packing.precision)};
  });
}

std::shared_ptr<const PackedFeedForward> packed_feed_forward(const Tensor& first_weight, const Tensor& first_bias,
                                                             const Tensor& second_weight, const Tensor& second_bias,
                                                             kernels::Activation activation, const Packing& packing) {
  const Precision precision = packing.precision;
  return packing.get<PackedFeedForward>([&] {
    return PackedFeedForward{
        {packed(first_weight, first_bias, precision), packed(second_weight, second_bias, precision), activation},
        {packed_transposed(first_weight, precision), packed_transposed(second_weight, precision)}};
  });
}

std::shared_ptr<const PackedAttentionBlock> packed_attention_block(const Tensor& in_weight, const Tensor& out_weight,
                                                                   const Tensor& out_bias,
                                                                   const kernels::AttentionShape& shape,
                                                                   const Packing& packing) {
  const Precision precision = packing.precision;
  return packing.get<PackedAttentionBlock>([&] {
    return PackedAttentionBlock{
        {packed(in_weight, torch::empty({0}), precision), packed(out_weight, out_bias, precision), shape},
        {packed_transposed(in_weight, precision), packed_transposed(out_weight, precision)}};
  });
}

}  // namespace puretour::nn
