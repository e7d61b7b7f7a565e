// INViT (Fang et al., ICML 2024) for inference on the CPU.
//
// Every step sees only views: the nearest unvisited nodes around the last one, each view scaled to the unit square. The
// action view holds the nodes that can be chosen, larger state views tell what lies around them. Work per step does not
// depend on the size of the instance. Start nodes are given, not chosen.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "puretour/infer/policy.h"
#include "puretour/infer/weights.h"

namespace puretour {

class Invit final : public Policy {
 public:
  /// The checkpoint must be that of an InvitConfig.
  Invit(const Checkpoint& checkpoint, kernels::Precision precision);

  [[nodiscard]] const ModelConfig& config() const override { return model_config_; }

  /// Nodes that are not among the action view when a prefix asks for them have log-probability minus infinity.
  [[nodiscard]] std::unique_ptr<EncodedInstance> encode(std::span<const Point> points,
                                                        const EncodeOptions& options) const override;
  [[nodiscard]] std::unique_ptr<EncodedInstance> with_embeddings(std::span<const Point> points,
                                                                 std::span<const float> embeddings) const override;

  [[nodiscard]] std::size_t rollouts_together() const override { return 8; }
  [[nodiscard]] std::vector<Rollout> roll_out_together(std::span<RolloutTask> tasks) const override;

 private:
  friend class InvitCache;
  friend class InvitStep;

  struct Layer {
    kernels::Linear query;
    kernels::Linear key_value;
    kernels::Linear attention_out;
    LayerNorm attention_norm;
    LayerNorm norm1;
    kernels::FeedForward feed_forward;
    LayerNorm norm2;
  };

  struct ViewEncoder {
    kernels::Linear embed_neighbour;
    kernels::Linear embed_last;
    kernels::Linear embed_first;      // state views only
    kernels::Linear embed_aggregate;  // state views with a token for the whole graph only
    std::vector<Layer> layers;
  };

  struct DecoderLayer {
    kernels::Linear query;
    kernels::Linear attention_out;
    LayerNorm attention_norm;
    kernels::FeedForward feed_forward;
    LayerNorm feed_forward_norm;
  };

  InvitConfig config_;
  ModelConfig model_config_;
  kernels::Precision precision_;
  ViewEncoder action_encoder_;
  std::vector<ViewEncoder> state_encoders_;
  kernels::Linear query_;   // of the decoder
  kernels::Linear keys_;    // of its two layers and of the scores
  kernels::Linear values_;  // of its two layers; the original computes a third group that nothing uses
  std::vector<DecoderLayer> decoder_layers_;
  kernels::Linear final_query_;
};

}  // namespace puretour
