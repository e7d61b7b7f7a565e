// SPDX-License-Identifier: MIT
#include "puretour/nn/decoder_function.h"

#include <memory>
#include <vector>

#include "puretour/nn/packed_weights.h"

namespace puretour::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The decoder with the memory that it refers to.
struct Call : torch::CustomClassHolder {
  kernels::TourDecoder decoder;
  std::vector<std::int32_t> tours;
  std::vector<std::int32_t> places;
  Tensor coordinates;
  std::shared_ptr<const PackedLinear> shares;
  std::shared_ptr<const PackedLinear> out;
};

float* data_or_null(const Tensor& x) {
  return x.numel() > 0 ? x.data_ptr<float>() : nullptr;
}

// An empty placeholder or weight of glimpses stands for none.
class DecoderFunction : public torch::autograd::Function<DecoderFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& embeddings, const Tensor& shares_weight,
                        const Tensor& placeholder, const Tensor& out_weight, const c10::intrusive_ptr<Call>& call) {
    Tensor results = results_of(*call, embeddings);
    call->decoder.log_probs(embeddings.data_ptr<float>(), data_or_null(placeholder), results.data_ptr<float>());
    context->save_for_backward({embeddings, shares_weight, placeholder, out_weight});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return results;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto& call = static_cast<const Call&>(*context->saved_data["call"].toCapsule());
    variable_list results = gradients_of(call, context->get_saved_variables(), gradients[0].contiguous(), nullptr);
    results.emplace_back();
    return results;
  }

  static Tensor results_of(const Call& call, const Tensor& embeddings) {
    return torch::empty({static_cast<std::int64_t>(call.decoder.num_rows())},
                        embeddings.options().requires_grad(false));
  }

  // Of the inputs, in their order.
  static variable_list gradients_of(const Call& call, const variable_list& inputs, const Tensor& incoming,
                                    float* results) {
    Tensor of_embeddings = torch::empty_like(inputs[0]);
    Tensor of_shares = torch::zeros_like(inputs[1]);
    Tensor of_placeholder = torch::zeros_like(inputs[2]);
    Tensor of_out = torch::zeros_like(inputs[3]);
    call.decoder.gradient(inputs[0].data_ptr<float>(), data_or_null(inputs[2]), incoming.data_ptr<float>(),
                          {of_embeddings.data_ptr<float>(), of_shares.data_ptr<float>(), data_or_null(of_placeholder),
                           data_or_null(of_out)},
                          results);
    return {of_embeddings, of_shares, of_placeholder, of_out};
  }
};

// The sum of the same log-probabilities times coefficients. As these are their gradients, all is computed on the way
// there.
class WeightedDecoderFunction : public torch::autograd::Function<WeightedDecoderFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& embeddings, const Tensor& shares_weight,
                        const Tensor& placeholder, const Tensor& out_weight, const Tensor& coefficients,
                        const c10::intrusive_ptr<Call>& call) {
    const Tensor log_probs = DecoderFunction::results_of(*call, embeddings);
    context->save_for_backward(DecoderFunction::gradients_of(
        *call, {embeddings, shares_weight, placeholder, out_weight}, coefficients, log_probs.data_ptr<float>()));
    return (log_probs * coefficients).sum();
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list results = context->get_saved_variables();
    const auto factor = gradients[0].item<double>();
    if (factor != 1) {
      for (Tensor& result : results) result = result * factor;
    }
    results.emplace_back();  // none of the coefficients
    results.emplace_back();
    return results;
  }
};

void take_tours(const Tensor& tours, Call& call) {
  const Tensor nodes = tours.to(torch::kInt32).contiguous();
  call.tours.assign(nodes.data_ptr<std::int32_t>(), nodes.data_ptr<std::int32_t>() + nodes.numel());
  call.places.resize(call.tours.size());
  const auto num_nodes = static_cast<std::size_t>(tours.size(2));
  for (std::size_t i = 0; i < call.tours.size(); ++i) {
    call.places[i / num_nodes * num_nodes + static_cast<std::size_t>(call.tours[i])] =
        static_cast<std::int32_t>(i % num_nodes);
  }
  kernels::TourDecoder& decoder = call.decoder;
  decoder.num_instances = static_cast<std::size_t>(tours.size(0));
  decoder.num_tours = static_cast<std::size_t>(tours.size(1));
  decoder.num_nodes = num_nodes;
  decoder.tours = call.tours;
  decoder.places = call.places;
}

// What a DecoderFunction takes.
struct Arguments {
  c10::intrusive_ptr<Call> call = c10::make_intrusive<Call>();
  Tensor embeddings;
  Tensor shares_weight;
  Tensor placeholder;
  Tensor out_weight;

  Arguments(const Tensor& all_embeddings, const DecoderWeights& weights, const Tensor& tours, const Tensor& coordinates,
            const DecoderForm& form)
      : embeddings(all_embeddings.contiguous()), shares_weight(weights.shares.contiguous()) {
    kernels::TourDecoder& decoder = call->decoder;
    call->shares = packed_linear(shares_weight, torch::empty({0}), weights.shares_packing);
    decoder.shares = form.shares;
    decoder.shares.map = &call->shares->forward;
    decoder.shares.transposed = &call->shares->backward;
    decoder.pointer = form.pointer;
    decoder.precision = weights.shares_packing.precision;
    decoder.first_step = static_cast<std::size_t>(form.first_step);
    take_tours(tours, *call);
    if (coordinates.defined()) {
      call->coordinates = coordinates.detach().contiguous();
      decoder.coordinates = call->coordinates.data_ptr<float>();
    }
    const Tensor none = torch::empty({0}, embeddings.options().requires_grad(false));
    out_weight = none;
    if (form.glimpse) {
      out_weight = weights.out.contiguous();
      call->out = packed_linear(out_weight, none, weights.out_packing);
      decoder.glimpse = kernels::GlimpseProjection{*form.glimpse, &call->out->forward, &call->out->backward};
    }
    placeholder = weights.placeholder.defined() ? weights.placeholder.contiguous() : none;
  }
};

}  // namespace

Tensor kernel_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                             const Tensor& coordinates, const DecoderForm& form) {
  const Arguments a(embeddings, weights, tours, coordinates, form);
  return DecoderFunction::apply(a.embeddings, a.shares_weight, a.placeholder, a.out_weight, a.call)
      .view({tours.size(0), tours.size(1), tours.size(2) - form.first_step});
}

Tensor kernel_weighted_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                                      const Tensor& coordinates, const DecoderForm& form, const Tensor& coefficients) {
  const Arguments a(embeddings, weights, tours, coordinates, form);
  return WeightedDecoderFunction::apply(a.embeddings, a.shares_weight, a.placeholder, a.out_weight,
                                        coefficients.detach().contiguous().view({-1}), a.call);
}

}  // namespace puretour::nn
