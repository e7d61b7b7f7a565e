// The kernels as LibTorch functions with gradients: for float tensors on the CPU, several times as fast as LibTorch's
// own operations. Everything else takes those; the two give the same results up to rounding.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "puretour/kernels/decode/pointer.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/nn/pack_cache.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

/// Whether the functions below can work on it, and are wanted.
bool kernels_support(const Tensor& x);

/// For comparisons: with false everything takes LibTorch's own operations. Not while a network is at work.
void want_kernels(bool wanted);

/// x W^T + b over the last dimension; the bias may be undefined.
Tensor kernel_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Packing& packing = {});

/// Two linear layers with biases and an activation between them; to the result is added `residual` (undefined:
/// nothing).
Tensor kernel_feed_forward(const Tensor& x, const Tensor& first_weight, const Tensor& first_bias,
                           const Tensor& second_weight, const Tensor& second_bias, kernels::Activation activation,
                           const Packing& packing = {}, const Tensor& residual = {});

/// Layer normalisation of a + b; b may be undefined.
Tensor kernel_add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& scale, const Tensor& shift,
                             double epsilon);

/// Rows of `x` (R, d) by number.
Tensor kernel_take_rows(const Tensor& x, const std::vector<std::int64_t>& numbers);

struct AttentionPlan : torch::CustomClassHolder {
  std::vector<kernels::Group> groups;
};
using AttentionPlanPtr = c10::intrusive_ptr<AttentionPlan>;

/// Every row of an instance attends to all rows of the instance.
AttentionPlanPtr plan_of_instances(std::int64_t num_instances, std::int64_t num_rows);

/// Attention within the groups with its projections: residual + W_out attention(W_in x). in_weight (3d, d), out_weight
/// (d, d); the bias of the output and the residual may be undefined.
Tensor kernel_attention_block(const Tensor& x, const Tensor& in_weight, const Tensor& out_weight,
                              const Tensor& out_bias, const Tensor& residual, const AttentionPlanPtr& plan,
                              const kernels::AttentionShape& shape, const Packing& packing = {});

/// Queries (Q, d) attend to keys and values, which may be columns of wider matrices (Tensor::split). Result: (Q, d).
Tensor kernel_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, const AttentionPlanPtr& plan,
                        const kernels::AttentionShape& shape,
                        kernels::Precision precision = kernels::Precision::kFloat);

struct PointerPlan : torch::CustomClassHolder {
  std::vector<kernels::PointerGroup> groups;
  std::vector<std::int32_t> chosen;   // that the groups refer to
  std::vector<std::uint8_t> is_best;  // that they write to
};
using PointerPlanPtr = c10::intrusive_ptr<PointerPlan>;

/// Log-probabilities (Q) of what every query chose; the keys may be columns of a wider matrix.
Tensor kernel_pointer(const Tensor& queries, const Tensor& keys, const PointerPlanPtr& plan,
                      const kernels::PointerShape& shape, kernels::Precision precision = kernels::Precision::kFloat);

}  // namespace puretour::nn
