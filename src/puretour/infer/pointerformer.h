// Pointerformer (Jin et al., AAAI 2023) for inference on the CPU.
//
// A reversible encoder sees all nodes once, each as 24 features; a step of the decoder is one product of a query with
// the keys of the nodes that are left, minus their distance in the space of the features. Start nodes are given, not
// chosen.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <vector>

#include "puretour/infer/policy.h"
#include "puretour/infer/weights.h"

namespace puretour {

inline constexpr std::size_t kPointerformerFeatures = 24;

/// Angles and coordinates of the eight symmetric images of a node: eight values atan(second / first), then eight pairs.
/// Not finite in the corners of the unit square.
std::array<float, kPointerformerFeatures> pointerformer_features(Point point);

class Pointerformer final : public Policy {
 public:
  /// The checkpoint must be that of a PointerformerConfig.
  Pointerformer(const Checkpoint& checkpoint, kernels::Precision precision);

  [[nodiscard]] const ModelConfig& config() const override { return model_config_; }

  /// In the original's way for real data: the unit square shrunk to 0.05 .. 0.95, because features are not defined in
  /// its corners.
  [[nodiscard]] std::vector<Point> scaled(std::span<const Point> points) const override;

  [[nodiscard]] std::unique_ptr<EncodedInstance> encode(std::span<const Point> points,
                                                        const EncodeOptions& options) const override;
  [[nodiscard]] std::unique_ptr<EncodedInstance> with_embeddings(std::span<const Point> points,
                                                                 std::span<const float> embeddings) const override;

 private:
  friend class PointerformerCache;

  struct Block {
    BatchNorm attention_norm;
    kernels::Linear query_key_value;
    kernels::Linear attention_out;
    BatchNorm feed_forward_norm;
    kernels::FeedForward feed_forward;
  };

  PointerformerConfig config_;
  ModelConfig model_config_;
  kernels::Precision precision_;
  kernels::Linear projection_;
  std::vector<Block> blocks_;
  // What the decoder needs of every node in one product, four groups of columns: key, and the node's share of the query
  // when it is the last, the first, or visited. Keys contain the map of the query and all scales: the mean over the
  // pointers of q'_a . k_a / sqrt(dim) is q . (wq^T Wk e) / (pointers sqrt(dim)).
  kernels::Linear node_projection_;
  kernels::Linear graph_query_;
};

}  // namespace puretour
