// SPDX-License-Identifier: MIT
#include "puretour/nn/pointerformer.h"

#include "infer/pointerformer_weights.h"
#include "nn/network_checks.h"

namespace puretour::nn {
namespace {

using test::expect_values;
using test::gradient_norm;
using test::hashed_pointerformer;
using test::hashed_points;
using test::number;
using test::parameter;
using test::points_tensor;

// Greedy tours from all nodes at once.
TourBatch from_all_starts(Network& network, const Tensor& points) {
  RolloutRequest request;
  request.num_tours = points.size(1);
  request.starts = torch::arange(points.size(1)).unsqueeze(0).expand({points.size(0), -1});
  return network.roll_out(points, request);
}

TEST(PointerformerWithGradients, GivesTheGoldenTours) {
  struct Case {
    Checkpoint checkpoint;
    std::vector<Point> points;
    double length;
    double log_prob;
    double tolerance;
    double best;
    double mean_length;
    double mean_log_prob;
  };
  const std::vector<Case> cases = {
      {test::sine_pointerformer(), test::lattice_points(20), 3.1263356, -0.4157516, 2e-6, 2.8999104, 3.0517471,
       -0.9776415},
      {hashed_pointerformer(), hashed_points(20, 0), 5.0444078, -1.21292, 5e-5, 4.6835032, 5.1807342, -4.73358},
      {hashed_pointerformer(), hashed_points(30, 0), 5.9926028, -4.500201, 5e-5, 4.9489870, 5.7967615, -5.98892}};
  for (const Case& c : cases) {
    const auto network = make_network(c.checkpoint);
    network->eval();
    const Tensor points = points_tensor({c.points});
    const TourBatch batch = from_all_starts(*network, points);
    const Tensor lengths = tour_lengths(points, batch.tours);
    const Tensor log_probs = batch.log_probs.sum(-1);
    EXPECT_NEAR(number(lengths[0][0]), c.length, 1e-5);
    EXPECT_NEAR(number(log_probs[0][0]), c.log_prob, c.tolerance);
    EXPECT_NEAR(number(lengths.min()), c.best, 1e-5);
    EXPECT_NEAR(number(lengths.mean()), c.mean_length, 1e-5);
    EXPECT_NEAR(number(log_probs.mean()), c.mean_log_prob, 2e-4);
  }
}

// Trajectory g visits (g + S_g t) mod 20.
Tensor forced_tours() {
  const std::vector<std::int64_t> strides = {1, 3, 7, 9, 11, 13, 17, 19};
  std::vector<std::int64_t> values;
  for (std::int64_t g = 0; g < 20; ++g) {
    for (std::int64_t t = 0; t < 20; ++t) values.push_back((g + strides[static_cast<std::size_t>(g % 8)] * t) % 20);
  }
  return torch::tensor(values, torch::kInt64).view({1, 20, 20}).expand({2, -1, -1}).contiguous();
}

struct ForcedStep {
  Tensor log_probs;
  Tensor advantage;
  Tensor loss;
};

ForcedStep forced_step(Network& network, const Tensor& points, const Tensor& weights) {
  const Tensor tours = forced_tours();
  const Tensor reward = -tour_lengths(points, tours);
  ForcedStep step;
  step.advantage = (reward - reward.mean(1, true)) / (reward.std(1, /*unbiased=*/false, true) + 1e-8);
  step.log_probs = network.score(points, tours);
  step.loss = -(step.advantage * (step.log_probs * weights).sum(-1)).mean();
  return step;
}

Tensor unit_weights() {
  return torch::ones({20});
}

TEST(PointerformerWithGradients, TrainsLikeTheOriginal) {
  const auto network = make_network(hashed_pointerformer());
  network->train();
  const Tensor points = points_tensor({hashed_points(20, 0), hashed_points(20, 1)});
  EXPECT_NEAR(number(points[1][0][0]), 0.2277315, 1e-6);
  const Tensor lengths = tour_lengths(points, forced_tours());
  expect_values(lengths[0], {10.897818, 10.252052, 11.891929, 11.715510}, 1e-5, "lengths");
  expect_values(lengths[1], {10.099024, 7.655224, 9.057182, 9.595917}, 1e-5, "lengths");
  expect_values(lengths.std(1, /*unbiased=*/false), {0.6584037, 0.9128500}, 1e-6, "deviation");

  const Tensor e = network->encode(points, Statistics::kKeep).at(network->embedding_part().value());
  expect_values(e[0][0], {-2.035767, -0.134734, 0.149593, -3.471725}, 5e-5, "embedding");
  ForcedStep step = forced_step(*network, points, unit_weights());
  expect_values(step.advantage[0], {0.4427521, 1.4235566, -1.0671287, -0.7991801}, 1e-5, "advantage");
  expect_values(step.advantage[1], {-1.0923893, 1.5847207, 0.0489170, -0.5412505}, 1e-5, "advantage");
  const Tensor sums = step.log_probs.sum(-1);
  EXPECT_NEAR(number(sums[0][0]), -189.83078, 2e-3);
  EXPECT_NEAR(number(sums[0][1]), -210.52821, 2e-3);
  EXPECT_NEAR(number(sums[1][0]), -229.92163, 2e-3);
  expect_values(step.log_probs[0][0],
                {0, -12.955991, -14.582047, -13.092405, -18.420620, -17.899145, -1.401821, -5.750487, -18.420681}, 5e-4,
                "log-probs");
  EXPECT_NEAR(number(step.loss), -6.818259, 1e-4);
  step.loss.backward();
  EXPECT_NEAR(test::total_gradient_norm(*network) / 422.3506, 1, 2e-4);
  const std::map<std::string, double> norms = {
      {"encoder.init_projection_layer.weight", 142.7069},
      {"encoder.sequence.reversible_blocks.0.f_block.mha.in_proj_weight", 171.6346},
      {"encoder.sequence.reversible_blocks.0.f_block.mha.out_proj.weight", 118.9749},
      {"encoder.sequence.reversible_blocks.0.g_block.feed_forward.weight", 105.8776},
      {"encoder.sequence.reversible_blocks.0.g_block.output_dense.weight", 194.0009},
      {"encoder.sequence.reversible_blocks.5.f_block.mha.in_proj_weight", 18.9633},
      {"encoder.sequence.reversible_blocks.5.g_block.output_dense.weight", 55.1497},
      {"decoder.Wq_graph.weight", 19.0059},
      {"decoder.Wq_first.weight", 30.7347},
      {"decoder.Wq_last.weight", 26.0763},
      {"decoder.wq.weight", 43.2590},
      {"decoder.W_visited.weight", 9.9787},
      {"decoder.Wk.weight", 46.6428}};
  for (const auto& [name, norm] : norms) EXPECT_NEAR(gradient_norm(*network, name) / norm, 1, 3e-4) << name;
  expect_values(parameter(*network, "encoder.init_projection_layer.weight").grad(), {6.65966, -1.33835}, 3e-3,
                "gradient");
  expect_values(parameter(*network, "decoder.wq.weight").grad(), {0.0726666, -0.0239170}, 1e-4, "gradient");
  expect_values(parameter(*network, "decoder.W_visited.weight").grad(), {-0.1201941, -0.0523873}, 1e-4, "gradient");
  const auto buffers = network->named_buffers();
  const std::string block0 = "encoder.sequence.reversible_blocks.0.f_block.mixing_layer_norm.";
  expect_values(buffers[block0 + "running_mean"], {0.0123141, -0.0663712, -0.0459975}, 1e-6, "mean");
  expect_values(buffers[block0 + "running_var"], {1.0252476, 1.1017106, 1.1171345}, 1e-6, "variance");
  expect_values(buffers["encoder.sequence.reversible_blocks.5.g_block.output_layer_norm.running_mean"],
                {0.1421846, -0.1215322, -0.0302912}, 2e-5, "mean");

  torch::optim::Adam adam(network->parameters(), torch::optim::AdamOptions(1e-4).weight_decay(1e-6));
  adam.step();
  step = forced_step(*network, points, unit_weights());
  EXPECT_NEAR(number(step.loss), -17.93403, 2e-2);
  adam.zero_grad();
  step.loss.backward();
  adam.step();
  EXPECT_NEAR(number(forced_step(*network, points, unit_weights()).loss), -28.4467, 5e-2);
}

TEST(PointerformerWithGradients, WeightedStepsGiveTheLossOfTheOriginal) {
  const auto network = make_network(hashed_pointerformer());
  network->train();
  const Tensor points = points_tensor({hashed_points(20, 0), hashed_points(20, 1)});
  // W_t = 1 + 0.1 (t - 1) for t = 1 .. 19; the start has no log-probability.
  const Tensor weights = 1 + 0.1 * (torch::arange(20) - 1);
  const ForcedStep step = forced_step(*network, points, weights);
  EXPECT_NEAR(number(step.loss), -14.627965, 2e-4);
  step.loss.backward();
  EXPECT_NEAR(test::total_gradient_norm(*network) / 768.523, 1, 3e-4);
  EXPECT_NEAR(gradient_norm(*network, "decoder.wq.weight") / 82.8993, 1, 3e-4);
  EXPECT_NEAR(gradient_norm(*network, "encoder.init_projection_layer.weight") / 249.212, 1, 3e-4);
}

TEST(PointerformerWithGradients, GivesTheToursOfTheCpuCodeOnAThousandInstances) {
  test::expect_same_tours(test::sine_pointerformer(), test::canonical_test_set(1000, 20), 0, 2e-3);
}

TEST(PointerformerWithGradients, ScoreRepeatsTheRollOut) {
  const auto network = make_network(hashed_pointerformer());
  test::expect_score_repeats_roll_out(*network, points_tensor({hashed_points(15, 0), hashed_points(15, 1)}), 2e-3);
}

}  // namespace
}  // namespace puretour::nn
