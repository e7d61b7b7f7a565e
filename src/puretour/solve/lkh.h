// Calls an installed LKH as an external program. (Its licence keeps its code out of here.)
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "puretour/solve/solver.h"

namespace puretour {

/// Throws InputError if the program cannot be started, fails, or leaves no valid tour.
SolveResult solve_with_lkh(const Instance& instance, const SolveOptions& options, const std::string& binary);

}  // namespace puretour
