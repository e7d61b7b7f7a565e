// INViT against numbers of the original program.
// SPDX-License-Identifier: MIT
#include "puretour/infer/invit.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "infer/golden.h"
#include "infer/invit_weights.h"
#include "puretour/base/error.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using test::closed_length;
using test::expect_begins_with;
using test::greedy;
using test::hashed_invit;
using test::invit_config;
using test::lattice_points;
using test::RecordedStages;
using test::sine_invit;
using test::split_mix_points;

void expect_rollout(const Policy& policy, const std::vector<Point>& points, NodeId start, double length,
                    double log_prob, const std::vector<NodeId>& beginning, double log_prob_tolerance) {
  const Rollout rollout = greedy(*policy.encode(points, {}), {start});
  EXPECT_EQ(
      std::vector<NodeId>(rollout.order.begin(), rollout.order.begin() + static_cast<std::ptrdiff_t>(beginning.size())),
      beginning);
  EXPECT_NO_THROW(Tour{rollout.order});
  EXPECT_NEAR(closed_length(points, rollout.order), length, 1e-5);
  EXPECT_NEAR(rollout.log_prob(), log_prob, log_prob_tolerance);
}

std::vector<double> softmax(const std::vector<float>& scores) {
  double sum = 0;
  std::vector<double> result;
  for (const float s : scores) sum += std::exp(static_cast<double>(s));
  for (const float s : scores) result.push_back(std::exp(static_cast<double>(s)) / sum);
  return result;
}

void expect_probabilities(const std::vector<float>& scores, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> p = softmax(scores);
  ASSERT_EQ(p.size(), expected.size());
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], expected[i], tolerance) << i;
}

TEST(Invit, SineWeightsWithOneStateViewGiveTheTourOfTheOriginal) {
  const Checkpoint checkpoint = sine_invit(invit_config({35}));
  EXPECT_NEAR(checkpoint.weights.at("WK_att_decoder.weight").values[2], 0.0985719, 1e-7);
  EXPECT_NEAR(checkpoint.weights.at("query_mlp.weight").values[1], 0.0512546, 1e-7);
  const auto policy = make_policy(checkpoint);
  const auto points = lattice_points(60);
  RecordedStages stages;
  const Rollout rollout = greedy(*policy->encode(points, {}), {0}, stages.observer());
  // Distributions are almost uniform, margins go down to 3e-8: another order of summation might change the tour. The
  // kernels give the same bits everywhere.
  const std::vector<NodeId> tour = {0,  53, 4,  33, 12, 46, 25, 17, 59, 38, 9,  51, 30, 1,  43, 22, 14, 56, 35, 6,
                                    27, 58, 45, 48, 40, 32, 24, 16, 37, 8,  50, 19, 42, 29, 21, 13, 55, 11, 34, 3,
                                    5,  47, 26, 18, 39, 44, 52, 7,  15, 23, 54, 57, 31, 2,  41, 10, 20, 49, 28, 36};
  EXPECT_EQ(rollout.order, tour);
  EXPECT_NEAR(closed_length(points, rollout.order), 15.071201, 1e-5);
  EXPECT_NEAR(rollout.log_prob(), -147.039368, 1e-4);
  const auto& action = stages.get("action tokens");
  expect_begins_with(action, {0.357044, 0.559117}, 2e-6, "node 8");
  expect_begins_with(action, {0.462617, 0.485194}, 2e-6, "last", 30);
  const auto& state = stages.get("state 0 tokens");
  expect_begins_with(state, {0.523607, 0.620796}, 2e-6, "node 8");
  expect_begins_with(state, {0.585410, 0.577520, 0.585410, 0.577520}, 2e-6, "last, first", 30);
  expect_begins_with(stages.get("state 0 tokens", 40), {0, 0.776668}, 2e-6, "clamped first", 32);
  expect_probabilities(stages.get("scores"),
                       {.0666696, .0666655, .0666727, .0666616, .0666697, .0666581, .0666744, .0666759, .0666625,
                        .0666548, .0666795, .0666615, .0666793, .0666543, .0666607},
                       2e-7);
}

TEST(Invit, SineWeightsWithTwoStateViewsGiveTheTourOfTheOriginal) {
  const auto policy = make_policy(sine_invit(invit_config({35, 50})));
  const auto points = lattice_points(60);
  expect_rollout(*policy, points, 0, 22.222258, -143.160716,
                 {0,  5,  10, 52, 3,  56, 11, 23, 7,  15, 31, 19, 39, 27, 47, 35, 55, 43, 6,  51,
                  14, 26, 2,  18, 34, 22, 59, 42, 30, 50, 38, 58, 46, 1,  13, 54, 21, 9,  29, 17,
                  37, 25, 49, 41, 45, 33, 57, 53, 8,  4,  20, 12, 16, 28, 24, 36, 32, 44, 40, 48},
                 1e-4);
  RecordedStages stages;
  (void)greedy(*policy->encode(points, {}), {0}, stages.observer());
  expect_probabilities(stages.get("scores"),
                       {.065901, .066907, .065168, .067865, .065907, .068758, .064854, .064417, .067738, .069619,
                        .063769, .067755, .063648, .069449, .068246},
                       2e-6);
}

TEST(Invit, HashedWeightsWithOneStateViewGiveTheTourOfTheOriginal) {
  const Checkpoint checkpoint = hashed_invit(invit_config({35}));
  EXPECT_NEAR(checkpoint.weights.at("WK_att_decoder.weight").values[1], -0.0809667, 1e-7);
  EXPECT_NEAR(checkpoint.weights.at("decoder.decoder_layers.0.BN_att.weight").values[1], 1.0627167, 1e-7);
  const auto policy = make_policy(checkpoint);
  const auto points = split_mix_points(60);
  EXPECT_NEAR(points[0].x, 0.8676855, 1e-7);
  RecordedStages stages;
  const auto instance = policy->encode(points, {});
  const Rollout rollout = greedy(*instance, {0}, stages.observer());
  EXPECT_EQ(rollout.order,
            (std::vector<NodeId>{0,  32, 23, 1,  34, 8,  53, 44, 3,  35, 54, 7,  51, 19, 9,  45, 57, 55, 37, 13,
                                 47, 30, 12, 59, 10, 42, 4,  43, 52, 33, 58, 39, 29, 56, 46, 2,  26, 24, 17, 22,
                                 5,  49, 14, 31, 25, 41, 27, 6,  11, 21, 50, 20, 15, 38, 36, 40, 18, 28, 48, 16}));
  EXPECT_NEAR(closed_length(points, rollout.order), 18.646505, 1e-5);
  EXPECT_NEAR(rollout.log_prob(), -93.628976, 2e-4);
  const std::map<std::size_t, double> log_probs = {{1, -1.789508},  {2, -1.760365},  {3, -2.064991}, {4, -1.512190},
                                                   {57, -0.079878}, {58, -0.504084}, {59, 0}};
  for (const auto& [t, expected] : log_probs) EXPECT_NEAR(rollout.log_probs[t], expected, 2e-5) << t;

  const auto& action = stages.get("action tokens");
  expect_begins_with(action, {0.493808, 0.518457, 0.555494, 0.334150}, 2e-6, "nodes 11 and 2");
  expect_begins_with(action, {0.555168, 0.525699}, 2e-6, "last", 30);
  const auto& state = stages.get("state 0 tokens");
  expect_begins_with(state, {0.573507, 0.574158}, 2e-6, "node 11");
  expect_begins_with(state, {0.619715, 0.579611, 0.619715, 0.579611}, 2e-6, "last, first", 30);
  expect_begins_with(stages.get("action layer 0 u"), {0.303785, -0.919752, -0.100338, 0.879938}, 1e-5, "u");
  expect_begins_with(stages.get("action layer 0 h1"), {0.448227, -0.794500, 0.045707, 0.888777}, 1e-5, "h1");
  expect_begins_with(stages.get("action out"), {-1.234836, -0.857939, 1.756100, 1.277614}, 1e-5, "action, node 11");
  expect_begins_with(stages.get("action out"), {0.025318, -2.069744, 0.861603, 0.308130}, 1e-5, "last", 15 * 128);
  expect_begins_with(stages.get("state 0 out"), {-1.208018, 1.093481, 0.408523, -0.260645}, 1e-5, "last", 15 * 128);
  expect_begins_with(stages.get("state 0 out"), {0.760976, 0.003455, -0.658238, -1.536797}, 1e-5, "first", 16 * 128);
  expect_begins_with(stages.get("query"), {1.664567, -0.651919, -1.131252, 1.743869}, 1e-5, "query");
  expect_begins_with(stages.get("decoder 0"), {0.893741, 0.248325, -1.140951, 0.700707}, 1e-5, "decoder 0");
  expect_begins_with(stages.get("decoder 1"), {0.086253, 0.985833, -2.143159, 0.331804}, 1e-5, "decoder 1");
  expect_begins_with(stages.get("final query"), {0.555778, 1.288812, -2.220614, -0.266194}, 1e-5, "final query");
  expect_probabilities(stages.get("scores"),
                       {.026810, .027838, .029188, .027252, .045360, .029985, .028182, .103751, .031053, .070335,
                        .142040, .079482, .167042, .033861, .157821},
                       2e-6);
  expect_begins_with(stages.get("state 0 tokens", 3), {1, 0.477856}, 2e-6, "clamped first", 32);
  expect_begins_with(stages.get("state 0 tokens", 30), {0.160136, 0.983387, 0.839093, 0.533523}, 2e-6, "t = 30", 30);

  expect_rollout(*policy, points, 7, 18.194963, -90.1485, {7, 44, 53, 3, 35, 54, 9, 51}, 1e-3);
  expect_rollout(*policy, points, 31, 15.913786, -86.9826, {31, 51, 3, 44, 53, 54, 9, 35}, 1e-3);
  expect_rollout(*policy, split_mix_points(100), 0, 21.166061, -147.3049, {0, 67, 8, 73, 92, 44, 53, 90}, 1e-3);
}

TEST(Invit, HashedWeightsWithTwoStateViewsGiveTheTourOfTheOriginal) {
  const auto policy = make_policy(hashed_invit(invit_config({35, 50})));
  const auto points = split_mix_points(60);
  expect_rollout(*policy, points, 0, 19.509514, -46.102257,
                 {0,  32, 29, 30, 12, 47, 59, 13, 43, 33, 4,  39, 58, 10, 24, 22, 49, 1,  41, 17,
                  27, 26, 14, 56, 5,  42, 16, 21, 18, 15, 48, 34, 6,  23, 36, 28, 20, 55, 31, 25,
                  40, 38, 11, 46, 2,  8,  50, 37, 9,  52, 54, 45, 7,  19, 35, 57, 53, 44, 3,  51},
                 2e-4);
  expect_rollout(*policy, points, 7, 17.747063, -45.0990, {7, 23, 1, 33, 30, 47, 43, 13}, 1e-3);
  expect_rollout(*policy, points, 31, 17.536087, -53.7265, {31, 4, 47, 30, 12, 59, 13, 43}, 1e-3);
  expect_rollout(*policy, split_mix_points(100), 0, 21.141952, -77.7001, {0, 36, 21, 24, 59, 30, 12, 87}, 1e-3);
  RecordedStages stages;
  const Rollout rollout = greedy(*policy->encode(points, {}), {0}, stages.observer());
  expect_begins_with(stages.get("query"), {1.659770, -0.880174, -0.070667, 1.428385}, 1e-5, "query");
  expect_probabilities(stages.get("scores"),
                       {.000119, .000005, .001443, .000034, .007724, .002841, .000029, .104703, .004902, .039679,
                        .198906, .120646, .270982, .000001, .247985},
                       3e-6);
  const std::vector<double> log_probs = {0, -1.305703, -1.153079, -0.442237, -0.889680};
  for (std::size_t t = 0; t < log_probs.size(); ++t) EXPECT_NEAR(rollout.log_probs[t], log_probs[t], 2e-5) << t;
}

TEST(Invit, VariantsGiveTheToursOfTheOriginal) {
  const auto points = split_mix_points(60);
  InvitConfig aggregate = invit_config({35});
  aggregate.aggregate_whole_graph = true;
  expect_rollout(*make_policy(hashed_invit(aggregate)), points, 0, 17.634359, -68.1156, {0, 34, 17, 4, 43, 52, 51, 3},
                 1e-3);
  InvitConfig masked = invit_config({35});
  masked.local_mask = true;
  expect_rollout(*make_policy(hashed_invit(masked)), points, 0, 16.904251, -90.6622,
                 {0, 32, 23, 1, 34, 8, 53, 44, 3, 35, 54, 7, 51, 19, 9, 45, 57, 55, 37, 50, 13, 47, 30, 12, 33, 4, 43},
                 1e-3);
  InvitConfig deep = invit_config({35, 50});
  deep.num_action_layers = 4;
  expect_rollout(*make_policy(hashed_invit(deep)), points, 0, 13.930402, -93.5651, {0, 2, 54, 44, 53, 3, 9, 8}, 1e-3);
}

// Wrong networks give the numbers that the original gives with the same mistake: the tests above would see it.
TEST(Invit, MistakesLeaveTheirFingerprints) {
  const auto points = split_mix_points(60);
  const auto log_prob = [&](const std::function<void(Checkpoint&)>& break_it) {
    Checkpoint checkpoint = hashed_invit(invit_config({35}));
    break_it(checkpoint);
    const auto policy = make_policy(checkpoint);
    return greedy(*policy->encode(points, {}), {0}).log_prob();
  };
  // Encoder scale sqrt(16): the same as queries that are sqrt(8) times as large.
  EXPECT_NEAR(log_prob([](Checkpoint& c) {
                for (auto& [name, tensor] : c.weights) {
                  if (!name.ends_with("w_qs.weight")) continue;
                  for (float& v : tensor.values) v *= std::sqrt(8.0F);
                }
              }),
              -90.93, 6e-3);
  // Final scale sqrt(16).
  EXPECT_NEAR(log_prob([](Checkpoint& c) {
                for (const char* name : {"decoder.Wq_final.weight", "decoder.Wq_final.bias"}) {
                  for (float& v : c.weights[name].values) v *= std::sqrt(8.0F);
                }
              }),
              -119.63, 6e-3);
  // Query order first, last instead of last, first.
  EXPECT_NEAR(log_prob([](Checkpoint& c) {
                auto& values = c.weights["query_mlp.weight"].values;
                for (std::ptrdiff_t row = 0; row < 128; ++row) {
                  std::swap_ranges(values.begin() + row * 384 + 128, values.begin() + row * 384 + 256,
                                   values.begin() + row * 384 + 256);
                }
              }),
              -78.50, 6e-3);
}

TEST(Invit, DependsNeitherOnPlaceNorOnSize) {
  const auto policy = make_policy(hashed_invit(invit_config({35})));
  const auto points = split_mix_points(80);
  std::vector<Point> moved;
  for (const Point p : points) moved.push_back({4 * p.x + 8, 4 * p.y - 16});
  const Rollout before = greedy(*policy->encode(points, {}));
  const Rollout after = greedy(*policy->encode(moved, {}));
  EXPECT_EQ(after.order, before.order);
  EXPECT_NEAR(after.log_prob(), before.log_prob(), 1e-2);
}

TEST(Invit, ScoringATourRepeatsItsRollOut) {
  const auto policy = make_policy(hashed_invit(invit_config({20, 35})));
  const auto instance = policy->encode(split_mix_points(40), {});
  RolloutOptions options;
  options.sample = true;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Rng rng(seed);
    const Rollout sampled = instance->roll_out(options, rng);
    EXPECT_NO_THROW(Tour{sampled.order});
    const Rollout scored = greedy(*instance, sampled.order);
    EXPECT_EQ(scored.order, sampled.order);
    EXPECT_EQ(scored.log_probs, sampled.log_probs);
  }
}

// Tours of different lengths, with and without prefix, that are built side by side.
TEST(Invit, ToursBuiltTogetherAreThoseBuiltAlone) {
  const Checkpoint checkpoint = hashed_invit(invit_config({20, 35}));
  for (const auto precision : {kernels::Precision::kFloat, kernels::Precision::kBfloat16}) {
    const auto policy = make_policy(checkpoint, precision);
    ASSERT_GT(policy->rollouts_together(), 1U);
    const std::vector<std::size_t> sizes = {1, 2, 5, 17, 40, 60, 3, 25, 33};
    const std::vector<NodeId> jump = {0, 39, 1};  // node 39 may be out of sight
    std::vector<std::unique_ptr<EncodedInstance>> instances;
    std::vector<RolloutTask> tasks;
    for (const std::size_t n : sizes) {
      instances.push_back(policy->encode(split_mix_points(n), {}));
      for (const bool sample : {false, true}) {
        RolloutTask task;
        task.instance = instances.back().get();
        task.options.sample = sample;
        if (n >= 40) task.options.prefix = jump;
        task.rng = Rng(n);
        tasks.push_back(task);
      }
    }
    std::vector<Rollout> alone;
    for (const RolloutTask& task : tasks) {
      Rng rng = task.rng;
      alone.push_back(task.instance->roll_out(task.options, rng));
    }
    for (const int threads : {1, 3}) {
      std::vector<RolloutTask> again = tasks;
      const std::vector<Rollout> together = roll_out_all(*policy, again, threads);
      ASSERT_EQ(together.size(), alone.size());
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(together[i].order, alone[i].order) << i;
        EXPECT_EQ(together[i].log_probs, alone[i].log_probs) << i;
      }
    }
    EXPECT_EQ(policy->roll_out_together(tasks).back().order, alone.back().order);
    EXPECT_TRUE(roll_out_all(*policy, {}, 2).empty());
  }
}

TEST(Invit, NodesOutsideTheActionViewHaveNoProbability) {
  const auto policy = make_policy(hashed_invit(invit_config({35})));
  std::vector<Point> line;
  for (int i = 0; i < 40; ++i) line.push_back({i / 40.0, 0});
  const Rollout rollout = greedy(*policy->encode(line, {}), {0, 39});
  EXPECT_EQ(rollout.order[1], 39);
  EXPECT_EQ(rollout.log_probs[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(rollout.order.size(), 40U);
}

TEST(Invit, EqualPointsAndTinyInstancesWork) {
  const auto policy = make_policy(hashed_invit(invit_config({35})));
  for (std::size_t n = 1; n <= 20; ++n) {
    const Rollout same = greedy(*policy->encode(std::vector<Point>(n, {0.25, 0.5}), {}));
    EXPECT_NO_THROW(Tour{same.order});
    EXPECT_EQ(same.order.size(), n);
    EXPECT_TRUE(std::isfinite(same.log_prob()));
    EXPECT_EQ(greedy(*policy->encode(lattice_points(n), {})).order.size(), n);
  }
  EXPECT_THROW((void)policy->encode({}, {}), InputError);
}

}  // namespace
}  // namespace puretour
