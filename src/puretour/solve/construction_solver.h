// The simple heuristics that everybody compares with, as solvers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "puretour/solve/solver.h"

namespace puretour {

enum class Construction : std::uint8_t {
  kNearest,  // walks to the nearest node that is left, from the first node: 25 % above optimal on uniform points
  kGreedy,   // takes the shortest edges that fit: 14-18 %
  kTwoOpt,   // 2-opt from there: 5-7 %
};

/// Deterministic; kTwoOpt depends on the seed. Other than the other solvers it does not solve tiny instances exactly.
std::unique_ptr<Solver> make_construction_solver(Construction construction);

}  // namespace puretour
