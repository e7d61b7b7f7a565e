// The two sets of weights of INViT's golden tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "puretour/geometry/point.h"
#include "puretour/models/checkpoint.h"

namespace puretour::test {

/// Calls set(spec, j, values) for every weight; j is its rank by name.
inline Checkpoint filled_invit(
    const InvitConfig& config,
    const std::function<void(const WeightSpec&, std::uint64_t j, std::vector<float>&)>& set) {
  Checkpoint checkpoint{config, {}, {}};
  const auto specs = weight_specs(checkpoint.config);
  for (const WeightSpec& spec : specs) checkpoint.weights[spec.name].shape = spec.shape;
  for (const WeightSpec& spec : specs) {
    Tensor& tensor = checkpoint.weights[spec.name];
    tensor.values.resize(num_values(spec.shape));
    std::uint64_t rank = 0;
    for (const auto& [name, other] : checkpoint.weights) {
      if (name < spec.name) ++rank;
    }
    set(spec, rank, tensor.values);
  }
  return checkpoint;
}

inline InvitConfig invit_config(std::vector<std::size_t> state_views) {
  InvitConfig config;
  config.state_views = std::move(state_views);
  return config;
}

inline Checkpoint sine_invit(const InvitConfig& config) {
  return filled_invit(config, [](const WeightSpec& spec, std::uint64_t j, std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = spec.role == WeightRole::kScale ? 1.0F : 0.0F;
      if (spec.role == WeightRole::kMatrix) {
        values[i] = static_cast<float>(0.1 * std::sin(0.37 * static_cast<double>(i) + static_cast<double>(j)));
      }
    }
  });
}

/// Uniform in [0, 1), a multiple of 2^-24, from two numbers.
inline double split_mix_uniform(std::uint64_t j, std::uint64_t i) {
  std::uint64_t z = (j << 32) + i + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 40) * 0x1p-24;
}

inline Checkpoint hashed_invit(const InvitConfig& config) {
  return filled_invit(config, [](const WeightSpec& spec, std::uint64_t j, std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double s = 2 * split_mix_uniform(j, i) - 1;
      if (spec.role == WeightRole::kMatrix) {
        values[i] = static_cast<float>(s * std::sqrt(3.0 / static_cast<double>(spec.shape[1])));
      } else {
        values[i] = static_cast<float>(spec.role == WeightRole::kScale ? 1 + 0.25 * s : 0.25 * s);
      }
    }
  });
}

inline std::vector<Point> split_mix_points(std::size_t count) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({split_mix_uniform(1000, i), split_mix_uniform(1001, i)});
  return points;
}

}  // namespace puretour::test
