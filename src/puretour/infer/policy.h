// A trained network that builds tours node by node: the same interface for all architectures.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/base/rng.h"
#include "puretour/geometry/point.h"
#include "puretour/kernels/gemm/bfloat16.h"
#include "puretour/models/checkpoint.h"

namespace puretour {

struct RolloutOptions {
  bool sample = false;                  // draw every node from the distribution; else take the most probable one
  double temperature = 1;               // sampling: scores are divided by it; above 0
  std::span<const NodeId> prefix = {};  // the tour begins with these nodes; a whole tour is scored that way
  Deadline deadline = {};               // when it expires the roll-out ends early
};

struct Rollout {
  std::vector<NodeId> order;      // all nodes, or fewer if the deadline expired
  std::vector<double> log_probs;  // of each node of `order` when it was its turn, at temperature 1
  [[nodiscard]] double log_prob() const;
};

/// For tests and curious people: receives intermediate values by name, `columns` in each row.
using StageObserver = std::function<void(std::string_view stage, std::span<const float> values, std::size_t columns)>;

/// What the network has computed once for an instance. Immutable: roll-outs may run on several threads.
class EncodedInstance {
 public:
  virtual ~EncodedInstance() = default;
  EncodedInstance() = default;
  EncodedInstance(const EncodedInstance&) = delete;
  EncodedInstance& operator=(const EncodedInstance&) = delete;

  [[nodiscard]] virtual std::size_t size() const = 0;

  /// One tour. `rng` is used by sampling only. Throws InputError if the prefix is no beginning of a tour.
  [[nodiscard]] virtual Rollout roll_out(const RolloutOptions& options, Rng& rng,
                                         const StageObserver& observer = {}) const = 0;
};

/// A tour that is to be built.
struct RolloutTask {
  const EncodedInstance* instance = nullptr;
  RolloutOptions options = {};
  Rng rng = Rng();  // used by sampling only
};

struct EncodeOptions {
  int threads = 1;              // the result does not depend on it
  Deadline deadline = {};       // looked at between layers
  StageObserver observer = {};  // may be empty
};

class Policy {
 public:
  virtual ~Policy() = default;
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  [[nodiscard]] virtual const ModelConfig& config() const = 0;

  /// Coordinates moved and scaled to where the network was trained, the aspect ratio kept.
  [[nodiscard]] virtual std::vector<Point> scaled(std::span<const Point> points) const;

  /// Encodes nodes whose coordinates should lie in the unit square, as in training; they are rounded to float. Nothing
  /// (a null pointer) if the deadline expired. The result refers to this policy. Throws InputError if there are no
  /// nodes.
  [[nodiscard]] virtual std::unique_ptr<EncodedInstance> encode(std::span<const Point> points,
                                                                const EncodeOptions& options) const = 0;

  /// The same, from node embeddings (N rows) that were computed elsewhere: training normalises over the whole batch,
  /// which no single instance can know. Networks without an encoder ignore them.
  [[nodiscard]] virtual std::unique_ptr<EncodedInstance> with_embeddings(std::span<const Point> points,
                                                                         std::span<const float> embeddings) const = 0;

  /// Several small instances at once, on one thread: each as encode() or, with embeddings for every instance,
  /// with_embeddings() gives it, up to rounding. What an instance becomes does not depend on the others.
  [[nodiscard]] virtual std::vector<std::unique_ptr<EncodedInstance>> encode_together(
      std::span<const std::span<const Point>> instances, std::span<const std::span<const float>> embeddings = {}) const;

  /// A good number of instances for encode_together, if they are as small as those of training.
  [[nodiscard]] virtual std::size_t instances_together() const { return 1; }

  /// A good number of tasks for roll_out_together.
  [[nodiscard]] virtual std::size_t rollouts_together() const { return 1; }

  /// Tours of instances that this policy encoded, on one thread. Each is what roll_out() of its instance gives, bit by
  /// bit, but a network whose steps are small may compute a step of all tours at once.
  [[nodiscard]] virtual std::vector<Rollout> roll_out_together(std::span<RolloutTask> tasks) const;
};

/// The same on several threads, for any number of tasks.
std::vector<Rollout> roll_out_all(const Policy& policy, std::span<RolloutTask> tasks, int threads);

/// The network of a checkpoint, ready to use; does not refer to the checkpoint afterwards. Products with weights have
/// the given precision.
std::unique_ptr<Policy> make_policy(const Checkpoint& checkpoint,
                                    kernels::Precision precision = kernels::Precision::kFloat);

/// Throws InputError unless `prefix` holds different nodes of 0 .. num_nodes - 1.
void check_prefix(std::span<const NodeId> prefix, std::size_t num_nodes);

}  // namespace puretour
