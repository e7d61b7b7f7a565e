// SPDX-License-Identifier: MIT
#include "puretour/nn/encoder_function.h"

#include <memory>

#include "puretour/nn/packed_weights.h"

namespace puretour::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the way back needs besides tensors.
struct Call : torch::CustomClassHolder {
  kernels::Encoder encoder;
  std::vector<Tensor> norm_parameters;  // whose memory the encoder points to
  AttentionPlanPtr plan;
  kernels::AddUp add_up;
  std::vector<kernels::NormStatistics> statistics;
};

// Hands out zeros like the weights, in their order.
class Zeros {
 public:
  explicit Zeros(const variable_list& like, std::size_t first) : like_(like), next_(first) {}
  float* next() {
    made_.push_back(torch::zeros_like(like_[next_++]));
    return made_.back().data_ptr<float>();
  }
  [[nodiscard]] const std::vector<Tensor>& all() const { return made_; }

 private:
  const variable_list& like_;
  std::size_t next_;
  std::vector<Tensor> made_;
};

class EncoderFunction : public torch::autograd::Function<EncoderFunction> {
 public:
  // `weights` are those of all blocks, then of all normalisations.
  static Tensor forward(AutogradContext* context, const Tensor& rows, at::TensorList weights,
                        const c10::intrusive_ptr<Call>& call) {
    const kernels::Encoder& encoder = call->encoder;
    variable_list saved = {rows};
    std::vector<float*> t = {rows.data_ptr<float>()};
    for (std::size_t s = 0; s < encoder.blocks.size(); ++s) {
      saved.push_back(torch::empty_like(rows));
      t.push_back(saved.back().data_ptr<float>());
    }
    Tensor out = saved.back();
    float* normalised = nullptr;
    if (encoder.norms.back().scale != nullptr) {
      out = torch::empty_like(rows);
      normalised = out.data_ptr<float>();
    }
    call->statistics = kernels::encode(encoder, call->plan->groups, static_cast<std::size_t>(rows.size(0)), t,
                                       normalised, call->add_up);
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(saved);
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto& call = static_cast<const Call&>(*context->saved_data["call"].toCapsule());
    const kernels::Encoder& encoder = call.encoder;
    const variable_list saved = context->get_saved_variables();
    std::vector<const float*> t;
    for (std::size_t s = 0; s <= encoder.blocks.size(); ++s) t.push_back(saved[s].data_ptr<float>());
    Zeros zeros(saved, t.size());
    kernels::EncoderGradient sums;
    for (const kernels::EncoderBlock& block : encoder.blocks) {
      kernels::AttentionBlockGradient attention;
      kernels::FeedForwardGradient feed_forward;
      if (block.attention != nullptr) {
        attention.in_weight = zeros.next();
        attention.out_weight = zeros.next();
      } else {
        feed_forward.first_weight = zeros.next();
        feed_forward.first_bias = zeros.next();
        feed_forward.second_weight = zeros.next();
        feed_forward.second_bias = zeros.next();
      }
      sums.attention.push_back(attention);
      sums.feed_forward.push_back(feed_forward);
    }
    for (const kernels::NormParameters& norm : encoder.norms) {
      kernels::EncoderGradient::Norm of_norm;
      if (norm.scale != nullptr) {
        of_norm.scale = zeros.next();
        of_norm.shift = zeros.next();
      }
      sums.norms.push_back(of_norm);
    }
    const Tensor gradient = gradients[0].contiguous();
    Tensor of_rows = torch::empty_like(saved[0]);
    kernels::encode_gradient(encoder, call.plan->groups, static_cast<std::size_t>(of_rows.size(0)), t, call.statistics,
                             gradient.data_ptr<float>(), of_rows.data_ptr<float>(), sums, call.add_up);
    variable_list result = {of_rows};
    result.insert(result.end(), zeros.all().begin(), zeros.all().end());
    result.emplace_back();  // of the call
    return result;
  }
};

kernels::EncoderBlock packed_block(const EncoderBlockWeights& block, const EncoderWeights& weights) {
  kernels::EncoderBlock result;
  if (block.in_weight.defined()) {
    const auto packed =
        packed_attention_block(block.in_weight, block.out_weight, torch::empty({0}), weights.shape, block.packing);
    result.attention = {packed, &packed->forward};
    result.transposed_attention = {packed, &packed->backward};
  } else {
    const auto packed = packed_feed_forward(block.first_weight, block.first_bias, block.second_weight,
                                            block.second_bias, weights.activation, block.packing);
    result.feed_forward = {packed, &packed->forward};
    result.transposed_feed_forward = {packed, &packed->backward};
  }
  return result;
}

}  // namespace

EncoderResult kernel_encoder(const Tensor& rows, const EncoderWeights& weights, const AttentionPlanPtr& plan,
                             const kernels::AddUp& add_up) {
  auto call = c10::make_intrusive<Call>();
  call->plan = plan;
  call->add_up = add_up;
  kernels::Encoder& encoder = call->encoder;
  encoder.dim = static_cast<std::size_t>(rows.size(1));
  encoder.residual = weights.residual;
  encoder.epsilon = static_cast<float>(weights.epsilon);
  variable_list all;
  for (const EncoderBlockWeights& given : weights.blocks) {
    EncoderBlockWeights block = given;
    if (block.in_weight.defined()) {
      block.in_weight = block.in_weight.contiguous();
      block.out_weight = block.out_weight.contiguous();
      all.insert(all.end(), {block.in_weight, block.out_weight});
    } else {
      all.insert(all.end(), {block.first_weight, block.first_bias, block.second_weight, block.second_bias});
    }
    encoder.blocks.push_back(packed_block(block, weights));
  }
  for (const EncoderNormWeights& norm : weights.norms) {
    if (norm.scale.defined()) {
      encoder.norms.push_back({norm.scale.data_ptr<float>(), norm.shift.data_ptr<float>()});
      call->norm_parameters.insert(call->norm_parameters.end(), {norm.scale.detach(), norm.shift.detach()});
      all.insert(all.end(), {norm.scale, norm.shift});
    } else {
      encoder.norms.emplace_back();
    }
  }
  EncoderResult result;
  result.rows = EncoderFunction::apply(rows.contiguous(), at::TensorList(all), call);
  result.statistics = call->statistics;
  return result;
}

}  // namespace puretour::nn
