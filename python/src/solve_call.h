// One call of a solver from Python: what classical solvers and networks share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "arrays.h"
#include "puretour/solve/solver.h"

namespace puretour::python {

struct SolveCall {
  std::optional<double> time_limit;
  std::uint64_t seed;
  const std::optional<Integers>& initial;  // (N,)
  bool bound;                              // also compute the Held-Karp bound
  const py::object& progress;              // called with (phase, length); False ends the search. None: not called
};

/// The fields of puretour.Result. Ctrl-C stops the search and raises KeyboardInterrupt.
py::dict solve_call(const Solver& solver, const Instance& instance, const SolveCall& call);

}  // namespace puretour::python
