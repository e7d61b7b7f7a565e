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
  [[nodiscard]] Tensor score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) override;
  [[nodiscard]] TaughtScore taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) override;

 private:
  // By kernels, without padding.
  struct Tokens;
  struct ViewBatch;
  // Of all steps, or of those that are taught and whose action is in view.
  [[nodiscard]] ViewBatch views_of_tours(const Tensor& points, const Tensor& tours, const TaughtSteps* taught) const;
  [[nodiscard]] Tensor embed(const std::string& prefix, const std::vector<std::string>& kinds,
                             const Tokens& tokens) const;
  [[nodiscard]] Tensor encode_rows(const std::string& prefix, std::size_t num_layers, Tensor h,
                                   const Tokens& tokens) const;
  // Both give the log-probabilities of what was chosen, and whether that is a most probable action if it is asked for.
  [[nodiscard]] Tensor decode_rows(const Tensor& actions, const std::vector<Tensor>& states, const ViewBatch& views,
                                   std::vector<std::uint8_t>* is_best) const;
  [[nodiscard]] Tensor log_probs_of(const ViewBatch& views, std::vector<std::uint8_t>* is_best) const;

  // By LibTorch's own operations, with padding.
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
