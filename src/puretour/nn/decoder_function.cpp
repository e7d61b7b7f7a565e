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

class DecoderFunction : public torch::autograd::Function<DecoderFunction> {
 public:
  // An empty placeholder or weight of glimpses stands for none.
  static Tensor forward(AutogradContext* context, const Tensor& embeddings, const Tensor& shares_weight,
                        const Tensor& placeholder, const Tensor& out_weight, const c10::intrusive_ptr<Call>& call) {
    const kernels::TourDecoder& decoder = call->decoder;
    const auto num_rows = static_cast<std::int64_t>(decoder.num_rows());
    const auto dim = static_cast<std::int64_t>(decoder.pointer.dim);
    const auto options = embeddings.options().requires_grad(false);
    Tensor results = torch::empty({num_rows}, options);
    const Tensor glimpses = torch::empty({decoder.glimpse ? num_rows : 0, dim}, options);
    decoder.log_probs(embeddings.data_ptr<float>(), data_or_null(placeholder), results.data_ptr<float>(),
                      data_or_null(glimpses));
    context->save_for_backward({embeddings, shares_weight, placeholder, out_weight, glimpses});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return results;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto& call = static_cast<const Call&>(*context->saved_data["call"].toCapsule());
    const variable_list saved = context->get_saved_variables();
    const Tensor incoming = gradients[0].contiguous();
    Tensor of_embeddings = torch::empty_like(saved[0]);
    Tensor of_shares = torch::zeros_like(saved[1]);
    Tensor of_placeholder = torch::zeros_like(saved[2]);
    Tensor of_out = torch::zeros_like(saved[3]);
    call.decoder.gradient(saved[0].data_ptr<float>(), data_or_null(saved[2]), data_or_null(saved[4]),
                          incoming.data_ptr<float>(),
                          {of_embeddings.data_ptr<float>(), of_shares.data_ptr<float>(), data_or_null(of_placeholder),
                           data_or_null(of_out)});
    return {of_embeddings, of_shares, of_placeholder, of_out, Tensor()};
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

}  // namespace

Tensor kernel_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                             const Tensor& coordinates, const DecoderForm& form) {
  auto call = c10::make_intrusive<Call>();
  kernels::TourDecoder& decoder = call->decoder;
  const Tensor shares_weight = weights.shares.contiguous();
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
  Tensor out_weight = none;
  if (form.glimpse) {
    out_weight = weights.out.contiguous();
    call->out = packed_linear(out_weight, none, weights.out_packing);
    decoder.glimpse = kernels::GlimpseProjection{*form.glimpse, &call->out->forward, &call->out->backward};
  }
  const Tensor placeholder = weights.placeholder.defined() ? weights.placeholder.contiguous() : none;
  return DecoderFunction::apply(embeddings.contiguous(), shares_weight, placeholder, out_weight, call)
      .view({tours.size(0), tours.size(1), tours.size(2) - form.first_step});
}

}  // namespace puretour::nn
