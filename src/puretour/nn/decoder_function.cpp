// SPDX-License-Identifier: MIT
#include "puretour/nn/decoder_function.h"

#include <algorithm>
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
  std::vector<kernels::StepRange> ranges;
  std::vector<std::uint8_t> is_best;
  double log_prob = 0;  // of all rows
  Tensor coordinates;
  std::vector<std::shared_ptr<const PackedLinear>> maps;

  kernels::LinearMap keep(const Tensor& weight, const Packing& packing) {
    maps.push_back(packed_linear(weight, torch::empty({0}), packing));
    return {&maps.back()->forward, &maps.back()->backward};
  }
};

// The tensors that have gradients, in the order of the arguments of the functions. An empty placeholder or weight of
// glimpses stands for none.
enum Input : std::size_t { kEmbeddings, kShares, kGraph, kFirst, kPlaceholder, kOut, kNumInputs };

float* data_or_null(const Tensor& x) {
  return x.numel() > 0 ? x.data_ptr<float>() : nullptr;
}

class DecoderFunction : public torch::autograd::Function<DecoderFunction> {
 public:
  static Tensor forward(AutogradContext* context, at::TensorList inputs, const c10::intrusive_ptr<Call>& call) {
    Tensor results = results_of(*call, inputs[kEmbeddings]);
    call->decoder.log_probs(inputs[kEmbeddings].data_ptr<float>(), data_or_null(inputs[kPlaceholder]),
                            results.data_ptr<float>());
    context->save_for_backward(inputs.vec());
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
  static variable_list gradients_of(const Call& call, at::TensorList inputs, const Tensor& incoming, float* results) {
    variable_list sums = {torch::empty_like(inputs[kEmbeddings])};
    for (std::size_t i = kEmbeddings + 1; i < kNumInputs; ++i) sums.push_back(torch::zeros_like(inputs[i]));
    call.decoder.gradient(
        inputs[kEmbeddings].data_ptr<float>(), data_or_null(inputs[kPlaceholder]), incoming.data_ptr<float>(),
        {sums[kEmbeddings].data_ptr<float>(), sums[kShares].data_ptr<float>(), sums[kGraph].data_ptr<float>(),
         sums[kFirst].data_ptr<float>(), data_or_null(sums[kPlaceholder]), data_or_null(sums[kOut])},
        results);
    return sums;
  }
};

// The sum of the same log-probabilities times coefficients. As these are their gradients, all is computed on the way
// there.
class WeightedDecoderFunction : public torch::autograd::Function<WeightedDecoderFunction> {
 public:
  static Tensor forward(AutogradContext* context, at::TensorList inputs, const Tensor& coefficients,
                        const c10::intrusive_ptr<Call>& call) {
    const Tensor log_probs = DecoderFunction::results_of(*call, inputs[kEmbeddings]);
    context->save_for_backward(DecoderFunction::gradients_of(*call, inputs, coefficients, log_probs.data_ptr<float>()));
    call->log_prob = log_probs.sum(torch::kFloat64).item<double>();
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
  variable_list inputs;

  Arguments(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours, const Tensor& coordinates,
            const DecoderForm& form) {
    const Tensor none = torch::empty({0}, embeddings.options().requires_grad(false));
    inputs = {embeddings.contiguous(),
              weights.shares.contiguous(),
              weights.graph.contiguous(),
              weights.first.contiguous(),
              none,
              none};
    if (weights.placeholder.defined()) inputs[kPlaceholder] = weights.placeholder.contiguous();
    kernels::TourDecoder& decoder = call->decoder;
    decoder.shares = form.shares;
    decoder.to_shares = call->keep(inputs[kShares], weights.shares_packing);
    decoder.to_graph = call->keep(inputs[kGraph], weights.graph_packing);
    decoder.to_first = call->keep(inputs[kFirst], weights.first_packing);
    decoder.pointer = form.pointer;
    decoder.precision = weights.shares_packing.precision;
    decoder.first_step = static_cast<std::size_t>(form.first_step);
    take_tours(tours, *call);
    if (coordinates.defined()) {
      call->coordinates = coordinates.detach().contiguous();
      decoder.coordinates = call->coordinates.data_ptr<float>();
    }
    if (form.glimpse) {
      inputs[kOut] = weights.out.contiguous();
      decoder.glimpse = kernels::Glimpse{*form.glimpse, call->keep(inputs[kOut], weights.out_packing)};
    }
  }
};

}  // namespace

Tensor kernel_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                             const Tensor& coordinates, const DecoderForm& form) {
  const Arguments a(embeddings, weights, tours, coordinates, form);
  return DecoderFunction::apply(at::TensorList(a.inputs), a.call)
      .view({tours.size(0), tours.size(1), tours.size(2) - form.first_step});
}

Tensor kernel_weighted_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                                      const Tensor& coordinates, const DecoderForm& form, const Tensor& coefficients) {
  const Arguments a(embeddings, weights, tours, coordinates, form);
  return WeightedDecoderFunction::apply(at::TensorList(a.inputs), coefficients.detach().contiguous().view({-1}),
                                        a.call);
}

TaughtScore kernel_taught_score(const Tensor& embeddings, const DecoderWeights& weights, const TaughtSteps& steps,
                                const Tensor& coordinates, const DecoderForm& form) {
  const Arguments a(embeddings, weights, steps.tours, coordinates, form);
  Call& call = *a.call;
  const Tensor ranges = steps.ranges.contiguous();
  const Tensor all_coefficients = steps.coefficients.detach().contiguous();
  const auto* bounds = ranges.data_ptr<std::int64_t>();
  const auto* of_tour = all_coefficients.data_ptr<float>();
  std::vector<float> coefficients;
  for (std::int64_t tour = 0; tour < steps.tours.size(0) * steps.tours.size(1); ++tour, bounds += 2) {
    call.ranges.push_back({static_cast<std::int32_t>(bounds[0]), static_cast<std::int32_t>(bounds[1])});
    coefficients.insert(coefficients.end(), of_tour + bounds[0], of_tour + bounds[1]);
    of_tour += steps.tours.size(2);
  }
  call.is_best.resize(coefficients.size());
  call.decoder.ranges = call.ranges;
  call.decoder.is_best = call.is_best.data();
  TaughtScore score;
  score.sum = WeightedDecoderFunction::apply(
      at::TensorList(a.inputs), torch::tensor(at::ArrayRef<float>(coefficients.data(), coefficients.size())), a.call);
  score.log_prob = call.log_prob;
  score.decisions = static_cast<std::int64_t>(coefficients.size());
  score.correct = std::count(call.is_best.begin(), call.is_best.end(), 1);
  return score;
}

}  // namespace puretour::nn
