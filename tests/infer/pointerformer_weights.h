// The two sets of weights of Pointerformer's golden tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "puretour/geometry/point.h"
#include "puretour/models/checkpoint.h"

namespace puretour::test {

/// Calls set(spec, j, tensor) for every weight; j is the rank of a trained weight by name, and for running statistics
/// that of the scale of their normalisation.
inline Checkpoint filled_pointerformer(
    const std::function<void(const WeightSpec&, std::uint32_t j, std::vector<float>&)>& set) {
  Checkpoint checkpoint{PointerformerConfig{}, {}, {}};
  std::map<std::string, std::uint32_t> rank;
  const auto specs = weight_specs(checkpoint.config);
  for (const WeightSpec& spec : specs) {
    if (spec.role != WeightRole::kRunningMean && spec.role != WeightRole::kRunningVar) rank[spec.name] = 0;
  }
  std::uint32_t next = 0;
  for (auto& [name, j] : rank) j = next++;
  for (const WeightSpec& spec : specs) {
    Tensor& tensor = checkpoint.weights[spec.name];
    tensor.shape = spec.shape;
    tensor.values.resize(num_values(spec.shape));
    const std::string stem = spec.name.substr(0, spec.name.rfind('.'));
    set(spec, rank.contains(spec.name) ? rank[spec.name] : rank.at(stem + ".weight"), tensor.values);
  }
  return checkpoint;
}

inline Checkpoint sine_pointerformer() {
  return filled_pointerformer([](const WeightSpec& spec, std::uint32_t j, std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (spec.shape.size() >= 2) {
        values[i] = static_cast<float>(0.1 * std::sin(0.37 * static_cast<double>(i) + j));
      } else {
        values[i] = spec.role == WeightRole::kScale || spec.role == WeightRole::kRunningVar ? 1.0F : 0.0F;
      }
    }
  });
}

/// Uniform in [0, 1) from two numbers.
inline double hash_uniform(std::uint32_t i, std::uint32_t j) {
  std::uint32_t z = (i + 1) * 2654435761U + (j + 1) * 2246822519U;
  z ^= z >> 15;
  z *= 2246822519U;
  z ^= z >> 13;
  z *= 3266489917U;
  z ^= z >> 16;
  return z / 4294967296.0;
}

inline Checkpoint hashed_pointerformer() {
  return filled_pointerformer([](const WeightSpec& spec, std::uint32_t j, std::vector<float>& values) {
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      const double r = 2 * hash_uniform(i, j) - 1;
      double value = 0;
      switch (spec.role) {
        case WeightRole::kMatrix:
          value =
              r * std::sqrt(3.0 / static_cast<double>(spec.shape[1])) * (spec.name.starts_with("decoder.") ? 1 : 0.9);
          break;
        case WeightRole::kScale:
          value = 1 + 0.1 * r;
          break;
        case WeightRole::kRunningMean:
          value = 0.1 * (2 * hash_uniform(i, j + 1000) - 1);
          break;
        case WeightRole::kRunningVar:
          value = 0.5 + hash_uniform(i, j + 2000);
          break;
        default:
          value = 0.1 * r;
      }
      values[i] = static_cast<float>(value);
    }
  });
}

inline std::vector<Point> hashed_points(std::uint32_t count, std::uint32_t instance) {
  std::vector<Point> points;
  for (std::uint32_t i = 0; i < count; ++i) {
    points.push_back({static_cast<float>(hash_uniform(i, 5000 + 2 * instance)),
                      static_cast<float>(hash_uniform(i, 5001 + 2 * instance))});
  }
  return points;
}

}  // namespace puretour::test
