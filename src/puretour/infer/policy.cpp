// SPDX-License-Identifier: MIT
#include "puretour/infer/policy.h"

#include <fmt/format.h>

#include <numeric>

#include "puretour/base/error.h"
#include "puretour/infer/attention_model.h"
#include "puretour/infer/invit.h"
#include "puretour/infer/pointerformer.h"
#include "puretour/tour/instance.h"

namespace puretour {

double Rollout::log_prob() const {
  return std::accumulate(log_probs.begin(), log_probs.end(), 0.0);
}

std::vector<Point> Policy::scaled(std::span<const Point> points) const {
  return normalised_to_unit_square(points);
}

void check_prefix(std::span<const NodeId> prefix, std::size_t num_nodes) {
  std::vector<bool> seen(num_nodes);
  for (const NodeId node : prefix) {
    if (node < 0 || static_cast<std::size_t>(node) >= num_nodes) {
      throw InputError(fmt::format("the tour begins with node {}, but there are {}", node + 1, num_nodes));
    }
    if (seen[static_cast<std::size_t>(node)]) {
      throw InputError(fmt::format("the beginning of the tour has node {} twice", node + 1));
    }
    seen[static_cast<std::size_t>(node)] = true;
  }
}

std::unique_ptr<Policy> make_policy(const Checkpoint& checkpoint, kernels::Precision precision) {
  check_weights(checkpoint.config, checkpoint.weights, "checkpoint");
  if (std::holds_alternative<AmConfig>(checkpoint.config))
    return std::make_unique<AttentionModel>(checkpoint, precision);
  if (std::holds_alternative<PointerformerConfig>(checkpoint.config))
    return std::make_unique<Pointerformer>(checkpoint, precision);
  if (std::holds_alternative<InvitConfig>(checkpoint.config)) return std::make_unique<Invit>(checkpoint, precision);
  throw InternalError("make_policy: unknown architecture");
}

}  // namespace puretour
