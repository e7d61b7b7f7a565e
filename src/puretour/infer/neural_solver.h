// A trained network as a Solver.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "puretour/infer/augment.h"
#include "puretour/kernels/gemm/bfloat16.h"
#include "puretour/models/checkpoint.h"
#include "puretour/solve/solver.h"

namespace puretour {

/// How many tours, and how their nodes are chosen.
struct Decoding {
  enum class Kind : std::uint8_t {
    kGreedy,      // the most probable node at every step; one tour
    kSample,      // every node drawn at random; `count` tours
    kMultistart,  // greedy from `count` different start nodes; 0: from every node
  };
  Kind kind = Kind::kGreedy;
  std::size_t count = 1;

  /// "greedy", "sample:1280", "multistart", "multistart:100". Throws InputError that says what is possible.
  static Decoding parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

struct NeuralSettings {
  Decoding decoding = {};
  double temperature = 1;          // of sampling
  Augmentation augmentation = {};  // the best tour of all copies counts
  bool improve = false;            // run the local search on the best tour, within the deadline
  kernels::Precision precision = kernels::Precision::kFloat;  // of products with weights
  bool raw_coordinates = false;  // show the network the coordinates as they are, not scaled to the unit square
  int threads = 1;               // for one instance; results do not depend on it
};

/// The network of the checkpoint. Instances need coordinates; whatever their metric, the network sees the plane.
std::unique_ptr<Solver> make_neural_solver(const Checkpoint& checkpoint, const NeuralSettings& settings = {});

}  // namespace puretour
