// SPDX-License-Identifier: MIT
#include "puretour/nn/invit.h"

#include "infer/invit_weights.h"
#include "nn/network_checks.h"

namespace puretour::nn {
namespace {

using test::expect_values;
using test::gradient_norm;
using test::hashed_invit;
using test::invit_config;
using test::number;
using test::parameter;
using test::points_tensor;
using test::split_mix_points;

void expect_golden(const Checkpoint& checkpoint, const std::vector<Point>& points,
                   const std::vector<std::int64_t>& starts, const std::vector<double>& lengths,
                   const std::vector<double>& log_probs, double tolerance, torch::Dtype dtype = torch::kFloat32) {
  const auto network = make_network(checkpoint);
  network->to(dtype);
  network->eval();
  RolloutRequest request;
  request.num_tours = static_cast<std::int64_t>(starts.size());
  request.starts = torch::tensor(starts, torch::kInt64).unsqueeze(0);
  const Tensor tensor = points_tensor({points}, dtype);
  const TourBatch batch = network->roll_out(tensor, request);
  expect_values(tour_lengths(tensor, batch.tours), lengths, 1e-5, "lengths");
  expect_values(batch.log_probs.sum(-1), log_probs, tolerance, "log-probs");
}

TEST(InvitWithGradients, GivesTheGoldenTours) {
  const auto lattice = test::lattice_points(60);
  const auto points = split_mix_points(60);
  const auto one = invit_config({35});
  const auto two = invit_config({35, 50});
  // In double precision to all digits that are known.
  expect_golden(test::sine_invit(one), lattice, {0}, {15.071201}, {-147.039368}, 1e-6, torch::kFloat64);
  expect_golden(test::sine_invit(two), lattice, {0}, {22.222258}, {-143.160716}, 1e-6, torch::kFloat64);
  expect_golden(hashed_invit(one), points, {0}, {18.646505}, {-93.628976}, 1e-6, torch::kFloat64);
  expect_golden(hashed_invit(two), points, {0}, {19.509514}, {-46.102257}, 1e-6, torch::kFloat64);
  expect_golden(hashed_invit(one), points, {0, 7, 31}, {18.646505, 18.194963, 15.913786},
                {-93.62898, -90.1485, -86.9826}, 1e-3);
  expect_golden(hashed_invit(two), points, {0, 7, 31}, {19.509514, 17.747063, 17.536087},
                {-46.10224, -45.0990, -53.7265}, 1e-3);
  expect_golden(hashed_invit(one), split_mix_points(100), {0}, {21.166061}, {-147.3049}, 1e-3);
  expect_golden(hashed_invit(two), split_mix_points(100), {0}, {21.141952}, {-77.7001}, 1e-3);
  InvitConfig aggregate = one;
  aggregate.aggregate_whole_graph = true;
  expect_golden(hashed_invit(aggregate), points, {0}, {17.634359}, {-68.1156}, 1e-3);
  InvitConfig masked = one;
  masked.local_mask = true;
  expect_golden(hashed_invit(masked), points, {0}, {16.904251}, {-90.6622}, 1e-3);
  InvitConfig deep = two;
  deep.num_action_layers = 4;
  expect_golden(hashed_invit(deep), points, {0}, {13.930402}, {-93.5651}, 1e-3);
}

TEST(InvitWithGradients, GradientsAndOneOptimiserStepAreThoseOfTheOriginal) {
  const auto network = make_network(hashed_invit(invit_config({35})));
  network->train();
  const Tensor points = points_tensor({split_mix_points(60)});
  RolloutRequest request;
  request.starts = torch::zeros({1, 1}, torch::kInt64);
  const TourBatch batch = network->roll_out(points, request);
  // Weight (t + 1) / 59 for decision t = 0 .. 58; position 0 of the tour is no decision.
  const Tensor weights = torch::arange(60).to(torch::kFloat32) / 59;
  const Tensor loss = (network->score(points, batch.tours) * weights).sum();
  EXPECT_NEAR(number(loss), -47.15691, 2e-4);
  loss.backward();
  EXPECT_NEAR(test::total_gradient_norm(*network) / 750.190, 1, 1e-3);
  const std::map<std::string, double> norms = {{"action_encoder.input_emb.weight", 18.9407},
                                               {"state_encoders.0.input_emb_for_first.weight", 6.0527},
                                               {"action_encoder.encoder.MHA_layers.0.w_qs.weight", 1.6834},
                                               {"state_encoders.0.encoder.MHA_layers.1.layer_norm.weight", 8.8249},
                                               {"WK_att_decoder.weight", 302.777},
                                               {"WV_att_decoder.weight", 217.329},
                                               {"query_mlp.weight", 135.817},
                                               {"decoder.Wq_final.weight", 231.032},
                                               {"decoder.decoder_layers.0.BN_att.weight", 11.0846}};
  for (const auto& [name, norm] : norms) EXPECT_NEAR(gradient_norm(*network, name) / norm, 1, 1e-3) << name;
  const Tensor unused = parameter(*network, "WV_att_decoder.weight").grad().narrow(0, 256, 128);
  EXPECT_EQ(number(unused.abs().max()), 0);
  EXPECT_EQ(number(parameter(*network, "WV_att_decoder.bias").grad().narrow(0, 256, 128).abs().max()), 0);
  const Tensor query = parameter(*network, "query_mlp.weight");
  const Tensor value = parameter(*network, "WV_att_decoder.weight");
  EXPECT_NEAR(number(query[0][0]), -0.00120228, 1e-8);
  EXPECT_NEAR(number(query.grad()[0][0]), 0.039151, 5e-5);
  EXPECT_NEAR(number(value[383][0]), 0.02283740, 1e-8);
  torch::optim::AdamW adam(network->parameters(), torch::optim::AdamWOptions(1e-4).weight_decay(0.01));
  adam.step();
  EXPECT_NEAR(number(query[0][0]), -0.00130228, 1e-8);
  EXPECT_NEAR(number(value[383][0]), 0.02283738, 1e-8);
}

TEST(InvitWithGradients, GivesTheToursOfTheCpuCodeOnAThousandInstances) {
  InvitConfig config = invit_config({17, 21});
  config.embedding_dim = 32;
  config.num_heads = 4;
  config.feed_forward_dim = 48;
  test::expect_same_tours(hashed_invit(config), test::canonical_test_set(1000, 25), 0, 2e-3);
}

TEST(InvitWithGradients, ScoreRepeatsTheRollOut) {
  const auto network = make_network(hashed_invit(invit_config({16, 20})));
  std::vector<std::vector<Point>> instances = test::canonical_test_set(3, 30);
  test::expect_score_repeats_roll_out(*network, points_tensor(instances), 2e-4);
}

}  // namespace
}  // namespace puretour::nn
