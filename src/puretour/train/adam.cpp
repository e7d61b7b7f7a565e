// SPDX-License-Identifier: MIT
#include "puretour/train/adam.h"

#include <fmt/format.h>

#include <cmath>

#include "puretour/base/error.h"

namespace puretour::train {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

Tensor to_plain(const nn::Tensor& values) {
  const nn::Tensor here = values.detach().to(torch::kCPU, torch::kFloat32).contiguous();
  const auto* begin = here.data_ptr<float>();
  return {Shape(here.sizes().begin(), here.sizes().end()), std::vector<float>(begin, begin + here.numel())};
}

}  // namespace

Adam::Adam(const torch::OrderedDict<std::string, nn::Tensor>& parameters, double weight_decay, bool decoupled)
    : weight_decay_(weight_decay), decoupled_(decoupled) {
  for (const auto& item : parameters) {
    const nn::Tensor& value = item.value();
    slots_[item.key()] = {value, torch::zeros_like(value), torch::zeros_like(value)};
  }
}

void Adam::step(double learning_rate) {
  const torch::NoGradGuard no_grad;
  ++num_steps_;
  const auto t = static_cast<double>(num_steps_);
  const double mean_correction = 1 - std::pow(kBeta1, t);
  const double root_correction = std::sqrt(1 - std::pow(kBeta2, t));
  for (auto& [name, slot] : slots_) {
    if (!slot.value.grad().defined()) continue;
    nn::Tensor gradient = slot.value.grad();
    if (decoupled_) {
      slot.value.mul_(1 - learning_rate * weight_decay_);
    } else if (weight_decay_ != 0) {
      gradient = gradient.add(slot.value, weight_decay_);
    }
    slot.mean.mul_(kBeta1).add_(gradient, 1 - kBeta1);
    slot.variance.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    const nn::Tensor denominator = slot.variance.sqrt().div_(root_correction).add_(kEpsilon);
    slot.value.addcdiv_(slot.mean, denominator, -learning_rate / mean_correction);
  }
}

TensorMap Adam::moments() const {
  TensorMap result;
  for (const auto& [name, slot] : slots_) {
    result["m." + name] = to_plain(slot.mean);
    result["v." + name] = to_plain(slot.variance);
  }
  return result;
}

void Adam::restore(const TensorMap& moments, std::uint64_t num_steps, const std::string& source) {
  const torch::NoGradGuard no_grad;
  const auto load = [&](const std::string& name, nn::Tensor& into) {
    const auto found = moments.find(name);
    if (found == moments.end()) throw ModelError(fmt::format("{}: the optimiser's {} is missing", source, name));
    const Tensor& from = found->second;
    if (Shape(into.sizes().begin(), into.sizes().end()) != from.shape) {
      throw ModelError(fmt::format("{}: the optimiser's {} has the shape {}", source, name, shape_text(from.shape)));
    }
    into.copy_(torch::tensor(at::ArrayRef<float>(from.values.data(), from.values.size())).view(into.sizes()));
  };
  for (auto& [name, slot] : slots_) {
    load("m." + name, slot.mean);
    load("v." + name, slot.variance);
  }
  num_steps_ = num_steps;
}

}  // namespace puretour::train
