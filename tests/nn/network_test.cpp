// What all networks have in common.
// SPDX-License-Identifier: MIT
#include "puretour/nn/network.h"

#include "nn/network_checks.h"
#include "puretour/base/error.h"
#include "puretour/nn/device.h"

namespace puretour::nn {
namespace {

using test::expect_values;
using test::parameter;

TEST(Network, HasTheNamesAndShapesOfItsCheckpoint) {
  for (const ModelConfig& config : {ModelConfig(AmConfig{4, 2, 2, 3, 10}),
                                    ModelConfig(PointerformerConfig{4, 2, 1, 3, 50}), ModelConfig(InvitConfig{})}) {
    const Checkpoint checkpoint = test::tiny_checkpoint(config);
    const auto network = make_network(checkpoint);
    std::size_t count = 0;
    for (const auto& item : network->named_parameters()) {
      ASSERT_TRUE(checkpoint.weights.contains(item.key())) << item.key();
      ++count;
    }
    for (const auto& item : network->named_buffers()) {
      ASSERT_TRUE(checkpoint.weights.contains(item.key())) << item.key();
      ++count;
    }
    EXPECT_EQ(count, checkpoint.weights.size());
    EXPECT_EQ(network->weights(), checkpoint.weights);
    TensorMap wrong = checkpoint.weights;
    wrong.erase(wrong.begin());
    test::expect_model_error([&] { network->set_weights(wrong); }, "is missing");
  }
}

TEST(Network, StaysConnectedToItsWeightsInOtherTypes) {
  const auto network = make_network(test::tiny_checkpoint(AmConfig{4, 2, 1, 4, 10}));
  const TensorMap before = network->weights();
  network->to(torch::kFloat64);
  EXPECT_EQ(network->weights(), before);
  network->eval();
  const auto points = torch::rand({2, 5, 2}, torch::kFloat64);
  EXPECT_EQ(network->roll_out(points, {}).log_probs.dtype(), torch::kFloat64);
}

TEST(Network, DrawsTheInitialWeightsOfTheOriginals) {
  torch::manual_seed(1234);
  const auto am = make_network(ModelConfig(AmConfig{}));
  am->initialise();
  expect_values(parameter(*am, "W_placeholder"), {-0.94204152, -0.19620287, -0.48031163}, 1e-7, "W_placeholder");
  expect_values(parameter(*am, "init_embed.weight"), {0.38988498, -0.056021675, -0.59165484}, 1e-7, "init_embed");
  expect_values(parameter(*am, "embedder.layers.0.0.module.W_query"), {-0.11691365, -0.19143838, -0.21171248}, 1e-7,
                "W_query");
  expect_values(parameter(*am, "embedder.layers.0.0.module.W_out"), {0.086025186, -0.088209108, 0.062663712}, 1e-7,
                "W_out");
  expect_values(parameter(*am, "project_out.weight"), {0.029951921, 0.050655961, -0.019642569}, 1e-7, "project_out");
  expect_values(torch::rand({2}), {0.78490317, 0.95501757}, 1e-7, "what follows");

  torch::manual_seed(1234);
  const auto invit = make_network(ModelConfig(InvitConfig{}));
  invit->initialise();
  expect_values(parameter(*invit, "state_encoders.0.input_emb.weight"), {-0.6661239, -0.1387364}, 1e-6, "input_emb");
  EXPECT_NEAR(test::number(parameter(*invit, "query_mlp.bias")[127]), -0.0380222, 1e-6);
  double sum = 0;
  for (const auto& p : invit->parameters()) sum += test::number(p.to(torch::kFloat64).sum());
  EXPECT_NEAR(sum, 2102.4351, 1e-3);
}

TEST(Network, LengthsAreThoseOfClosedTours) {
  const auto points = test::lattice_points(7);
  const std::vector<NodeId> order = {3, 1, 0, 6, 5, 2, 4};
  const auto tours = torch::tensor({3, 1, 0, 6, 5, 2, 4}, torch::kInt64).view({1, 1, 7});
  EXPECT_NEAR(test::number(tour_lengths(test::points_tensor({points}), tours)[0][0]),
              test::closed_length(points, order), 1e-6);
}

TEST(Network, DevicesAreCheckedByName) {
  EXPECT_EQ(parse_device("cpu"), torch::Device(torch::kCPU));
  EXPECT_THROW((void)parse_device("gpu"), InputError);
  EXPECT_THROW((void)parse_device("cuda:x"), InputError);
  EXPECT_THROW((void)parse_device("cuda:-1"), InputError);
  if (!torch::cuda::is_available()) {
    EXPECT_THROW((void)parse_device("cuda"), InputError);
  }
}

}  // namespace
}  // namespace puretour::nn
