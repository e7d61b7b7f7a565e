// SPDX-License-Identifier: MIT
#include "puretour/nn/attention_model.h"

#include "infer/naive_attention_model.h"
#include "nn/network_checks.h"

namespace puretour::nn {
namespace {

using test::expect_values;
using test::gradient_norm;
using test::lattice_points;
using test::number;
using test::parameter;
using test::points_tensor;

#define SKIP_WITHOUT_PUBLISHED_WEIGHTS() \
  if (!test::peer_files_are_there()) GTEST_SKIP() << "no published weights beside the checkout"

Checkpoint published(const std::string& name) {
  const std::string path = test::peer_file(name + ".pt");
  return import_kool(read_file(path), path);
}

std::shared_ptr<Network> published_network(const std::string& name, torch::Dtype dtype) {
  auto network = make_network(published(name));
  network->to(dtype);
  network->eval();
  return network;
}

TEST(AttentionModelWithGradients, GivesTheGoldenToursInDoublePrecision) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  const auto network = published_network("am_tsp100", torch::kFloat64);
  const auto points = points_tensor({lattice_points(20)}, torch::kFloat64);
  const auto batch = network->roll_out(points, {});
  EXPECT_EQ(test::order_of(batch.tours, 0),
            (std::vector<NodeId>{14, 6, 19, 11, 3, 7, 15, 2, 10, 18, 5, 13, 0, 8, 16, 4, 12, 17, 9, 1}));
  EXPECT_NEAR(number(batch.log_probs.sum()), -5.6164465634, 1e-9);
  EXPECT_NEAR(number(tour_lengths(points, batch.tours)), 2.9010940502, 1e-9);
  expect_values(batch.log_probs, {-0.0758676, -0.0000209, -0.0000002, -1.7777721, -0.2279808, -0.3011056, -0.0014760,
                                  -1.7615212, -0.0002033, -0.0002124, -0.0166358, -0.3876233, -0.2215327, -0.0286520,
                                  -0.0103945, -0.0799695, -0.7253536, -0.0001145, -0.0000105, 0},
                6e-8, "chosen");
  const auto with50 = published_network("am_tsp50", torch::kFloat64);
  EXPECT_NEAR(number(with50->roll_out(points, {}).log_probs.sum()), -0.1864787397, 1e-9);
  const auto hundred = points_tensor({lattice_points(100)}, torch::kFloat64);
  const auto long_batch = network->roll_out(hundred, {});
  EXPECT_NEAR(number(long_batch.log_probs.sum()), -1.3517805355, 1e-9);
  EXPECT_NEAR(number(tour_lengths(hundred, long_batch.tours)), 8.6421717301, 1e-9);
  const auto other = with50->roll_out(hundred, {});
  EXPECT_NEAR(number(other.log_probs.sum()), -6.0388293654, 1e-9);
  EXPECT_NEAR(number(tour_lengths(hundred, other.tours)), 8.6326815171, 1e-9);
}

struct GoldenStep {
  Tensor loss;
  Tensor costs;
  TourBatch batch;
};

// Greedy tours in training mode, baseline 3: the roll-out has no graph, `score` has.
GoldenStep golden_step(Network& network, const Tensor& points) {
  GoldenStep step;
  step.batch = network.roll_out(points, {});
  step.costs = tour_lengths(points, step.batch.tours);
  step.loss = ((step.costs - 3.0) * network.score(points, step.batch.tours).sum(-1)).mean();
  return step;
}

TEST(AttentionModelWithGradients, TrainsLikeTheOriginal) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  const auto network = published_network("am_tsp100", torch::kFloat64);
  network->train();
  std::vector<std::vector<Point>> instances;
  for (std::size_t b = 0; b < 4; ++b) instances.push_back(lattice_points(20, 20 * b + 1));
  const auto points = points_tensor(instances, torch::kFloat64);
  torch::optim::Adam adam(network->parameters(), torch::optim::AdamOptions(1e-4));
  const Tensor placeholder = parameter(*network, "W_placeholder");
  const Tensor out = parameter(*network, "project_out.weight");
  const Tensor mean = network->named_buffers()["embedder.layers.0.1.normalizer.running_mean"];
  const Tensor variance = network->named_buffers()["embedder.layers.0.1.normalizer.running_var"];
  expect_values(mean, {0.63239509, -0.34700975, 0.22156227}, 1e-7, "mean before");
  expect_values(variance, {0.018913092, 0.025489397, 0.065674834}, 1e-8, "variance before");
  expect_values(placeholder, {-0.63546777, -0.23854293, 0.94200295}, 1e-7, "placeholder before");
  expect_values(out, {-0.03977742, -0.10018003, -0.011170677}, 1e-7, "project_out before");

  GoldenStep step = golden_step(*network, points);
  EXPECT_EQ(test::order_of(step.batch.tours, 0),
            (std::vector<NodeId>{14, 6, 19, 11, 3, 13, 5, 18, 10, 15, 7, 2, 16, 8, 0, 12, 4, 17, 9, 1}));
  EXPECT_EQ(test::order_of(step.batch.tours, 1),
            (std::vector<NodeId>{10, 2, 15, 7, 17, 9, 1, 14, 6, 19, 11, 3, 0, 8, 16, 4, 12, 13, 5, 18}));
  EXPECT_EQ(test::order_of(step.batch.tours, 2),
            (std::vector<NodeId>{19, 11, 3, 16, 18, 10, 2, 15, 7, 12, 14, 1, 9, 17, 4, 5, 13, 0, 8, 6}));
  EXPECT_EQ(test::order_of(step.batch.tours, 3),
            (std::vector<NodeId>{7, 12, 4, 16, 8, 0, 3, 11, 19, 15, 2, 10, 18, 5, 13, 1, 9, 17, 14, 6}));
  expect_values(step.costs, {3.8235379, 3.7770522, 4.1328466, 3.7982494}, 1e-7, "costs");
  expect_values(step.batch.log_probs.sum(-1), {-7.6254844, -2.5085752, -12.949366, -14.631887}, 1e-6, "ll");
  EXPECT_NEAR(number(step.loss), -8.64467693, 1e-7);
  expect_values(mean, {0.63093652, -0.35045536, 0.22029091}, 1e-7, "mean after");
  expect_values(variance, {0.018856705, 0.025419726, 0.065780827}, 1e-8, "variance after");

  adam.zero_grad();
  step.loss.backward();
  EXPECT_NEAR(gradient_norm(*network, "W_placeholder"), 0.18042054, 1e-7);
  EXPECT_NEAR(gradient_norm(*network, "init_embed.weight"), 1.6257441, 1e-6);
  EXPECT_NEAR(gradient_norm(*network, "init_embed.bias"), 0.3940046, 1e-6);
  EXPECT_NEAR(gradient_norm(*network, "embedder.layers.0.0.module.W_query"), 1.2235087, 1e-6);
  EXPECT_NEAR(gradient_norm(*network, "embedder.layers.0.0.module.W_out"), 4.8486386, 1e-6);
  EXPECT_NEAR(gradient_norm(*network, "embedder.layers.0.1.normalizer.weight"), 1.1272183, 1e-6);
  EXPECT_NEAR(gradient_norm(*network, "project_node_embeddings.weight"), 68.309972, 1e-5);
  EXPECT_NEAR(gradient_norm(*network, "project_fixed_context.weight"), 4.0047815, 1e-6);
  EXPECT_NEAR(gradient_norm(*network, "project_step_context.weight"), 30.335214, 1e-5);
  EXPECT_NEAR(gradient_norm(*network, "project_out.weight"), 38.91016, 1e-5);
  EXPECT_NEAR(gradient_norm(*network, "embedder.layers.2.2.module.2.bias"), 0, 1e-10);
  expect_values(placeholder.grad(), {-0.002058632, -0.0047587327, -0.0091354965}, 1e-9, "gradient");
  expect_values(parameter(*network, "init_embed.weight").grad(), {0.13372803, 0.067546106, -0.019465173}, 1e-8,
                "gradient");
  expect_values(out.grad(), {-0.0075765191, -0.47153664, -0.065833718}, 1e-8, "gradient");
  EXPECT_NEAR(torch::nn::utils::clip_grad_norm_(network->parameters(), 1.0), 138.841185, 1e-5);
  adam.step();

  step = golden_step(*network, points);
  expect_values(step.costs, {3.8235379, 3.7770522, 4.1328466, 4.0424748}, 1e-7, "costs 2");
  // The biases before a batch normalisation have zero gradients; Adam makes steps of their rounding noise.
  EXPECT_NEAR(number(step.loss), -13.3729271, 1e-4);
  adam.zero_grad();
  step.loss.backward();
  EXPECT_NEAR(torch::nn::utils::clip_grad_norm_(network->parameters(), 1.0), 149.097853, 1e-3);
  adam.step();
  expect_values(placeholder, {-0.63527628, -0.23835355, 0.94219513}, 1e-7, "placeholder after two steps");
  expect_values(out, {-0.039724542, -0.099979991, -0.011009884}, 1e-7, "project_out after two steps");
}

TEST(AttentionModelWithGradients, SinglePrecisionGivesTheLossAndGradientOfTheOriginal) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  const auto network = published_network("am_tsp100", torch::kFloat32);
  network->train();
  std::vector<std::vector<Point>> instances;
  for (std::size_t b = 0; b < 4; ++b) instances.push_back(lattice_points(20, 20 * b + 1));
  const GoldenStep step = golden_step(*network, points_tensor(instances));
  EXPECT_NEAR(number(step.loss), -8.6446686, 5e-5);
  step.loss.backward();
  EXPECT_NEAR(test::total_gradient_norm(*network), 138.84105, 2e-3);
}

TEST(AttentionModelWithGradients, GivesTheToursOfTheCpuCodeOnAThousandInstances) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  test::expect_same_tours(published("am_tsp50"), test::canonical_test_set(1000, 30), -1, 2e-4);
}

TEST(AttentionModelWithGradients, EqualsAPlainImplementationOfTheFormulas) {
  const Checkpoint checkpoint = test::moderate_checkpoint(AmConfig{12, 3, 2, 7, 8});
  const auto network = make_network(checkpoint);
  network->to(torch::kFloat64);
  network->eval();
  const auto points = lattice_points(6);
  const std::vector<NodeId> order = {2, 0, 5, 1, 4, 3};
  const auto tours = torch::tensor({2, 0, 5, 1, 4, 3}, torch::kInt64).view({1, 1, 6});
  const auto expected = test::naive_attention_model(checkpoint, points, order);
  const Tensor scored = network->score(points_tensor({points}, torch::kFloat64), tours);
  for (std::size_t t = 0; t < 6; ++t) {
    EXPECT_NEAR(number(scored[0][0][static_cast<std::int64_t>(t)]), expected[t][static_cast<std::size_t>(order[t])],
                1e-12);
  }
}

TEST(AttentionModelWithGradients, ScoreRepeatsTheRollOut) {
  const auto network = make_network(ModelConfig(AmConfig{32, 4, 2, 32, 10}));
  torch::manual_seed(1);
  network->initialise();
  test::expect_score_repeats_roll_out(*network, torch::rand({4, 15, 2}), 1e-5);
}

}  // namespace
}  // namespace puretour::nn
