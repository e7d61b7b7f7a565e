// SPDX-License-Identifier: MIT
#include "puretour/nn/group_batch_norm.h"

#include <vector>

namespace puretour::nn {
namespace {

// The column sums of two matrices over the whole group.
std::pair<Tensor, Tensor> column_sums(const Tensor& a, const Tensor& b, BatchGroup& group, std::size_t member) {
  const Tensor local = torch::stack({a.sum(0, false, torch::kFloat64), b.sum(0, false, torch::kFloat64)}).cpu();
  auto* values = local.data_ptr<double>();
  group.add_up(member, {values, static_cast<std::size_t>(local.numel())});
  const Tensor sums = local.to(a.device());
  return {sums[0], sums[1]};
}

class GroupBatchNorm : public torch::autograd::Function<GroupBatchNorm> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& rows, const Tensor& scale,
                        const Tensor& shift, const Tensor& mean, const Tensor& root, double num_rows,
                        std::int64_t group, std::int64_t member) {
    context->save_for_backward({rows, scale, mean, root});
    context->saved_data["num_rows"] = num_rows;
    context->saved_data["group"] = group;
    context->saved_data["member"] = member;
    return torch::addcmul(shift, (rows - mean) * root, scale);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor gradient = gradients[0].contiguous();
    auto& group = *reinterpret_cast<BatchGroup*>(context->saved_data["group"].toInt());  // NOLINT: outlives the graph
    const auto member = static_cast<std::size_t>(context->saved_data["member"].toInt());
    const double num_rows = context->saved_data["num_rows"].toDouble();
    // The gradients of the parameters are sums over this member's rows: the members' are added up later.
    const Tensor& scale = saved[1];
    const Tensor& root = saved[3];
    const Tensor normalised = (saved[0] - saved[2]) * root;
    const Tensor product = gradient * normalised;
    const auto [shift_sum, scale_sum] = column_sums(gradient, product, group, member);
    const Tensor shift_mean = (shift_sum / num_rows).to(gradient.dtype());
    const Tensor scale_mean = (scale_sum / num_rows).to(gradient.dtype());
    const Tensor of_rows = (gradient - shift_mean - normalised * scale_mean) * (scale * root);
    return {of_rows, product.sum(0), gradient.sum(0), Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

struct Moments {
  double num_rows = 0;  // of the whole group
  Tensor sums;          // of the rows
  Tensor squares;       // of their squares
};

Moments moments_of(const Tensor& rows, BatchGroup& group, std::size_t member) {
  const auto num_rows = static_cast<double>(rows.size(0));
  std::vector<double> count = {num_rows};
  group.add_up(member, count);
  const auto [sums, squares] = column_sums(rows, rows * rows, group, member);
  return {count[0], sums, squares};
}

}  // namespace

GroupNormalised group_batch_norm(const Tensor& given, const Tensor& scale, const Tensor& shift, double epsilon,
                                 BatchGroup& group, std::size_t member) {
  const Tensor rows = given.contiguous();
  GroupNormalised result;
  Tensor root;
  {
    const torch::NoGradGuard no_grad;
    const Moments moments = moments_of(rows, group, member);
    result.num_rows = moments.num_rows;
    const Tensor mean = moments.sums / result.num_rows;
    const Tensor variance = (moments.squares / result.num_rows - mean * mean).clamp_min(0);
    root = (variance + epsilon).rsqrt().to(rows.dtype());
    result.mean = mean.to(rows.dtype());
    result.variance = variance.to(rows.dtype());
  }
  result.values = GroupBatchNorm::apply(rows, scale, shift, result.mean, root, result.num_rows,
                                        static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&group)),  // NOLINT
                                        static_cast<std::int64_t>(member));
  return result;
}

}  // namespace puretour::nn
