// What the tests of the networks with gradients share.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "infer/golden.h"
#include "puretour/nn/network.h"

namespace puretour::test {

using torch::Tensor;

/// (B, N, 2); the coordinates are rounded to float, whatever the type.
inline Tensor points_tensor(const std::vector<std::vector<Point>>& instances, torch::Dtype dtype = torch::kFloat32) {
  const auto num_nodes = static_cast<std::int64_t>(instances[0].size());
  Tensor result = torch::empty({static_cast<std::int64_t>(instances.size()), num_nodes, 2}, torch::kFloat32);
  auto* to = result.data_ptr<float>();
  for (const auto& points : instances) {
    for (const Point p : points) {
      *to++ = static_cast<float>(p.x);
      *to++ = static_cast<float>(p.y);
    }
  }
  return result.to(dtype);
}

/// One tour of a batch.
inline std::vector<NodeId> order_of(const Tensor& tours, std::int64_t instance, std::int64_t tour = 0) {
  const Tensor row = tours[instance][tour].to(torch::kInt32).contiguous();
  return {row.data_ptr<int>(), row.data_ptr<int>() + row.numel()};
}

inline double number(const Tensor& scalar) {
  return scalar.to(torch::kFloat64).item<double>();
}

inline void expect_values(const Tensor& values, const std::vector<double>& expected, double tolerance,
                          const std::string& what) {
  const Tensor flat = values.detach().flatten().to(torch::kFloat64);
  ASSERT_GE(flat.numel(), static_cast<std::int64_t>(expected.size())) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(number(flat[static_cast<std::int64_t>(i)]), expected[i], tolerance) << what << '[' << i << ']';
  }
}

inline Tensor parameter(const nn::Network& network, const std::string& name) {
  return network.named_parameters()[name];
}

inline double gradient_norm(const nn::Network& network, const std::string& name) {
  return number(parameter(network, name).grad().norm());
}

inline double total_gradient_norm(const nn::Network& network) {
  double sum = 0;
  for (const Tensor& p : network.parameters()) {
    if (p.grad().defined()) sum += std::pow(number(p.grad().norm()), 2);
  }
  return std::sqrt(sum);
}

/// How much better the first tour's node is than the second's at the step where they part, in log-probability.
inline double margin_where_tours_part(const EncodedInstance& instance, const std::vector<NodeId>& a,
                                      const std::vector<NodeId>& b) {
  const auto step = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  return greedy(instance, a).log_probs[step] - greedy(instance, b).log_probs[step];
}

/// Greedy tours of infer/ and nn/ for many instances must agree, and so must their log-probabilities. Where rounding
/// decides between two nodes either is right: such a margin must be tiny, and there may be one in 500 instances.
inline void expect_same_tours(const Checkpoint& checkpoint, const std::vector<std::vector<Point>>& instances,
                              NodeId start, double tolerance) {
  const auto network = nn::make_network(checkpoint);
  network->eval();
  const auto policy = make_policy(checkpoint);
  constexpr std::size_t kBatch = 250;
  constexpr double kRounding = 1e-5;
  std::size_t num_close_calls = 0;
  for (std::size_t begin = 0; begin < instances.size(); begin += kBatch) {
    const std::size_t end = std::min(begin + kBatch, instances.size());
    const std::vector<std::vector<Point>> part(instances.begin() + static_cast<std::ptrdiff_t>(begin),
                                               instances.begin() + static_cast<std::ptrdiff_t>(end));
    nn::RolloutRequest request;
    if (start >= 0) request.starts = torch::full({static_cast<std::int64_t>(part.size()), 1}, start, torch::kInt64);
    const nn::TourBatch batch = network->roll_out(points_tensor(part), request);
    const Tensor log_probs = batch.log_probs.sum(-1);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const auto instance = policy->encode(part[i], {});
      const Rollout rollout = greedy(*instance, start >= 0 ? std::vector<NodeId>{start} : std::vector<NodeId>{});
      const std::vector<NodeId> other = order_of(batch.tours, index);
      if (rollout.order != other) {
        ASSERT_LT(margin_where_tours_part(*instance, rollout.order, other), kRounding) << begin + i;
        ++num_close_calls;
        continue;
      }
      ASSERT_NEAR(rollout.log_prob(), number(log_probs[index][0]), tolerance) << begin + i;
    }
  }
  EXPECT_LE(num_close_calls, instances.size() / 500);
}

/// `score` of sampled tours equals the log-probabilities that the roll-out gave them.
inline void expect_score_repeats_roll_out(nn::Network& network, const Tensor& points, double tolerance) {
  network.eval();
  torch::manual_seed(5);
  nn::RolloutRequest request;
  request.num_tours = 3;
  request.sample = true;
  request.temperature = 1.3;
  const nn::TourBatch batch = network.roll_out(points, request);
  const Tensor scored = network.score(points, batch.tours);
  EXPECT_EQ(scored.sizes(), batch.log_probs.sizes());
  EXPECT_LT(number((scored - batch.log_probs).abs().max()), tolerance);
  EXPECT_TRUE(scored.requires_grad());
  const Tensor sorted = std::get<0>(batch.tours.sort(-1));
  EXPECT_TRUE(torch::equal(sorted, torch::arange(points.size(1)).expand_as(sorted)));
}

}  // namespace puretour::test
