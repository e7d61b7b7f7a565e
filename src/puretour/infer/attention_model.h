// The Attention Model (Kool, van Hoof, Welling, ICLR 2019) for inference on the CPU.
//
// The encoder sees all nodes once; each step of the decoder attends to the nodes that are left, with a query made of
// the graph, the first and the last node. Memory is proportional to the number of nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "puretour/infer/policy.h"
#include "puretour/infer/weights.h"
#include "puretour/kernels/layers/attention_block.h"

namespace puretour {

class AttentionModel final : public Policy {
 public:
  /// The checkpoint must be that of an AmConfig.
  AttentionModel(const Checkpoint& checkpoint, kernels::Precision precision);

  [[nodiscard]] const ModelConfig& config() const override { return model_config_; }
  [[nodiscard]] std::unique_ptr<EncodedInstance> encode(std::span<const Point> points,
                                                        const EncodeOptions& options) const override;
  [[nodiscard]] std::unique_ptr<EncodedInstance> with_embeddings(std::span<const Point> points,
                                                                 std::span<const float> embeddings) const override;
  [[nodiscard]] std::vector<std::unique_ptr<EncodedInstance>> encode_together(
      std::span<const std::span<const Point>> instances,
      std::span<const std::span<const float>> embeddings) const override;
  // Instances of 50 nodes fill products of 200 rows.
  [[nodiscard]] std::size_t instances_together() const override { return 4; }

 private:
  friend class AttentionModelCache;

  struct Layer {
    kernels::AttentionBlock attention;
    BatchNorm norm1;
    kernels::FeedForward feed_forward;
    BatchNorm norm2;
  };

  /// Node embeddings of several instances, one below the other.
  [[nodiscard]] kernels::AlignedVector<float> encode_all(std::span<const std::span<const Point>> instances) const;
  [[nodiscard]] kernels::AlignedVector<float> encode_nodes(std::span<const Point> points,
                                                           const EncodeOptions& options) const;

  AmConfig config_;
  ModelConfig model_config_;
  kernels::Precision precision_;
  kernels::Linear embedding_;
  std::vector<Layer> layers_;
  // What the decoder needs of every node in one product, four groups of columns: glimpse key, glimpse value, score key,
  // and the node's share of the query when it is the last one. Score keys contain the projection behind the glimpse:
  // key . (W g) = (W^T key) . g. Scales are folded in, too: 1 / sqrt(head_dim) into the glimpse keys and 1 / sqrt(dim)
  // into the score keys.
  kernels::Linear node_projection_;
  kernels::Linear graph_context_;   // share of the mean of all nodes in the query
  kernels::Linear first_context_;   // share of the first node
  std::vector<float> placeholder_;  // share of the stand-in for first and last node, before there are any
  // Unfolded, for observers.
  kernels::Linear plain_projection_;
  kernels::Linear glimpse_out_;
};

}  // namespace puretour
