// SPDX-License-Identifier: MIT
#include "puretour/nn/batch_group.h"

#include <stdexcept>

#include "nn/network_checks.h"
#include "puretour/nn/group_batch_norm.h"

namespace puretour::nn {
namespace {

TEST(BatchGroup, AddsUpInTheOrderOfMembersWhateverRunsFirst) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    BatchGroup group(5, threads);
    std::vector<std::vector<double>> results(5);
    group.run([&](std::size_t member) {
      for (int round = 0; round < 50; ++round) {
        // In floating point the sum depends on the order.
        std::vector<double> values = {member == 0 ? 1e16 : 1.0, static_cast<double>(member + 1) * round};
        group.add_up(member, values);
        results[member].insert(results[member].end(), values.begin(), values.end());
      }
    });
    for (const auto& result : results) {
      for (int round = 0; round < 50; ++round) {
        EXPECT_EQ(result[static_cast<std::size_t>(2 * round)], 1e16);
        EXPECT_EQ(result[static_cast<std::size_t>(2 * round) + 1], 15.0 * round);
      }
    }
  }
}

TEST(BatchGroup, AnErrorOfOneEndsAll) {
  BatchGroup group(4, 2);
  for (int attempt = 0; attempt < 20; ++attempt) {
    EXPECT_THROW(group.run([&](std::size_t member) {
      std::vector<double> value = {1};
      group.add_up(member, value);
      if (member == 2) throw std::runtime_error("broken");
      group.add_up(member, value);
    }),
                 std::runtime_error);
  }
  // And it can be used again.
  group.run([&](std::size_t member) {
    std::vector<double> value = {1};
    group.add_up(member, value);
    EXPECT_EQ(value[0], 4);
  });
}

TEST(GroupBatchNorm, IsTheBatchNormOfTheWholeBatchWithItsGradients) {
  torch::manual_seed(3);
  const auto options = torch::TensorOptions().dtype(torch::kFloat64);
  const auto whole = torch::randn({11, 4}, options) * 3 + 1;
  const auto factors = torch::randn({11, 4}, options);
  auto scale = torch::rand({4}, options).requires_grad_();
  auto shift = torch::rand({4}, options).requires_grad_();
  auto rows = whole.clone().requires_grad_();
  const auto expected = torch::batch_norm(rows, scale, shift, {}, {}, true, 0.0, 1e-5, false);
  (expected * factors).sum().backward();

  const std::vector<std::int64_t> begins = {0, 2, 7, 11};
  BatchGroup group(3, 2);
  std::vector<Tensor> inputs(3);
  std::vector<Tensor> outputs(3);
  std::vector<Tensor> scales(3);
  std::vector<Tensor> shifts(3);
  group.run([&](std::size_t k) {
    const auto count = begins[k + 1] - begins[k];
    inputs[k] = whole.narrow(0, begins[k], count).clone().requires_grad_();
    scales[k] = scale.detach().clone().requires_grad_();
    shifts[k] = shift.detach().clone().requires_grad_();
    const GroupNormalised result = group_batch_norm(inputs[k], scales[k], shifts[k], 1e-5, group, k);
    EXPECT_EQ(result.num_rows, 11);
    outputs[k] = result.values;
    (result.values * factors.narrow(0, begins[k], count)).sum().backward();
  });
  const auto close = [](const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>() < 1e-10; };
  EXPECT_TRUE(close(torch::cat(outputs), expected));
  EXPECT_TRUE(close(torch::cat({inputs[0].grad(), inputs[1].grad(), inputs[2].grad()}), rows.grad()));
  EXPECT_TRUE(close(scales[0].grad() + scales[1].grad() + scales[2].grad(), scale.grad()));
  EXPECT_TRUE(close(shifts[0].grad() + shifts[1].grad() + shifts[2].grad(), shift.grad()));
}

}  // namespace
}  // namespace puretour::nn
