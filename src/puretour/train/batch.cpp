// SPDX-License-Identifier: MIT
#include "puretour/train/batch.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "puretour/base/parallel.h"
#include "puretour/infer/augment.h"

namespace puretour::train {
namespace {

// Second keys of random streams.
enum Stream : std::uint64_t { kCoordinates = 0, kAngles = 1, kStarts = 2, kSamples = 3, kBaselineStarts = 4 };

double closed_length(std::span<const Point> points, std::span<const NodeId> order) {
  double length = 0;
  Point previous = points[static_cast<std::size_t>(order.back())];
  for (const NodeId node : order) {
    const Point p = points[static_cast<std::size_t>(node)];
    // Not hypot: its last bit depends on the C library.
    const double dx = p.x - previous.x;
    const double dy = p.y - previous.y;
    length += std::sqrt(dx * dx + dy * dy);
    previous = p;
  }
  return length;
}

}  // namespace

Batch make_batch(std::uint64_t seed, Purpose purpose, std::uint64_t number, std::size_t first, std::size_t count,
                 std::size_t num_nodes, std::size_t copies) {
  Batch batch;
  batch.num_nodes = num_nodes;
  batch.copies = copies;
  batch.first_instance = first;
  batch.points.reserve(count * num_nodes);
  for (std::size_t i = first; i < first + count; ++i) {
    Rng rng(seed, {static_cast<std::uint64_t>(purpose), kCoordinates, number, i});
    for (std::size_t k = 0; k < num_nodes; ++k) {
      const auto x = static_cast<double>(rng.uniform_float());
      const auto y = static_cast<double>(rng.uniform_float());
      batch.points.push_back({x, y});
    }
  }
  if (copies == 1) return batch;
  const Augmentation augmentation{true, copies};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t angles = Rng(seed, {static_cast<std::uint64_t>(purpose), kAngles, number, first + i}).bits();
    for (std::size_t c = 0; c < copies; ++c) {
      const std::vector<Point> view = augmentation.copy(batch.instance(i), c, angles);
      batch.turned.insert(batch.turned.end(), view.begin(), view.end());
    }
  }
  return batch;
}

BatchTours roll_out(const Policy& policy, const Batch& batch, std::span<const std::span<const float>> embeddings,
                    const TourPlan& plan) {
  const std::size_t n = batch.num_nodes;
  const std::size_t num_views = batch.num_views();
  const auto purpose = static_cast<std::uint64_t>(plan.purpose);
  const std::uint64_t starts_stream = plan.of_baseline ? kBaselineStarts : kStarts;
  std::vector<NodeId> shared_starts(n);
  std::iota(shared_starts.begin(), shared_starts.end(), 0);
  if (plan.random_starts && plan.tours > 1) {
    Rng(plan.seed, {purpose, starts_stream, plan.number}).shuffle(shared_starts.data(), n);
  }
  BatchTours result;
  result.tours = plan.tours;
  result.nodes.resize(num_views * plan.tours * n);
  result.lengths.resize(num_views * plan.tours);
  // As many views at a time as have a good number of tours for the network.
  const std::size_t views_at_once = std::max(policy.instances_together(), policy.rollouts_together() / plan.tours);
  parallel_for_blocks(num_views, views_at_once, plan.threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::span<const Point>> views;
    for (std::size_t v = begin; v < end; ++v) views.push_back(batch.view(v));
    const std::vector<std::unique_ptr<EncodedInstance>> encoded =
        policy.encode_together(views, embeddings.empty() ? embeddings : embeddings.subspan(begin, end - begin));
    std::vector<RolloutTask> tasks;
    std::vector<NodeId> starts((end - begin) * plan.tours);
    for (std::size_t v = begin; v < end; ++v) {
      const std::size_t global_view = batch.first_instance * batch.copies + v;
      for (std::size_t g = 0; g < plan.tours; ++g) {
        NodeId& start = starts[tasks.size()];
        start = shared_starts[g];
        if (plan.random_starts && plan.tours == 1) {
          start = static_cast<NodeId>(Rng(plan.seed, {purpose, starts_stream, plan.number, global_view}).below(n));
        }
        RolloutTask task;
        task.instance = encoded[v - begin].get();
        task.options.sample = plan.sample;
        if (plan.random_starts) task.options.prefix = std::span(&start, 1);
        task.rng = Rng(plan.seed, {purpose, kSamples, plan.number, global_view, g});
        tasks.push_back(task);
      }
    }
    std::size_t tour = begin * plan.tours;
    for (const Rollout& rollout : policy.roll_out_together(tasks)) {
      std::copy(rollout.order.begin(), rollout.order.end(),
                result.nodes.begin() + static_cast<std::ptrdiff_t>(tour * n));
      result.lengths[tour] = closed_length(batch.instance(tour / plan.tours / batch.copies), rollout.order);
      ++tour;
    }
  });
  return result;
}

}  // namespace puretour::train
