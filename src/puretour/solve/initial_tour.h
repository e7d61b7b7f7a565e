// The tour that a solver may be given to start from.
// SPDX-License-Identifier: MIT
#pragma once

#include "puretour/solve/solver.h"

namespace puretour {

/// Throws InputError unless options.initial, if there is one, is a tour of the instance with all its fixed edges.
void check_initial_tour(const Instance& instance, const SolveOptions& options);

/// Puts options.initial into the result if it is shorter.
void keep_initial_tour_if_shorter(const Instance& instance, const SolveOptions& options, SolveResult& result);

}  // namespace puretour
