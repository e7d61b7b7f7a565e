// Adam and AdamW with a state that can be stored. (LibTorch's own keep theirs in a form that changes between versions.)
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "puretour/models/tensor.h"
#include "puretour/nn/torch.h"

namespace puretour::train {

class Adam {
 public:
  /// decoupled: AdamW, which shrinks the weights beside the step; else the decay is a part of the gradient.
  Adam(const torch::OrderedDict<std::string, nn::Tensor>& parameters, double weight_decay, bool decoupled);

  /// One step with the gradients of the parameters; those without one stay as they are.
  void step(double learning_rate);

  [[nodiscard]] std::uint64_t num_steps() const { return num_steps_; }

  /// "m.NAME" and "v.NAME" for every parameter.
  [[nodiscard]] TensorMap moments() const;
  /// The inverse; the names and shapes must be those of moments(). Throws ModelError.
  void restore(const TensorMap& moments, std::uint64_t num_steps, const std::string& source);

 private:
  struct Slot {
    nn::Tensor value;
    nn::Tensor mean;      // of the gradient
    nn::Tensor variance;  // of the gradient, about zero
  };
  std::map<std::string, Slot> slots_;
  double weight_decay_;
  bool decoupled_;
  std::uint64_t num_steps_ = 0;
};

}  // namespace puretour::train
