// SPDX-License-Identifier: MIT
#include "puretour/train/policy_gradient.h"

#include <algorithm>
#include <cmath>

namespace puretour::train {
namespace {

using nn::Tensor;

// Instances that the decoder works on at a time: as many as keep its tensors in the caches. Every such part also adds
// up the gradients of all weights.
std::int64_t chunk_size(const nn::Network& network, const Tensor& tours) {
  constexpr double kFloats = 1.5e6;
  const auto steps = static_cast<double>(tours.size(1) * tours.size(2));
  double floats_per_step = 0;  // of the largest tensor
  if (const auto* invit = std::get_if<InvitConfig>(&network.config())) {
    const std::size_t tokens = *std::max_element(invit->state_views.begin(), invit->state_views.end()) + 2;
    floats_per_step = static_cast<double>(tokens * invit->embedding_dim);
  } else if (const auto* am = std::get_if<AmConfig>(&network.config())) {
    floats_per_step = static_cast<double>(am->embedding_dim);
  } else {
    floats_per_step = static_cast<double>(std::get<PointerformerConfig>(network.config()).embedding_dim);
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kFloats / (steps * floats_per_step)));
}

}  // namespace

double add_gradient(nn::Network& network, const std::vector<Tensor>& encoded, const Tensor& tours,
                    const Tensor& coefficients) {
  std::vector<Tensor> leaves;
  for (const Tensor& part : encoded) {
    leaves.push_back(part.requires_grad() ? part.detach().requires_grad_() : part);
  }
  const std::int64_t num_rows = tours.size(0);
  const std::int64_t chunk = chunk_size(network, tours);
  double total = 0;
  for (std::int64_t begin = 0; begin < num_rows; begin += chunk) {
    const std::int64_t count = std::min(chunk, num_rows - begin);
    std::vector<Tensor> parts;
    parts.reserve(leaves.size());
    for (const Tensor& leaf : leaves) parts.push_back(leaf.narrow(0, begin, count));
    const Tensor log_probs = network.score_encoded(parts, tours.narrow(0, begin, count));
    const Tensor sum = (log_probs * coefficients.narrow(0, begin, count)).sum();
    sum.backward();
    total += sum.item<double>();
  }
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (!encoded[i].requires_grad() || !leaves[i].grad().defined()) continue;
    outputs.push_back(encoded[i]);
    gradients.push_back(leaves[i].grad());
  }
  if (!outputs.empty()) torch::autograd::backward(outputs, gradients);
  return total;
}

double gradient_norm(const nn::Network& network) {
  const torch::NoGradGuard no_grad;
  double sum = 0;
  for (const Tensor& p : network.parameters()) {
    if (!p.grad().defined()) continue;
    const auto norm = p.grad().norm().item<double>();
    sum += norm * norm;
  }
  return std::sqrt(sum);
}

void clip_gradient(const nn::Network& network, double norm, double most) {
  const torch::NoGradGuard no_grad;
  constexpr double kEpsilon = 1e-6;
  const double factor = most / (norm + kEpsilon);
  if (factor >= 1) return;
  for (const Tensor& p : network.parameters()) {
    if (p.grad().defined()) p.grad().mul_(factor);
  }
}

void add_norm_penalty(const nn::Network& network, double factor) {
  const torch::NoGradGuard no_grad;
  for (const Tensor& p : network.parameters()) {
    if (p.dim() < 2 || !p.grad().defined()) continue;
    const auto norm = p.norm().item<double>();
    if (norm > 0) p.grad().add_(p, factor / norm);
  }
}

ParameterNorms parameter_norms(const nn::Network& network) {
  const torch::NoGradGuard no_grad;
  ParameterNorms norms;
  for (const Tensor& p : network.parameters()) {
    if (p.dim() < 2) continue;
    const auto norm = p.norm().item<double>();
    norms.sum += norm;
    norms.joint += norm * norm;
  }
  norms.joint = std::sqrt(norms.joint);
  return norms;
}

}  // namespace puretour::train
