// SPDX-License-Identifier: MIT
#include "puretour/solve/eax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "puretour/base/error.h"
#include "puretour/base/rng.h"
#include "puretour/solve/eax_population.h"
#include "puretour/solve/eax_space.h"
#include "puretour/solve/eax_tour.h"
#include "puretour/solve/local_optima.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using Length = Problem::Length;

void check(const Problem& problem, const EaxOptions& options) {
  const auto require_at_least = [](const char* name, int value, int least) {
    if (value < least) throw InputError(fmt::format("eax: {} is {}, must be at least {}", name, value, least));
  };
  require_at_least("number of nodes", problem.size(), 5);
  require_at_least("population", options.population, 2);
  require_at_least("children", options.children, 1);
  require_at_least("stall", options.stall, 1);
  require_at_least("merge_neighbours", options.merge_neighbours, 1);
  require_at_least("tabu_tenure", options.tabu_tenure, 1);
  require_at_least("tabu_stall", options.tabu_stall, 1);
  require_at_least("runs", options.runs, 1);
  if (!(options.population_growth > 0)) {
    throw InputError(fmt::format("eax: population_growth is {}, must be positive", options.population_growth));
  }
}

// Tells when a stage has stopped improving: after more than `stall` generations without a better tour or, once that has
// happened, a tenth of the generations that the stage had lasted then (so that long runs may wait longer).
class Stagnation {
 public:
  explicit Stagnation(int stall) : stall_(stall) {}

  // Call once per generation.
  bool reached(bool improved) {
    since_improved_ = improved ? 0 : since_improved_ + 1;
    ++generations_;
    if (patience_ == 0 && since_improved_ == stall_) {
      patience_ = std::max(1, generations_ / 10);
      return false;
    }
    return patience_ > 0 && since_improved_ >= patience_;
  }

 private:
  int stall_;
  int generations_ = 0;
  int since_improved_ = 0;
  int patience_ = 0;  // 0 until the first `stall` generations without improvement
};

// Above this many nodes 3-opt leaves the genetic algorithm so much to do that Lin-Kernighan tours give the same lengths
// in a third of the time (TSPLIB instances of 2,000 to 6,000 nodes).
constexpr NodeId kMaxThreeOptNodes = 1500;
// Fewer have too little to exchange.
constexpr int kFewTours = 10;

// Small instances: Lin-Kernighan tours are the quicker way to the optimum of uniform points, 3-opt tours the surer one
// where there is structure. Runs take turns, so that two that agree do not share a weakness; a single run is sure.
LocalOptimum start_of_run(const Problem& problem, const EaxOptions& options, int run) {
  if (options.start) return *options.start;
  if (problem.size() > kMaxThreeOptNodes) return LocalOptimum::kLinKernighan;
  return options.runs > 1 && run % 2 == 0 ? LocalOptimum::kLinKernighan : LocalOptimum::kThreeOpt;
}

// One call of eax(): the runs, and the best tour of all of them.
class Search {
 public:
  Search(const Problem& problem, const EaxOptions& options, std::uint64_t seed, const Deadline& deadline)
      : problem_(problem), options_(options), seed_(seed), deadline_(deadline) {}

  void offer(std::vector<NodeId> order, Length length) {
    if (!result_.order.empty() && length >= result_.length) return;
    result_.order = std::move(order);
    result_.length = length;
  }

  EaxResult run_all() {
    double num_tours = options_.population;
    std::vector<Length> lengths;  // where the runs ended
    for (int run = 0; run < options_.runs; ++run, num_tours *= options_.population_growth) {
      result_.stop = run_once(run, std::max(2, static_cast<int>(num_tours)));
      if (result_.stop == EaxStop::kDeadline || result_.stop == EaxStop::kTarget) break;
      lengths.push_back(run_length_);
      if (options_.confirm && std::count(lengths.begin(), lengths.end(), result_.length) >= 2) {
        result_.stop = EaxStop::kConfirmed;
        break;
      }
    }
    return std::move(result_);
  }

 private:
  EaxStop run_once(int run, int num_tours) {
    const auto run_key = static_cast<std::uint64_t>(run);
    start_ = start_of_run(problem_, options_, run);
    std::optional<LocalOptima>& local_optima = local_optima_[start_ == LocalOptimum::kThreeOpt ? 0 : 1];
    if (!local_optima) local_optima.emplace(problem_, start_, deadline_);
    if (options_.fit_population) num_tours = std::min(num_tours, affordable_tours(*local_optima));
    std::optional<EaxPopulation> population;
    for (int member = 0; member < num_tours; ++member) {
      if (deadline_.expired() && !result_.order.empty()) return EaxStop::kDeadline;
      Rng rng(seed_, {run_key, static_cast<std::uint64_t>(member)});
      std::vector<NodeId> order = local_optima->draw(rng, deadline_);
      if (!space_) space_.emplace(problem_, order, static_cast<std::size_t>(options_.merge_neighbours));
      if (!population) population.emplace(*space_, options_, num_tours, Rng(seed_, {run_key}).bits());
      population->add(EaxTour(*space_, space_->to_space(order)));
      offer(std::move(order), population->tours().back().length());
    }
    const EaxStop stop = evolve(run, *population);
    run_length_ = population->best().length();
    result_.offspring += population->num_offspring();
    return stop;
  }

  // Draws a tour to see how fast this machine is.
  int affordable_tours(const LocalOptima& local_optima) {
    const auto start = Deadline::Clock::now();
    Rng rng(seed_, {});
    std::vector<NodeId> order = local_optima.draw(rng, deadline_);
    const double seconds = std::chrono::duration<double>(Deadline::Clock::now() - start).count();
    const Length length = problem_.length(order);
    offer(std::move(order), length);
    // How many times as long as making its tours a run takes; measured at 1,000 and 10,000 nodes.
    const double run_per_start = start_ == LocalOptimum::kThreeOpt ? 12 : 3.4;
    const double affordable = deadline_.seconds_left() / (run_per_start * std::max(seconds, 1e-9));
    return static_cast<int>(std::clamp<double>(affordable, kFewTours, 1e9));
  }

  EaxStop evolve(int run, EaxPopulation& population) {
    EaxStage stage = EaxStage::kSingle;
    Stagnation stagnation(options_.stall);
    Length best_length = population.best().length();
    bool improved = true;
    for (int generation = 0;; ++generation) {
      if (options_.progress) {
        options_.progress({run, generation, stage == EaxStage::kSingle ? 1 : 2, result_.length,
                           population.mean_length(), result_.order});
      }
      if (result_.length <= options_.target) return EaxStop::kTarget;
      if (deadline_.expired()) return EaxStop::kDeadline;
      if (population.has_converged()) return EaxStop::kConverged;
      if (stagnation.reached(improved)) {
        if (stage == EaxStage::kBlock2 || !options_.block2) return EaxStop::kStagnant;
        stage = EaxStage::kBlock2;
        stagnation = Stagnation(options_.stall);
      }
      population.breed(generation, stage, deadline_);
      ++result_.generations;
      const EaxTour& best = population.best();
      improved = best.length() < best_length;
      best_length = best.length();
      if (best_length < result_.length) offer(space_->to_problem(best.order()), best_length);
    }
  }

  const Problem& problem_;
  const EaxOptions& options_;
  std::uint64_t seed_;
  const Deadline& deadline_;
  LocalOptimum start_ = LocalOptimum::kThreeOpt;            // of the present run
  std::array<std::optional<LocalOptima>, 2> local_optima_;  // 3-opt and Lin-Kernighan, made when needed
  std::optional<EaxSpace> space_;                           // renumbered along the first tour found
  Length run_length_ = 0;                                   // of the best tour of the last run
  EaxResult result_;
};

}  // namespace

double eax_seconds_per_tour(NodeId num_nodes) {
  return 9.4e-7 * std::pow(num_nodes, 1.38);  // measured on uniform points, 200 <= n <= 10,000
}

EaxResult eax(const Problem& problem, const EaxOptions& options, std::uint64_t seed, const Deadline& deadline,
              std::span<const NodeId> initial) {
  check(problem, options);
  Search search(problem, options, seed, deadline);
  if (!initial.empty()) {
    check_permutation(initial, static_cast<std::size_t>(problem.size()));
    check_has_fixed_edges(problem, initial);
    search.offer({initial.begin(), initial.end()}, problem.length(initial));
  }
  return search.run_all();
}

}  // namespace puretour
