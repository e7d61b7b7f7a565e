// Instances and weights of the golden tests, and ways to compare.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/model_checks.h"
#include "puretour/base/files.h"
#include "puretour/infer/policy.h"
#include "puretour/models/import.h"

namespace puretour::test {

inline double float_rounded(double v) {
  return static_cast<double>(static_cast<float>(v));
}

/// Node k is (frac((k + first) g1), frac((k + first) g2)) with two constants that spread points evenly.
inline std::vector<Point> lattice_points(std::size_t count, std::size_t first = 1) {
  std::vector<Point> points;
  for (std::size_t i = first; i < first + count; ++i) {
    const double x = static_cast<double>(i) * 0.6180339887498949;
    const double y = static_cast<double>(i) * 0.7548776662466927;
    points.push_back({float_rounded(x - std::floor(x)), float_rounded(y - std::floor(y))});
  }
  return points;
}

/// The test set that NumPy's legacy generator draws with seed 1234, rounded to float.
inline std::vector<std::vector<Point>> canonical_test_set(std::size_t num_instances, std::size_t num_nodes) {
  std::mt19937 generator(1234);
  const auto next = [&] {
    const double a = static_cast<double>(generator() >> 5);
    const double b = static_cast<double>(generator() >> 6);
    return float_rounded((a * 67108864.0 + b) / 9007199254740992.0);
  };
  std::vector<std::vector<Point>> instances(num_instances);
  for (auto& points : instances) {
    for (std::size_t i = 0; i < num_nodes; ++i) {
      const double x = next();
      const double y = next();
      points.push_back({x, y});
    }
  }
  return instances;
}

inline double closed_length(const std::vector<Point>& points, const std::vector<NodeId>& order) {
  double length = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Point a = points[static_cast<std::size_t>(order[i])];
    const Point b = points[static_cast<std::size_t>(order[(i + 1) % order.size()])];
    length += std::sqrt(squared_distance(a, b));
  }
  return length;
}

inline Rollout greedy(const EncodedInstance& instance, std::vector<NodeId> prefix = {},
                      const StageObserver& observer = {}) {
  RolloutOptions options;
  options.prefix = prefix;
  Rng unused;
  return instance.roll_out(options, unused, observer);
}

/// Stages in the order of their arrival, each with all its values.
struct RecordedStages {
  std::map<std::string, std::vector<std::vector<float>>> values;
  StageObserver observer() {
    return [this](std::string_view stage, std::span<const float> v, std::size_t) {
      values[std::string(stage)].emplace_back(v.begin(), v.end());
    };
  }
  const std::vector<float>& get(const std::string& stage, std::size_t occurrence = 0) const {
    return values.at(stage).at(occurrence);
  }
};

/// Random weights of moderate size: scores do not all saturate at the clip, where ties would decide.
inline Checkpoint moderate_checkpoint(const ModelConfig& config) {
  Checkpoint checkpoint = tiny_checkpoint(config);
  for (auto& [name, tensor] : checkpoint.weights) {
    if (name.find("running_var") != std::string::npos) continue;
    const float size = tensor.shape.size() > 1 ? 1 / std::sqrt(static_cast<float>(tensor.shape[1])) : 1;
    for (float& v : tensor.values) v = size * (2 * v - 1);
  }
  return checkpoint;
}

inline double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}

inline void expect_begins_with(const std::vector<float>& values, const std::vector<double>& expected, double tolerance,
                               const std::string& what, std::size_t offset = 0) {
  ASSERT_GE(values.size(), offset + expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(values[offset + i], expected[i], tolerance) << what << '[' << offset + i << ']';
  }
}

}  // namespace puretour::test
