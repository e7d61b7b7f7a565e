// Pictures of an evaluation.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>

#include "puretour/evaluate/evaluation.h"

namespace puretour {

/// Gap over the number of nodes, both logarithmic: a panel for each distribution, a line for each of the first eight
/// solvers that have a gap of at least 0.1 %. Nothing if no generated set has one.
std::optional<std::string> gaps_svg(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers);

}  // namespace puretour
