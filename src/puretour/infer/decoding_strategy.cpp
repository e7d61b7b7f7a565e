// SPDX-License-Identifier: MIT
#include "puretour/infer/decoding_strategy.h"

#include <algorithm>
#include <cmath>

#include "puretour/kernels/simd/rows.h"

namespace puretour {

double DecodingStrategy::weigh(std::span<const float> scores, float factor) {
  weights_.resize(kernels::padded(scores.size()));
  for (std::size_t i = 0; i < scores.size(); ++i) weights_[i] = scores[i] * factor;
  float sum = 0;
  kernels::exponentials(weights_.data(), scores.size(), &largest_, &sum);
  return sum;
}

DecodingStrategy::Choice DecodingStrategy::given(std::span<const float> scores, std::size_t slot) {
  return weighed(scores, slot, weigh(scores, 1));
}

DecodingStrategy::Choice DecodingStrategy::weighed(std::span<const float> scores, std::size_t slot, double sum) const {
  return {slot, static_cast<double>(scores[slot] - largest_) - std::log(sum)};
}

DecodingStrategy::Choice DecodingStrategy::best(std::span<const float> scores, std::span<const NodeId> nodes) {
  const double sum = weigh(scores, 1);
  std::size_t slot = scores.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == largest_ && (slot == scores.size() || nodes[i] < nodes[slot])) slot = i;
  }
  return {slot, -std::log(sum)};
}

DecodingStrategy::Choice DecodingStrategy::sample(std::span<const float> scores, double temperature, Rng& rng) {
  const auto factor = static_cast<float>(1 / temperature);
  const double rounded_sum = weigh(scores, factor);
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) sum += static_cast<double>(weights_[i]);
  double left = rng.uniform() * sum;
  // Rounding may leave a little at the end: it belongs to the last slot that is possible at all.
  std::size_t slot = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (weights_[i] <= 0) continue;
    slot = i;
    left -= static_cast<double>(weights_[i]);
    if (left < 0) break;
  }
  return factor == 1 ? weighed(scores, slot, rounded_sum) : given(scores, slot);
}

NodeId start_node(const RolloutOptions& options, std::size_t num_nodes, Rng& rng) {
  if (!options.prefix.empty()) return options.prefix[0];
  return options.sample ? static_cast<NodeId>(rng.below(num_nodes)) : 0;
}

}  // namespace puretour
