// SPDX-License-Identifier: MIT
#include "puretour/nn/kernel_functions.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/layers/attention_block.h"
#include "puretour/kernels/layers/group_attention.h"
#include "puretour/kernels/layers/normalise.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/nn/packed_weights.h"

namespace puretour::nn {
namespace {

using kernels::MutableRows;
using kernels::Precision;
using kernels::Rows;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

float* data(const Tensor& x) {
  return x.data_ptr<float>();
}

std::size_t extent(const Tensor& x, std::int64_t dimension) {
  return static_cast<std::size_t>(x.size(dimension));
}

// Of a matrix that may be columns of a wider one.
Rows rows_of(const Tensor& x) {
  return {x.data_ptr<float>(), static_cast<std::size_t>(x.stride(0))};
}

MutableRows mutable_rows_of(const Tensor& x) {
  return {x.data_ptr<float>(), static_cast<std::size_t>(x.stride(0))};
}

Tensor with_whole_rows(const Tensor& x) {
  return x.stride(1) == 1 ? x : x.contiguous();
}

Precision precision_of(AutogradContext* context) {
  return static_cast<Precision>(context->saved_data["precision"].toInt());
}

// LibTorch's functions want defined tensors: an empty one stands for none.
Tensor or_empty(const Tensor& x, const Tensor& like) {
  return x.defined() ? x : torch::empty({0}, like.options().requires_grad(false));
}
float* data_or_null(const Tensor& x) {
  return x.defined() && x.numel() > 0 ? x.data_ptr<float>() : nullptr;
}

// Plans go through the graph as opaque objects.
template <class Plan>
c10::IValue capsule(const c10::intrusive_ptr<Plan>& plan) {
  return c10::IValue::make_capsule(plan);
}
template <class Plan>
const Plan& from_capsule(const c10::IValue& value) {
  return static_cast<const Plan&>(*value.toCapsule());
}

c10::IValue numbers(const kernels::AttentionShape& shape) {
  return std::vector<double>{static_cast<double>(shape.num_heads), static_cast<double>(shape.head_dim),
                             static_cast<double>(shape.scale)};
}
kernels::AttentionShape attention_shape(const c10::IValue& value) {
  const std::vector<double> v = value.toDoubleVector();
  return {static_cast<std::size_t>(v[0]), static_cast<std::size_t>(v[1]), static_cast<float>(v[2])};
}

// What a block adds to its result. The gradient of the input is written in one go with that of a residual which is the
// same rows.
enum class Residual : std::int64_t { kNone, kInput, kOther };
Residual kind_of_residual(const Tensor& residual, const Tensor& x) {
  if (residual.numel() == 0) return Residual::kNone;
  return residual.data_ptr<float>() == x.data_ptr<float>() ? Residual::kInput : Residual::kOther;
}
Residual residual_of(AutogradContext* context) {
  return static_cast<Residual>(context->saved_data["residual"].toInt());
}

// What is made of weights goes through the graph too, for the way back.
template <class T>
struct Packed : torch::CustomClassHolder {
  std::shared_ptr<const T> value;
};
template <class T>
c10::IValue packed_capsule(const std::shared_ptr<const T>& value) {
  auto holder = c10::make_intrusive<Packed<T>>();
  holder->value = value;
  return c10::IValue::make_capsule(holder);
}
template <class T>
const T& packed_from(const c10::IValue& value) {
  return *static_cast<const Packed<T>&>(*value.toCapsule()).value;
}

class Linear : public torch::autograd::Function<Linear> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Packing& packing) {
    const auto weights = packed_linear(weight, bias, packing);
    context->save_for_backward({x, weight});
    context->saved_data["packed"] = packed_capsule(weights);
    context->saved_data["precision"] = static_cast<std::int64_t>(packing.precision);
    context->saved_data["x"] = x.requires_grad();
    context->saved_data["bias"] = bias.numel() > 0;
    Tensor out = torch::empty({x.size(0), weight.size(0)}, x.options());
    weights->forward.apply(data(x), extent(x, 0), data(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Tensor gradient = gradients[0].contiguous();
    const std::size_t num_rows = extent(x, 0);
    Tensor of_x;
    if (context->saved_data["x"].toBool()) {
      of_x = torch::empty_like(x);
      packed_from<PackedLinear>(context->saved_data["packed"]).backward.apply(data(gradient), num_rows, data(of_x));
    }
    Tensor of_weight = torch::zeros_like(weight);
    const auto add_product = precision_of(context) == Precision::kFloat ? kernels::add_transposed_product
                                                                        : kernels::add_transposed_product_bfloat16;
    add_product(data(gradient), extent(gradient, 1), extent(gradient, 1), data(x), extent(x, 1), extent(x, 1), num_rows,
                data(of_weight), extent(weight, 1));
    Tensor of_bias;
    if (context->saved_data["bias"].toBool()) {
      of_bias = torch::zeros({weight.size(0)}, weight.options());
      kernels::add_column_sums(data(gradient), num_rows, extent(gradient, 1), extent(gradient, 1), data(of_bias));
    }
    return {of_x, of_weight, of_bias, Tensor()};
  }
};

// Zeros like the weights, for the sums of their gradients.
std::vector<Tensor> zeros_like_all(const variable_list& saved) {
  std::vector<Tensor> sums;
  for (std::size_t i = 1; i < saved.size(); ++i) sums.push_back(torch::zeros_like(saved[i]));
  return sums;
}

class FeedForward : public torch::autograd::Function<FeedForward> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& first_weight, const Tensor& first_bias,
                        const Tensor& second_weight, const Tensor& second_bias, const Tensor& residual,
                        std::int64_t activation, const Packing& packing) {
    const auto weights = packed_feed_forward(first_weight, first_bias, second_weight, second_bias,
                                             static_cast<kernels::Activation>(activation), packing);
    context->save_for_backward({x, first_weight, first_bias, second_weight, second_bias});
    context->saved_data["packed"] = packed_capsule(weights);
    context->saved_data["residual"] = static_cast<std::int64_t>(kind_of_residual(residual, x));
    Tensor out = torch::empty({x.size(0), second_weight.size(0)}, x.options());
    weights->forward.apply(data(x), extent(x, 0), data(out), 1, data_or_null(residual));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor gradient = gradients[0].contiguous();
    const Residual residual = residual_of(context);
    const auto& weights = packed_from<PackedFeedForward>(context->saved_data["packed"]);
    Tensor of_x = torch::empty_like(x);
    const std::vector<Tensor> sums = zeros_like_all(saved);
    kernels::feed_forward_gradient(weights.forward, weights.backward, data(x), extent(x, 0), data(gradient),
                                   residual == Residual::kInput, data(of_x),
                                   {data(sums[0]), data(sums[1]), data(sums[2]), data(sums[3])});
    const Tensor of_residual = residual == Residual::kOther ? gradient : Tensor();
    return {of_x, sums[0], sums[1], sums[2], sums[3], of_residual, Tensor(), Tensor()};
  }
};

class AttentionBlock : public torch::autograd::Function<AttentionBlock> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& in_weight, const Tensor& out_weight,
                        const Tensor& out_bias, const Tensor& residual, const AttentionPlanPtr& plan,
                        const kernels::AttentionShape& shape, const Packing& packing) {
    const auto weights = packed_attention_block(in_weight, out_weight, out_bias, shape, packing);
    context->save_for_backward({x, in_weight, out_weight, out_bias});
    context->saved_data["plan"] = capsule(plan);
    context->saved_data["packed"] = packed_capsule(weights);
    context->saved_data["residual"] = static_cast<std::int64_t>(kind_of_residual(residual, x));
    Tensor out = torch::empty_like(x);
    kernels::attention_block(weights->forward, plan->groups, data(x), data_or_null(residual), data(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor gradient = gradients[0].contiguous();
    const Residual residual = residual_of(context);
    const auto& weights = packed_from<PackedAttentionBlock>(context->saved_data["packed"]);
    Tensor of_x = torch::empty_like(x);
    const std::vector<Tensor> sums = zeros_like_all(saved);
    kernels::attention_block_gradient(weights.forward, weights.backward,
                                      from_capsule<AttentionPlan>(context->saved_data["plan"]).groups, data(x),
                                      data(gradient), residual == Residual::kInput, data(of_x),
                                      {data(sums[0]), nullptr, data(sums[1]), data_or_null(sums[2])});
    const Tensor of_residual = residual == Residual::kOther ? gradient : Tensor();
    return {of_x, sums[0], sums[1], sums[2], of_residual, Tensor(), Tensor(), Tensor()};
  }
};

class AddLayerNorm : public torch::autograd::Function<AddLayerNorm> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b, const Tensor& scale,
                        const Tensor& shift, double epsilon) {
    const bool one = b.numel() == 0;
    Tensor sum = one ? a : torch::empty_like(a);
    Tensor out = torch::empty_like(a);
    kernels::add_layer_norm(data(a), data_or_null(b), extent(a, 0), extent(a, 1), data(scale), data(shift),
                            static_cast<float>(epsilon), one ? nullptr : data(sum), data(out));
    context->save_for_backward({sum, scale});
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["one"] = one;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor& sum = saved[0];
    const Tensor& scale = saved[1];
    const Tensor gradient = gradients[0].contiguous();
    Tensor of_sum = torch::empty_like(sum);
    Tensor of_scale = torch::zeros_like(scale);
    Tensor of_shift = torch::zeros_like(scale);
    kernels::layer_norm_gradient(data(sum), data(gradient), extent(sum, 0), extent(sum, 1), data(scale),
                                 static_cast<float>(context->saved_data["epsilon"].toDouble()), data(of_sum),
                                 data(of_scale), data(of_shift));
    return {of_sum, context->saved_data["one"].toBool() ? Tensor() : of_sum, of_scale, of_shift, Tensor()};
  }
};

class TakeRows : public torch::autograd::Function<TakeRows> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const std::vector<std::int64_t>& row_numbers) {
    context->saved_data["numbers"] = row_numbers;
    context->saved_data["rows"] = x.size(0);
    const std::size_t dim = extent(x, 1);
    Tensor out = torch::empty({static_cast<std::int64_t>(row_numbers.size()), x.size(1)}, x.options());
    for (std::size_t i = 0; i < row_numbers.size(); ++i) {
      std::copy_n(data(x) + static_cast<std::size_t>(row_numbers[i]) * dim, dim, data(out) + i * dim);
    }
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const std::vector<std::int64_t> row_numbers = context->saved_data["numbers"].toIntVector();
    const Tensor gradient = gradients[0].contiguous();
    const std::size_t dim = extent(gradient, 1);
    Tensor of_x = torch::zeros({context->saved_data["rows"].toInt(), gradient.size(1)}, gradient.options());
    for (std::size_t i = 0; i < row_numbers.size(); ++i) {
      kernels::add(data(of_x) + static_cast<std::size_t>(row_numbers[i]) * dim, data(gradient) + i * dim, dim);
    }
    return {of_x, Tensor()};
  }
};

class Attention : public torch::autograd::Function<Attention> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& queries, const Tensor& keys, const Tensor& values,
                        const AttentionPlanPtr& plan, const kernels::AttentionShape& shape, Precision precision) {
    context->save_for_backward({queries, keys, values});
    context->saved_data["precision"] = static_cast<std::int64_t>(precision);
    context->saved_data["plan"] = capsule(plan);
    context->saved_data["shape"] = numbers(shape);
    Tensor out = torch::empty_like(queries);
    kernels::group_attention(plan->groups, shape, rows_of(queries), rows_of(keys), rows_of(values),
                             mutable_rows_of(out), precision);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor gradient = gradients[0].contiguous();
    Tensor of_queries = torch::empty_like(saved[0]);
    Tensor of_keys = torch::zeros_like(saved[1]);
    Tensor of_values = torch::zeros_like(saved[2]);
    kernels::group_attention_gradient(
        from_capsule<AttentionPlan>(context->saved_data["plan"]).groups, attention_shape(context->saved_data["shape"]),
        rows_of(saved[0]), rows_of(saved[1]), rows_of(saved[2]), rows_of(gradient), mutable_rows_of(of_queries),
        mutable_rows_of(of_keys), mutable_rows_of(of_values), precision_of(context));
    return {of_queries, of_keys, of_values, Tensor(), Tensor(), Tensor()};
  }
};

class Pointer : public torch::autograd::Function<Pointer> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& queries, const Tensor& keys, const PointerPlanPtr& plan,
                        const kernels::PointerShape& shape, Precision precision) {
    context->save_for_backward({queries, keys});
    context->saved_data["precision"] = static_cast<std::int64_t>(precision);
    context->saved_data["plan"] = capsule(plan);
    context->saved_data["shape"] =
        std::vector<double>{static_cast<double>(shape.dim), static_cast<double>(shape.scale),
                            static_cast<double>(shape.clip), static_cast<double>(shape.floor)};
    Tensor out = torch::empty({queries.size(0)}, queries.options());
    kernels::pointer_log_probs(plan->groups, shape, rows_of(queries), rows_of(keys), data(out), precision);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const std::vector<double> v = context->saved_data["shape"].toDoubleVector();
    const kernels::PointerShape shape{static_cast<std::size_t>(v[0]), static_cast<float>(v[1]),
                                      static_cast<float>(v[2]), static_cast<float>(v[3])};
    const Tensor gradient = gradients[0].contiguous();
    Tensor of_queries = torch::empty_like(saved[0]);
    Tensor of_keys = torch::zeros_like(saved[1]);
    kernels::pointer_gradient(from_capsule<PointerPlan>(context->saved_data["plan"]).groups, shape, rows_of(saved[0]),
                              rows_of(saved[1]), data(gradient), mutable_rows_of(of_queries), mutable_rows_of(of_keys),
                              precision_of(context));
    return {of_queries, of_keys, Tensor(), Tensor(), Tensor()};
  }
};

Tensor as_rows(const Tensor& x) {
  return x.reshape({-1, x.size(-1)}).contiguous();
}

// The residual as rows. Where it is the input itself, it takes part without a gradient of its own: that of the input
// has it all.
Tensor residual_rows(const Tensor& residual, const Tensor& x, const Tensor& rows) {
  if (!residual.defined()) return or_empty(residual, x);
  return residual.is_same(x) ? rows.detach() : as_rows(residual);
}

Tensor like_input(const Tensor& rows, const Tensor& x) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = rows.size(1);
  return rows.view(sizes);
}

std::atomic<bool> kernels_wanted = true;

}  // namespace

bool kernels_support(const Tensor& x) {
  return kernels_wanted && x.device().is_cpu() && x.scalar_type() == torch::kFloat32;
}

void want_kernels(bool wanted) {
  kernels_wanted = wanted;
}

Tensor kernel_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Packing& packing) {
  return like_input(Linear::apply(as_rows(x), weight.contiguous(), or_empty(bias, weight), packing), x);
}

Tensor kernel_feed_forward(const Tensor& x, const Tensor& first_weight, const Tensor& first_bias,
                           const Tensor& second_weight, const Tensor& second_bias, kernels::Activation activation,
                           const Packing& packing, const Tensor& residual) {
  const Tensor rows = as_rows(x);
  return like_input(
      FeedForward::apply(rows, first_weight, first_bias, second_weight, second_bias, residual_rows(residual, x, rows),
                         static_cast<std::int64_t>(activation), packing),
      x);
}

Tensor kernel_attention_block(const Tensor& x, const Tensor& in_weight, const Tensor& out_weight,
                              const Tensor& out_bias, const Tensor& residual, const AttentionPlanPtr& plan,
                              const kernels::AttentionShape& shape, const Packing& packing) {
  const Tensor rows = as_rows(x);
  return like_input(
      AttentionBlock::apply(rows, in_weight.contiguous(), out_weight.contiguous(), or_empty(out_bias, out_weight),
                            residual_rows(residual, x, rows), plan, shape, packing),
      x);
}

Tensor kernel_add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& scale, const Tensor& shift,
                             double epsilon) {
  return AddLayerNorm::apply(as_rows(a), b.defined() ? as_rows(b) : or_empty(b, a), scale, shift, epsilon).view_as(a);
}

Tensor kernel_take_rows(const Tensor& x, const std::vector<std::int64_t>& row_numbers) {
  return TakeRows::apply(x.contiguous(), row_numbers);
}

AttentionPlanPtr plan_of_instances(std::int64_t num_instances, std::int64_t num_rows) {
  auto plan = c10::make_intrusive<AttentionPlan>();
  const auto count = static_cast<std::size_t>(num_rows);
  for (std::size_t b = 0; b < static_cast<std::size_t>(num_instances); ++b) {
    plan->groups.push_back({b * count, count, b * count, count});
  }
  return plan;
}

Tensor kernel_attention(const Tensor& queries, const Tensor& keys, const Tensor& values, const AttentionPlanPtr& plan,
                        const kernels::AttentionShape& shape, Precision precision) {
  return Attention::apply(queries.contiguous(), with_whole_rows(keys), with_whole_rows(values), plan, shape, precision);
}

Tensor kernel_pointer(const Tensor& queries, const Tensor& keys, const PointerPlanPtr& plan,
                      const kernels::PointerShape& shape, Precision precision) {
  return Pointer::apply(queries.contiguous(), with_whole_rows(keys), plan, shape, precision);
}

}  // namespace puretour::nn
