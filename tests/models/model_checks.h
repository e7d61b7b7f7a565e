// What the tests of model files share.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "puretour/base/error.h"
#include "puretour/base/rng.h"
#include "puretour/models/checkpoint.h"

namespace puretour::test {

/// Published weights that lie beside the checkout on some machines.
inline std::string peer_file(const std::string& name) {
  return (std::filesystem::path(PURETOUR_SHARED_DATA) / "peers" / name).string();
}

inline bool peer_files_are_there() {
  return std::filesystem::exists(peer_file("am_tsp50.pt")) && std::filesystem::exists(peer_file("am_tsp100.pt"));
}

/// `action` must throw a ModelError whose text contains `message`.
template <typename Action>
void expect_model_error(const Action& action, const std::string& message) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << message;
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

/// A model with random weights that is small enough to try every damage.
inline Checkpoint tiny_checkpoint(const ModelConfig& config = AmConfig{2, 1, 1, 1, 10}) {
  Rng rng(7);
  Checkpoint checkpoint{config, {}, {{"training", "none"}}};
  for (const WeightSpec& spec : weight_specs(config)) {
    Tensor& tensor = checkpoint.weights[spec.name];
    tensor.shape = spec.shape;
    for (std::size_t i = 0; i < num_values(spec.shape); ++i) tensor.values.push_back(rng.uniform_float());
  }
  return checkpoint;
}

}  // namespace puretour::test
