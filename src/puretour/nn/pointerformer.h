// Pointerformer (Jin et al., AAAI 2023) with gradients.
//
// The original recomputes its reversible encoder in the backward pass, which moves the running statistics of its batch
// normalisations twice per step; here autograd keeps the values, and one update with momentum 0.19 has the same effect.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "puretour/nn/decoder_function.h"
#include "puretour/nn/network.h"

namespace puretour::nn {

class Pointerformer final : public Network {
 public:
  explicit Pointerformer(const PointerformerConfig& config) : Network(config), config_(config) {}

  [[nodiscard]] bool chooses_start() const override { return false; }
  [[nodiscard]] std::vector<Tensor> encode(const Tensor& points, Statistics statistics) override;
  [[nodiscard]] std::optional<std::size_t> embedding_part() const override { return 0; }
  [[nodiscard]] std::vector<Tensor> decoder_inputs(const std::vector<Tensor>& encoded) override;
  /// log(p + 1e-8), as the original has it.
  [[nodiscard]] Tensor step_log_probs(const std::vector<Tensor>& inputs, const Steps& steps) override;
  [[nodiscard]] Tensor score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) override;
  [[nodiscard]] Tensor weighted_score(const std::vector<Tensor>& encoded, const Tensor& tours,
                                      const Tensor& coefficients) override;
  [[nodiscard]] TaughtScore taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) override;

 private:
  [[nodiscard]] double score_scale() const;
  [[nodiscard]] DecoderForm decoder_form() const;
  [[nodiscard]] DecoderWeights decoder_weights(std::int64_t num_nodes) const;

  PointerformerConfig config_;
};

}  // namespace puretour::nn
