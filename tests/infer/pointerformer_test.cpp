// Pointerformer against numbers of the original program.
// SPDX-License-Identifier: MIT
#include "puretour/infer/pointerformer.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "infer/golden.h"
#include "infer/pointerformer_weights.h"
#include "puretour/base/error.h"
#include "puretour/infer/augment.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using test::closed_length;
using test::expect_begins_with;
using test::greedy;
using test::hashed_pointerformer;
using test::hashed_points;
using test::lattice_points;
using test::RecordedStages;
using test::sine_pointerformer;

struct Summary {
  double best = 0;
  std::size_t best_start = 0;
  double mean_length = 0;
  double mean_log_prob = 0;
};

// Greedy tours from every node.
Summary all_starts(const Policy& policy, const std::vector<Point>& points) {
  const auto instance = policy.encode(points, {});
  Summary summary;
  for (std::size_t start = 0; start < points.size(); ++start) {
    const Rollout rollout = greedy(*instance, {static_cast<NodeId>(start)});
    const double length = closed_length(points, rollout.order);
    if (start == 0 || length < summary.best - 1e-9) {
      summary.best = length;
      summary.best_start = start;
    }
    summary.mean_length += length / static_cast<double>(points.size());
    summary.mean_log_prob += rollout.log_prob() / static_cast<double>(points.size());
  }
  return summary;
}

TEST(Pointerformer, FeaturesAreAnglesThenCoordinates) {
  const auto features = pointerformer_features(lattice_points(1)[0]);
  expect_begins_with({features.begin(), features.end()},
                     {0.8847440, 1.1023625, 0.3775859, 0.5705456, 0.6860522, 1.1932104, 0.4684338, 1.0002507,
                      0.6180340, 0.7548777, 0.3819660, 0.7548777, 0.6180340, 0.2451223, 0.3819660, 0.2451223,
                      0.7548777, 0.6180340, 0.2451223, 0.6180340, 0.7548777, 0.3819660, 0.2451223, 0.3819660},
                     1e-6, "features");
}

TEST(Pointerformer, SineWeightsGiveTheToursOfTheOriginal) {
  const Checkpoint checkpoint = sine_pointerformer();
  EXPECT_NEAR(checkpoint.weights.at("decoder.wq.weight").values[1], -0.07914547, 1e-7);
  EXPECT_NEAR(checkpoint.weights.at("encoder.init_projection_layer.weight").values[0], 0.06569866, 1e-7);
  const auto policy = make_policy(checkpoint);
  const auto points = lattice_points(20);
  RecordedStages stages;
  const auto instance = policy->encode(points, {.observer = stages.observer()});
  const auto& e = stages.get("block 5 y2");
  expect_begins_with(
      e, {0.34512255, -0.37102547, 0.28834990, -0.11959979, -0.07957552, 0.25804448, -0.36327237, 0.35927585}, 2e-6,
      "e");
  EXPECT_NEAR(std::accumulate(e.begin(), e.end(), 0.0), -0.804651, 1e-4);
  EXPECT_NEAR(std::pow(test::norm(e), 2), 249.04217, 1e-3);
  const Rollout rollout = greedy(*instance, {0});
  EXPECT_EQ(rollout.order, (std::vector<NodeId>{0, 8, 16, 13, 5, 18, 10, 2, 15, 7, 3, 11, 19, 6, 14, 1, 9, 17, 4, 12}));
  EXPECT_NEAR(closed_length(points, rollout.order), 3.1263356, 1e-6);
  EXPECT_NEAR(rollout.log_prob(), -0.4157516, 2e-6);
  const Summary summary = all_starts(*policy, points);
  EXPECT_NEAR(summary.best, 2.8999104, 1e-6);
  EXPECT_EQ(summary.best_start, 3U);
  EXPECT_NEAR(summary.mean_length, 3.0517471, 1e-6);
  EXPECT_NEAR(summary.mean_log_prob, -0.9776415, 1e-5);
  for (std::size_t k = 0; k < kNumSymmetries; ++k) {
    EXPECT_GE(all_starts(*policy, symmetric_copy(points, k)).best, 2.8999104 - 2e-6);
  }
}

TEST(Pointerformer, HashedWeightsGiveTheToursOfTheOriginalFor20Nodes) {
  const Checkpoint checkpoint = hashed_pointerformer();
  const auto policy = make_policy(checkpoint);
  const auto points = hashed_points(20, 0);
  RecordedStages stages;
  const auto instance = policy->encode(points, {.observer = stages.observer()});
  expect_begins_with(stages.get("projection"), {0.5662511, -0.3734726, 0.1040845, -0.1570533}, 1e-6, "z");
  expect_begins_with(stages.get("block 0 y1"), {0.5137353, -0.1154174, 0.5238844, -0.4589408}, 2e-6, "y1");
  expect_begins_with(stages.get("block 0 y2"), {0.9688054, -0.6186453, -0.6507859, 0.2890533}, 2e-6, "y2");
  const auto& e = stages.get("block 5 y2");
  expect_begins_with(e, {-1.9001093, 1.5559369, -1.6178625, 0.9818092, 3.8898845, 2.1552196, 1.2330763, 0.1361231},
                     2e-5, "e");
  EXPECT_NEAR(std::accumulate(e.begin(), e.end(), 0.0), -165.55202, 1e-3);
  EXPECT_NEAR(std::pow(test::norm(e), 2), 11209.6137, 0.02);
  const Rollout rollout = greedy(*instance, {0}, stages.observer());
  EXPECT_EQ(rollout.order, (std::vector<NodeId>{0, 10, 5, 6, 11, 8, 19, 7, 12, 14, 15, 18, 17, 13, 3, 1, 9, 16, 2, 4}));
  EXPECT_NEAR(closed_length(points, rollout.order), 5.0444078, 1e-5);
  EXPECT_NEAR(rollout.log_prob(), -1.21292, 5e-5);
  // Slot 0 holds the last node by now; distances are divided by sqrt(2) here.
  std::vector<float> delta = stages.get("distances", 0);
  for (float& d : delta) d *= std::sqrt(2.0F);
  expect_begins_with(delta, {4.349407, 3.769566, 3.953202, 4.111232}, 5e-6, "delta", 1);
  const Summary summary = all_starts(*policy, points);
  EXPECT_NEAR(summary.best, 4.6835032, 1e-5);
  EXPECT_EQ(summary.best_start, 9U);
  EXPECT_NEAR(summary.mean_length, 5.1807342, 1e-5);
  EXPECT_NEAR(summary.mean_log_prob, -4.73358, 2e-4);
  const std::vector<double> best_of_copies = {4.68350, 4.11913, 4.60715, 4.06274, 4.04072, 4.42993, 4.49785, 4.32162};
  for (std::size_t k = 0; k < kNumSymmetries; ++k) {
    EXPECT_NEAR(all_starts(*policy, symmetric_copy(points, k)).best, best_of_copies[k], 1e-4) << k;
  }
}

TEST(Pointerformer, HashedWeightsGiveTheToursOfTheOriginalFor30Nodes) {
  const auto policy = make_policy(hashed_pointerformer());
  const auto points = hashed_points(30, 0);
  RecordedStages stages;
  const auto instance = policy->encode(points, {.observer = stages.observer()});
  expect_begins_with(stages.get("projection"), {0.5662511, -0.3734726, 0.1040845, -0.1570533}, 1e-6, "z");
  expect_begins_with(stages.get("block 0 y1"), {0.4718342, -0.1180719, 0.5765876, -0.5361531}, 2e-6, "y1");
  expect_begins_with(stages.get("block 0 y2"), {0.9536703, -0.6527061, -0.6458161, 0.3133815}, 2e-6, "y2");
  const auto& e = stages.get("block 5 y2");
  expect_begins_with(e, {-1.2912142, 1.3276975, -1.4787768, 1.2172592, 3.3571069, 1.9439709, 1.6089866, 0.1133155},
                     2e-5, "e");
  EXPECT_NEAR(std::accumulate(e.begin(), e.end(), 0.0), -190.51936, 1e-3);
  EXPECT_NEAR(std::pow(test::norm(e), 2), 15298.1788, 0.02);
  const Rollout rollout = greedy(*instance, {0}, stages.observer());
  std::vector<float> delta = stages.get("distances", 0);
  for (float& d : delta) d *= std::sqrt(2.0F);
  expect_begins_with(delta, {4.349407, 3.769566, 3.953202, 4.111232}, 5e-6, "delta", 1);
  EXPECT_EQ(rollout.order, (std::vector<NodeId>{0,  10, 5,  28, 6,  11, 8, 19, 27, 7, 12, 20, 14, 15, 24,
                                                25, 22, 26, 13, 21, 17, 3, 29, 23, 1, 18, 16, 9,  4,  2}));
  EXPECT_NEAR(closed_length(points, rollout.order), 5.9926028, 1e-5);
  EXPECT_NEAR(rollout.log_prob(), -4.500201, 5e-5);  // in exact arithmetic
  const Summary summary = all_starts(*policy, points);
  EXPECT_NEAR(summary.best, 4.9489870, 1e-5);
  EXPECT_EQ(summary.best_start, 19U);
  EXPECT_NEAR(summary.mean_length, 5.7967615, 1e-5);
  EXPECT_NEAR(summary.mean_log_prob, -5.98892, 2e-4);
  double best_of_copies = summary.best;
  for (std::size_t k = 1; k < kNumSymmetries; ++k) {
    best_of_copies = std::min(best_of_copies, all_starts(*policy, symmetric_copy(points, k)).best);
  }
  EXPECT_NEAR(best_of_copies, 4.8617506, 1e-5);
}

// Wrong networks give the numbers that the original gives with the same mistake: the tests above would see it.
TEST(Pointerformer, MistakesLeaveTheirFingerprints) {
  const auto points = hashed_points(30, 0);
  const auto expect = [&](const std::function<void(Checkpoint&)>& break_it, double length, double log_prob,
                          double best) {
    Checkpoint checkpoint = hashed_pointerformer();
    break_it(checkpoint);
    const auto policy = make_policy(checkpoint);
    const Rollout rollout = greedy(*policy->encode(points, {}), {0});
    EXPECT_NEAR(closed_length(points, rollout.order), length, 1e-5);
    EXPECT_NEAR(rollout.log_prob(), log_prob, 3e-4);
    EXPECT_NEAR(all_starts(*policy, points).best, best, 1e-5);
  };
  // No share of visited nodes in the query.
  expect([](Checkpoint& c) { std::fill_n(c.weights["decoder.W_visited.weight"].values.begin(), 128 * 128, 0.0F); },
         5.746439, -3.38383, 4.948987);
  // Clip 10.
  expect([](Checkpoint& c) { std::get<PointerformerConfig>(c.config).tanh_clip = 10; }, 5.992603, -19.17249, 4.948987);
  // Sum of the pointers instead of their mean.
  expect(
      [](Checkpoint& c) {
        for (float& v : c.weights["decoder.wq.weight"].values) v *= 8;
      },
      8.326368, -33.84001, 7.289224);
  // Scale sqrt(16) instead of sqrt(128).
  expect(
      [](Checkpoint& c) {
        for (float& v : c.weights["decoder.wq.weight"].values) v *= std::sqrt(8.0F);
      },
      6.991919, -15.41731, 6.180001);
  const auto in_projections = [](Checkpoint& c, const std::array<std::size_t, 3>& order) {
    for (auto& [name, tensor] : c.weights) {
      if (!name.ends_with("in_proj_weight")) continue;
      const std::vector<float> old = tensor.values;
      constexpr std::ptrdiff_t kPart = 128 * 128;
      for (std::size_t i = 0; i < 3; ++i) {
        std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(order[i]) * kPart, kPart,
                    tensor.values.begin() + static_cast<std::ptrdiff_t>(i) * kPart);
      }
    }
  };
  expect([&](Checkpoint& c) { in_projections(c, {1, 0, 2}); }, 6.182339, -8.98429, 5.152159);
  expect([&](Checkpoint& c) { in_projections(c, {2, 1, 0}); }, 6.202972, -1.70547, 5.508512);
}

TEST(Pointerformer, ScoringATourRepeatsItsRollOut) {
  const auto policy = make_policy(hashed_pointerformer());
  const auto instance = policy->encode(hashed_points(25, 1), {});
  RolloutOptions options;
  options.sample = true;
  options.temperature = 3;
  std::vector<NodeId> starts;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(seed);
    const Rollout sampled = instance->roll_out(options, rng);
    const Rollout scored = greedy(*instance, sampled.order);
    EXPECT_EQ(scored.order, sampled.order);
    EXPECT_EQ(scored.log_probs, sampled.log_probs);
    starts.push_back(sampled.order[0]);
  }
  std::sort(starts.begin(), starts.end());
  EXPECT_GT(std::unique(starts.begin(), starts.end()) - starts.begin(), 3);
}

// With rounded weights small instances are decoded by tables, unless somebody looks on.
TEST(Pointerformer, TablesGiveTheProbabilitiesOfQueries) {
  const auto policy = make_policy(hashed_pointerformer(), kernels::Precision::kBfloat16);
  for (const std::size_t num_nodes : {1U, 2U, 16U, 17U, 50U, 128U}) {
    const auto instance = policy->encode(policy->scaled(hashed_points(num_nodes, 4)), {});
    RolloutOptions options;
    options.sample = true;
    options.temperature = 2;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Rng rng(seed);
      const Rollout by_tables = instance->roll_out(options, rng);
      std::vector<NodeId> sorted = by_tables.order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < num_nodes; ++i) ASSERT_EQ(sorted[i], static_cast<NodeId>(i));
      RolloutOptions given;
      given.prefix = by_tables.order;
      std::size_t num_seen = 0;
      const Rollout by_queries =
          instance->roll_out(given, rng, [&](std::string_view, std::span<const float>, std::size_t) { ++num_seen; });
      EXPECT_EQ(num_seen, num_nodes - 1);
      ASSERT_EQ(by_queries.order, by_tables.order);
      for (std::size_t i = 0; i < num_nodes; ++i) {
        ASSERT_NEAR(by_tables.log_probs[i], by_queries.log_probs[i], 2e-3) << num_nodes << " nodes, step " << i;
      }
      EXPECT_EQ(greedy(*instance, by_tables.order).log_probs, by_tables.log_probs);
    }
  }
}

TEST(Pointerformer, DoesNotDependOnTheNumberOfThreads) {
  const auto policy = make_policy(hashed_pointerformer());
  const auto points = hashed_points(150, 2);
  const Rollout one = greedy(*policy->encode(points, {.threads = 1}));
  const Rollout three = greedy(*policy->encode(points, {.threads = 3}));
  EXPECT_EQ(three.order, one.order);
  EXPECT_EQ(three.log_probs, one.log_probs);
}

TEST(Pointerformer, CornersOfTheSquareAreRefusedAndScaledCoordinatesAvoidThem) {
  const auto policy = make_policy(hashed_pointerformer());
  std::vector<Point> points = {{0, 0}, {1, 1}, {0.5, 0.25}};
  EXPECT_THROW((void)policy->encode(points, {}), InputError);
  EXPECT_EQ(greedy(*policy->encode(policy->scaled(points), {})).order.size(), 3U);
  points[0] = {0, 0.5};  // on a side: an angle of 90 degrees
  points[1] = {0.5, 1};
  EXPECT_EQ(greedy(*policy->encode(points, {})).order.size(), 3U);
  EXPECT_EQ(greedy(*policy->encode({points.data(), 1}, {})).order.size(), 1U);
}

}  // namespace
}  // namespace puretour
