// SPDX-License-Identifier: MIT
#include "puretour/infer/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
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

std::vector<std::unique_ptr<EncodedInstance>> Policy::encode_together(
    std::span<const std::span<const Point>> instances, std::span<const std::span<const float>> embeddings) const {
  std::vector<std::unique_ptr<EncodedInstance>> results;
  results.reserve(instances.size());
  for (std::size_t i = 0; i < instances.size(); ++i) {
    results.push_back(embeddings.empty() ? encode(instances[i], {}) : with_embeddings(instances[i], embeddings[i]));
  }
  return results;
}

std::vector<Rollout> Policy::roll_out_together(std::span<RolloutTask> tasks) const {
  std::vector<Rollout> results;
  results.reserve(tasks.size());
  for (RolloutTask& task : tasks) results.push_back(task.instance->roll_out(task.options, task.rng));
  return results;
}

std::vector<Rollout> roll_out_all(const Policy& policy, std::span<RolloutTask> tasks, int threads) {
  // Fewer together if there would be nothing to do for some threads.
  const auto num_threads = static_cast<std::size_t>(resolve_threads(threads));
  const std::size_t share = (tasks.size() + num_threads - 1) / num_threads;
  const std::size_t together = std::clamp<std::size_t>(share, 1, policy.rollouts_together());
  std::vector<Rollout> results(tasks.size());
  parallel_for_blocks(tasks.size(), together, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<Rollout> part = policy.roll_out_together(tasks.subspan(begin, end - begin));
    std::move(part.begin(), part.end(), results.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  return results;
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
