// Genetic algorithm with edge assembly crossover (EAX): optimal or near-optimal tours up to about 20,000 nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/solve/local_optima.h"
#include "puretour/solve/problem.h"

namespace puretour {

/// How the best offspring of a pair is picked among those that are shorter than their parent.
enum class EaxSelection {
  kEntropy,  // largest gain per loss of edge entropy: keeps the population diverse
  kGreedy,   // largest gain: faster, clearly worse tours
};

/// What the genetic algorithm is doing, for the progress callback.
struct EaxProgress {
  int run = 0;                      // 0-based restart
  int generation = 0;               // generations done in this run
  int stage = 1;                    // 1: single AB-cycles, 2: block2
  Problem::Length best_length = 0;  // over all runs
  double mean_length = 0;           // of the present population
  std::span<const NodeId> best;     // the tour of best_length
};

struct EaxOptions {
  int population = 100;                             // tours; time grows linearly with it
  bool fit_population = false;                      // take fewer tours if the deadline would come too soon, at least 10
  int children = 30;                                // offspring per pair of parents, at most
  int stall = 30;                                   // generations without a better tour until a stage may end
  int merge_neighbours = 10;                        // nearest neighbours tried when sub-tours are joined
  EaxSelection selection = EaxSelection::kEntropy;  // rule of replacement
  std::optional<LocalOptimum> start = {};           // how the first tours are made; empty: as suits size and run
  bool block2 = true;                               // second stage with large E-sets after the first one stagnates
  int tabu_tenure = 10;                             // block2: a moved cycle rests 1 .. tabu_tenure iterations
  int tabu_stall = 20;                              // block2: iterations without a better E-set until its search ends
  int runs = 1;                                     // runs at most, each from a new population; the best tour counts
  double population_growth = 1.5;                   // population of each run relative to the one before
  bool confirm = true;  // with several runs: stop as soon as two of them end at the best length
  Problem::Length target = std::numeric_limits<Problem::Length>::min();  // stop at a tour of at most this length
  std::function<void(const EaxProgress&)> progress = {};                 // called after every generation; may be empty
};

enum class EaxStop {
  kConverged,  // all tours of the population have the same length
  kStagnant,   // the last stage stopped improving
  kDeadline,   // out of time
  kTarget,     // found a tour of the wanted length
  kConfirmed,  // two independent runs ended at the same best length
};

struct EaxResult {
  std::vector<NodeId> order;
  Problem::Length length = 0;
  int generations = 0;         // over all runs
  std::int64_t offspring = 0;  // evaluated, over all runs
  EaxStop stop = EaxStop::kStagnant;
};

/// About how many seconds a run takes for each tour of its population, starting from Lin-Kernighan tours, on one core
/// of a present-day machine.
double eax_seconds_per_tour(NodeId num_nodes);

/// Edge assembly crossover of Nagata and Kobayashi (2013): localized EAX, entropy-preserving replacement, then the
/// block2 strategy. The result depends on problem, options and seed only, unless the deadline cuts it short; then the
/// best tour so far is returned. `initial` (may be empty) competes with the result but stays out of the population,
/// whose diversity a good tour would destroy. All tours contain the fixed edges of the problem: AB-cycles hold no
/// common edges, and joining sub-tours removes none that is fixed; `initial` must contain them (InputError). Needs at
/// least 5 nodes (InputError otherwise; smaller problems have exact answers). Points at one place should be collapsed
/// before (collapse.h): else their candidates lead nowhere. Candidates of the problem that look in all directions
/// (CandidateKind::kQuadrant, kPurity) give the optimum of clustered instances far more often than the nearest ones.
/// Memory: about 24 bytes per node and tour; metrics other than Euclidean add a cost table, 16 MB at 2,000 nodes.
EaxResult eax(const Problem& problem, const EaxOptions& options, std::uint64_t seed, const Deadline& deadline = {},
              std::span<const NodeId> initial = {});

}  // namespace puretour
