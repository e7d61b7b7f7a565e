// INViT (Fang et al., ICML 2024) with gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "puretour/nn/network.h"

namespace puretour::nn {

class Invit final : public Network {
 public:
  explicit Invit(const InvitConfig& config) : Network(config), config_(config) {}

  [[nodiscard]] bool chooses_start() const override { return false; }
  /// Nothing to compute: every step has its own views.
  [[nodiscard]] std::vector<Tensor> encode(const Tensor& points, Statistics statistics) override;
  [[nodiscard]] std::optional<std::size_t> embedding_part() const override { return std::nullopt; }
  /// Minus infinity also for nodes outside the action view.
  [[nodiscard]] Tensor step_log_probs(const std::vector<Tensor>& encoded, const Steps& steps) override;

 private:
  struct Views;
  [[nodiscard]] Views views_of(const Tensor& points, const Steps& steps) const;
  [[nodiscard]] Tensor encode_tokens(const std::string& prefix, std::size_t num_layers, Tensor h,
                                     const Tensor& impossible) const;
  [[nodiscard]] Tensor encode_actions(const Views& views) const;
  [[nodiscard]] Tensor encode_state(const Views& views, std::size_t index) const;
  [[nodiscard]] Tensor decode(const Tensor& actions, const std::vector<Tensor>& states, const Tensor& impossible) const;

  InvitConfig config_;
};

}  // namespace puretour::nn
