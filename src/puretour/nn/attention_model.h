// The Attention Model (Kool, van Hoof, Welling, ICLR 2019) with gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "puretour/nn/decoder_function.h"
#include "puretour/nn/network.h"

namespace puretour::nn {

class AttentionModel final : public Network {
 public:
  explicit AttentionModel(const AmConfig& config) : Network(config), config_(config) {}

  [[nodiscard]] bool chooses_start() const override { return true; }
  [[nodiscard]] std::vector<Tensor> encode(const Tensor& points, Statistics statistics) override;
  [[nodiscard]] std::optional<std::size_t> embedding_part() const override { return 0; }
  [[nodiscard]] std::vector<Tensor> decoder_inputs(const std::vector<Tensor>& encoded) override;
  [[nodiscard]] Tensor step_log_probs(const std::vector<Tensor>& inputs, const Steps& steps) override;
  [[nodiscard]] Tensor score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) override;
  [[nodiscard]] Tensor weighted_score(const std::vector<Tensor>& encoded, const Tensor& tours,
                                      const Tensor& coefficients) override;
  [[nodiscard]] TaughtScore taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) override;

 private:
  [[nodiscard]] Tensor placeholder() const;  // (d): in place of the first and the last node before there is one
  [[nodiscard]] DecoderForm decoder_form() const;
  [[nodiscard]] DecoderWeights decoder_weights() const;

  AmConfig config_;
};

}  // namespace puretour::nn
