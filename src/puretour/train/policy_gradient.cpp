// SPDX-License-Identifier: MIT
#include "puretour/train/policy_gradient.h"

#include <algorithm>
#include <cmath>

#include "puretour/nn/kernel_functions.h"

namespace puretour::train {
namespace {

using nn::Tensor;

// Instances that the decoder works on at a time: as many as keep its tensors in the caches. Every such part also adds
// up the gradients of all weights.
std::int64_t chunk_size(const nn::Network& network, const Tensor& encoded, const Tensor& tours, double steps) {
  constexpr double kFloats = 1.5e6;
  double floats_per_step = 0;  // of the largest tensor
  if (const auto* invit = std::get_if<InvitConfig>(&network.config())) {
    const std::size_t tokens = *std::max_element(invit->state_views.begin(), invit->state_views.end()) + 2;
    floats_per_step = static_cast<double>(tokens * invit->embedding_dim);
  } else {
    if (nn::kernels_support(encoded)) return tours.size(0);  // they look after their memory themselves
    floats_per_step = static_cast<double>(encoded.size(-1));
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kFloats / (steps * floats_per_step)));
}

// Calls score(parts, begin, count), which gives a sum with a graph, for `chunk` of the rows of `encoded` at a time, and
// adds the gradient of all sums.
template <class Score>
void add_gradient_in_chunks(const std::vector<Tensor>& encoded, std::int64_t chunk, const Score& score) {
  const std::int64_t num_rows = encoded[0].size(0);
  std::vector<Tensor> gradients(encoded.size());
  for (std::int64_t begin = 0; begin < num_rows; begin += chunk) {
    const std::int64_t count = std::min(chunk, num_rows - begin);
    // Leaves of their own: as parts of larger ones, each would hand on a gradient of the full size.
    std::vector<Tensor> parts;
    parts.reserve(encoded.size());
    for (const Tensor& all : encoded) {
      parts.push_back(all.detach().narrow(0, begin, count).requires_grad_(all.requires_grad()));
    }
    const Tensor sum = score(parts, begin, count);
    if (!sum.requires_grad()) continue;  // nothing was scored
    sum.backward();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Tensor gradient = parts[i].grad();
      if (!gradient.defined()) continue;
      if (count == num_rows) {
        gradients[i] = gradient;
      } else {
        if (!gradients[i].defined()) gradients[i] = torch::zeros_like(encoded[i]);
        gradients[i].narrow(0, begin, count).copy_(gradient);
      }
    }
  }
  std::vector<Tensor> reached;
  std::vector<Tensor> their_gradients;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (!gradients[i].defined()) continue;
    reached.push_back(encoded[i]);
    their_gradients.push_back(gradients[i]);
  }
  if (!reached.empty()) torch::autograd::backward(reached, their_gradients);
}

}  // namespace

double add_gradient(nn::Network& network, const std::vector<Tensor>& encoded, const Tensor& tours,
                    const Tensor& coefficients) {
  double total = 0;
  const auto steps = static_cast<double>(tours.size(1) * tours.size(2));
  add_gradient_in_chunks(encoded, chunk_size(network, encoded[0], tours, steps),
                         [&](const std::vector<Tensor>& parts, std::int64_t begin, std::int64_t count) {
                           const Tensor sum = network.weighted_score(parts, tours.narrow(0, begin, count),
                                                                     coefficients.narrow(0, begin, count));
                           total += sum.item<double>();
                           return sum;
                         });
  return total;
}

nn::TaughtScore add_taught_gradient(nn::Network& network, const std::vector<Tensor>& encoded,
                                    const nn::TaughtSteps& steps) {
  nn::TaughtScore total;
  double sum = 0;
  const auto num_taught = (steps.ranges.select(2, 1) - steps.ranges.select(2, 0)).sum().item<double>();
  const double per_instance = std::max(1.0, num_taught / static_cast<double>(steps.tours.size(0)));
  add_gradient_in_chunks(encoded, chunk_size(network, encoded[0], steps.tours, per_instance),
                         [&](const std::vector<Tensor>& parts, std::int64_t begin, std::int64_t count) {
                           const nn::TaughtScore score = network.taught_score(
                               parts, {steps.tours.narrow(0, begin, count), steps.ranges.narrow(0, begin, count),
                                       steps.coefficients.narrow(0, begin, count)});
                           sum += score.sum.item<double>();
                           total.log_prob += score.log_prob;
                           total.decisions += score.decisions;
                           total.correct += score.correct;
                           total.skipped += score.skipped;
                           return score.sum;
                         });
  total.sum = torch::tensor(sum, torch::kFloat64);
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
