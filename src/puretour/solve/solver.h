// One interface for everything that turns an instance into a tour.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "puretour/base/deadline.h"
#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

/// A sign of life: what the solver is doing and the best length so far, in the unit of the instance.
struct SolveProgress {
  std::string_view phase;
  double length = 0;
};

struct SolveOptions {
  Deadline deadline = {};            // covers every phase; a tour is returned however early it comes
  std::uint64_t seed = 0;            // same seed, same tour, unless the deadline cuts the search
  std::optional<Tour> initial = {};  // start from here; the result is never longer. Has all fixed edges
  std::function<void(const SolveProgress&)> progress = {};  // called a few times per second at most; may be empty
};

struct SolveResult {
  Tour tour;
  double length = 0;                             // in the metric of the instance
  double seconds = 0;                            // wall time, everything included
  std::string method;                            // what was used: "exact", "lk", "eax", ...
  std::optional<double> unimproved_length = {};  // before a final improvement, if there was one
};

/// A solver has no state: one object may serve several threads.
class Solver {
 public:
  virtual ~Solver() = default;
  Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;

  /// A tour with all fixed edges of the instance. Throws InputError for an instance that it cannot handle. No nodes:
  /// an InputError.
  [[nodiscard]] virtual SolveResult solve(const Instance& instance, const SolveOptions& options) const = 0;
};

struct SolverSettings {
  std::int64_t max_kicks = -1;     // lk: stop after this many kicks; negative: by deadline, or 10 per node without one
  int population = 0;              // eax: tours in the population; 0: as suits the size
  int runs = 0;                    // eax: at most so many runs, until two agree; 0: as suits the size
  std::string lkh_binary = "LKH";  // lkh: program to call
};

/// "auto", "lk", "eax", "lkh", "nearest", "greedy" or "2opt"; throws InputError that lists them for another name.
///   auto  exact for tiny instances; else eax where it can end in time, else lk
///   lk    Lin-Kernighan style local search: any size, good after a second, better with time. Kicks first; where the
///         time limit allows for it, many local optima are merged afterwards, by the crossover of eax
///   eax   genetic algorithm with edge assembly crossover: (near) optimal, up to about 20,000 nodes
///   lkh   an installed LKH as an external program
///   nearest, greedy, 2opt  simple heuristics to compare with, see construction_solver.h
std::unique_ptr<Solver> make_solver(std::string_view name, const SolverSettings& settings = {});

}  // namespace puretour
