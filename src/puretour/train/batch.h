// Training instances and tours of them: everything random in training comes from here, and depends on (seed, step,
// index) only, so that neither threads nor processes nor interruptions change a run. Nothing here knows Torch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/geometry/point.h"
#include "puretour/infer/policy.h"

namespace puretour::train {

/// What random numbers are for. The values are part of the seed: never renumber them.
enum class Purpose : std::uint8_t {
  kInitialWeights = 0,
  kBaselineWeights = 1,
  kTraining = 2,
  kComparison = 3,  // instances on which a baseline is compared with the network
  kValidation = 4,
};

/// Uniform instances and the views of them that the network sees.
struct Batch {
  std::size_t num_nodes = 0;
  std::size_t copies = 1;      // views of each instance
  std::vector<Point> points;   // of the instances, one after the other
  std::vector<Point> turned;   // of the views, all copies of an instance together; empty if copies is 1
  std::size_t first_instance;  // number of the first instance in the whole batch

  [[nodiscard]] std::size_t num_instances() const { return points.size() / num_nodes; }
  [[nodiscard]] std::size_t num_views() const { return num_instances() * copies; }
  [[nodiscard]] std::span<const Point> instance(std::size_t i) const {
    return std::span(points).subspan(i * num_nodes, num_nodes);
  }
  [[nodiscard]] std::span<const Point> views() const { return copies == 1 ? points : turned; }
  [[nodiscard]] std::span<const Point> view(std::size_t v) const { return views().subspan(v * num_nodes, num_nodes); }
};

/// Instances first .. first + count - 1 of batch `number`. Copy 0 of an instance is the instance itself, the others are
/// in turn mirrored and turned by random angles.
Batch make_batch(std::uint64_t seed, Purpose purpose, std::uint64_t number, std::size_t first, std::size_t count,
                 std::size_t num_nodes, std::size_t copies);

struct TourPlan {
  std::size_t tours = 1;  // of each view
  bool sample = false;    // else greedy
  /// Networks that do not choose their start get one: with one tour per view a random one, else the first nodes of one
  /// random permutation, the same for all views.
  bool random_starts = false;
  std::uint64_t seed = 0;  // with the next two: those of the batch
  Purpose purpose = Purpose::kTraining;
  std::uint64_t number = 0;
  bool of_baseline = false;  // its random numbers are its own
  int threads = 1;
};

struct BatchTours {
  std::size_t tours = 1;        // of each view
  std::vector<NodeId> nodes;    // view by view, tour by tour
  std::vector<double> lengths;  // of each tour, in the coordinates of the instance
};

/// Tours of all views. `embeddings` are those of the nodes, for every view, or empty: then the policy encodes them
/// itself.
BatchTours roll_out(const Policy& policy, const Batch& batch, std::span<const std::span<const float>> embeddings,
                    const TourPlan& plan);

}  // namespace puretour::train
