// SPDX-License-Identifier: MIT
#include "puretour/solve/eax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "puretour/base/error.h"
#include "puretour/base/rng.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/descent.h"
#include "puretour/solve/eax_population.h"
#include "puretour/solve/eax_space.h"
#include "puretour/solve/eax_tour.h"
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
    std::optional<EaxPopulation> population;
    for (int member = 0; member < num_tours; ++member) {
      if (deadline_.expired() && !result_.order.empty()) return EaxStop::kDeadline;
      // Random starts only: the edges that better constructions share would be missing diversity.
      Rng rng(seed_, {run_key, static_cast<std::uint64_t>(member)});
      std::vector<NodeId> order = random_order(problem_.size(), rng);
      local_search_from(problem_, order, rng);
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
  std::optional<EaxSpace> space_;  // renumbered along the first tour found
  Length run_length_ = 0;          // of the best tour of the last run
  EaxResult result_;
};

}  // namespace

int eax_population_for(NodeId num_nodes, double limit_seconds) {
  // Measured on uniform points with the default options, 200 <= n <= 5000: seconds per tour of the population.
  const double seconds_per_tour = 1.2e-7 * std::pow(num_nodes, 1.7);
  const double affordable = limit_seconds / seconds_per_tour;
  constexpr int kLeast = 30;
  constexpr int kMost = 300;
  return affordable < kLeast ? 0 : affordable > kMost ? kMost : static_cast<int>(affordable);
}

EaxResult eax(const Problem& problem, const EaxOptions& options, std::uint64_t seed, const Deadline& deadline,
              std::span<const NodeId> initial) {
  check(problem, options);
  Search search(problem, options, seed, deadline);
  if (!initial.empty()) {
    check_permutation(initial, static_cast<std::size_t>(problem.size()));
    search.offer({initial.begin(), initial.end()}, problem.length(initial));
  }
  return search.run_all();
}

}  // namespace puretour
