// The choice of the next node from scores.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/infer/policy.h"

namespace puretour {

/// Scores of candidate slots, each of which stands for a node, turned into a choice with its log-probability.
class DecodingStrategy {
 public:
  struct Choice {
    std::size_t slot = 0;
    double log_prob = 0;  // log softmax of the scores at temperature 1
  };

  /// What the options ask for at this step: the node of the prefix, whose slot `slot_of` tells, or the best one, or a
  /// random one.
  template <typename SlotOf>
  Choice choose(std::span<const float> scores, std::span<const NodeId> nodes, const RolloutOptions& options,
                std::size_t step, Rng& rng, const SlotOf& slot_of) {
    if (step < options.prefix.size()) return given(scores, slot_of(options.prefix[step]));
    return options.sample ? sample(scores, options.temperature, rng) : best(scores, nodes);
  }

  /// The slot with the highest score; the lowest node number decides ties, whatever the order of the slots. (Or any
  /// other ranks in place of node numbers.)
  Choice best(std::span<const float> scores, std::span<const NodeId> nodes);

  /// A slot drawn with probability softmax(score / temperature).
  Choice sample(std::span<const float> scores, double temperature, Rng& rng);

  /// The given slot.
  Choice given(std::span<const float> scores, std::size_t slot);

 private:
  // Fills weights_ with exp(factor * (score - largest)) and returns their sum.
  double weigh(std::span<const float> scores, float factor);
  // The given slot, after weigh(scores, 1) returned `sum`.
  [[nodiscard]] Choice weighed(std::span<const float> scores, std::size_t slot, double sum) const;

  std::vector<float> weights_;
  float largest_ = 0;
};

/// The first node of a network that does not choose it: that of the prefix, a random one when sampling, or else node 0.
NodeId start_node(const RolloutOptions& options, std::size_t num_nodes, Rng& rng);

}  // namespace puretour
