// SPDX-License-Identifier: MIT
#include "puretour/solve/solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/solve/collapse.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/eax.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/lkh.h"
#include "puretour/solve/local_search.h"

namespace puretour {
namespace {

// Up to here the dynamic program answers in milliseconds, and for certain.
constexpr NodeId kExactNodes = 12;

// What the algorithms see: no repeated points.
struct Task {
  const Instance& instance;
  const SolveOptions& options;
  std::vector<NodeId> initial;  // empty without one
};

struct Answer {
  std::vector<NodeId> order;
  std::string method;
};

// What EAX needs to know of an instance before it starts.
struct EaxPlan {
  Problem problem;
  EaxOptions options;
};

// Candidates in all directions, which clusters need. Where long ways lead between dense clusters, and where costs are
// no distances, good edges can be far down the lists, and Lin-Kernighan tours too much alike.
EaxPlan plan_eax(const Instance& instance) {
  constexpr double kClusteredShare = 0.2;
  constexpr std::size_t kMostClusteredNodes = 20000;  // above, 3-opt tours would take too long
  const bool is_matrix = instance.metric() == Metric::kExplicit;
  EaxPlan plan{Problem(instance, is_matrix ? 30 : 10, 1, CandidateKind::kQuadrant), {}};
  if (is_matrix) plan.options.merge_neighbours = 30;
  if (!is_matrix && instance.size() <= kMostClusteredNodes && long_edge_share(plan.problem) > kClusteredShare) {
    constexpr int kWide = 24;
    plan.problem = Problem(instance, kWide, 1, CandidateKind::kQuadrant);
    plan.options.merge_neighbours = kWide;
    plan.options.start = LocalOptimum::kThreeOpt;
  }
  return plan;
}

Answer evolve(const Task& task, const EaxPlan& plan, std::span<const NodeId> initial) {
  EaxOptions options = plan.options;
  if (task.options.progress) {
    options.progress = [&](const EaxProgress& p) {
      task.options.progress({"eax", plan.problem.to_instance_length(p.best_length)});
    };
  }
  return {eax(plan.problem, options, task.options.seed, task.options.deadline, initial).order, "eax"};
}

LocalSearchResult kick(const Task& task, const Problem& problem, std::int64_t max_kicks, const Deadline& deadline) {
  LocalSearchOptions options;
  options.deadline = deadline;
  options.max_kicks = max_kicks;
  options.seed = task.options.seed;
  options.start = task.initial;
  if (task.options.progress) {
    options.progress = [&](const LocalSearchProgress& p) {
      task.options.progress({"lk", problem.to_instance_length(p.best_length)});
    };
  }
  return iterated_local_search(problem, options);
}

// Kicks have found what they can after a few per node: then merging local optima is better, if there is time for it.
constexpr int kFewestToursToMerge = 12;

Answer run_lk(const Task& task, const SolverSettings& settings) {
  const auto n = static_cast<NodeId>(task.instance.size());
  const double seconds = task.options.deadline.seconds_left();
  const bool is_timed = seconds < std::numeric_limits<double>::infinity();
  constexpr double kKickShare = 0.1;
  const bool merges =
      is_timed && settings.max_kicks < 0 && kFewestToursToMerge * eax_seconds_per_tour(n) < (1 - kKickShare) * seconds;
  if (!merges) {
    const Problem problem(task.instance, kLocalSearchCandidates);
    return {kick(task, problem, settings.max_kicks, task.options.deadline).order, "lk"};
  }
  EaxPlan plan = plan_eax(task.instance);
  const LocalSearchResult first = kick(task, plan.problem, -1, task.options.deadline.after_share(kKickShare));
  plan.options.start = LocalOptimum::kLinKernighan;
  plan.options.population = 300;
  plan.options.fit_population = true;
  plan.options.runs = 1000;  // until two agree, or the time is over
  return {evolve(task, plan, first.order).order, "lk"};
}

Answer run_eax(const Task& task, const SolverSettings& settings) {
  // Small instances are cheap enough to be solved twice, which tells whether the tour is likely to be the best; the
  // runs grow until two agree. Longer ones are seldom solved to the last unit, so that runs would not agree.
  const bool is_small = task.instance.size() <= 1500;
  EaxPlan plan = plan_eax(task.instance);
  plan.options.population = settings.population > 0 ? settings.population : is_small ? 80 : 120;
  plan.options.runs = settings.runs > 0 ? settings.runs : is_small ? 5 : 1;
  return evolve(task, plan, task.initial);
}

Answer run_auto(const Task& task, const SolverSettings& settings) {
  // Without a limit nobody wants to wait for minutes unasked; with one, EAX is the better use of it once it can end.
  constexpr double kPatienceSeconds = 60;
  constexpr int kGoodPopulation = 30;
  constexpr std::int64_t kPatienceKicks = 100000;
  const auto n = static_cast<NodeId>(task.instance.size());
  const double seconds = task.options.deadline.seconds_left();
  if (seconds < std::numeric_limits<double>::infinity()) {
    // Twice the usual time of all runs: then the full programme fits.
    const bool has_time = n <= 1500 && seconds > 2 * 5 * 80 * eax_seconds_per_tour(n);
    return has_time ? run_eax(task, settings) : run_lk(task, settings);
  }
  if (kGoodPopulation * eax_seconds_per_tour(n) < kPatienceSeconds) return run_eax(task, settings);
  SolverSettings patient = settings;
  if (patient.max_kicks < 0) patient.max_kicks = std::min(10 * std::int64_t{n}, kPatienceKicks);
  return run_lk(task, patient);
}

class ClassicalSolver final : public Solver {
 public:
  using Algorithm = Answer (*)(const Task&, const SolverSettings&);
  ClassicalSolver(std::string name, Algorithm algorithm, SolverSettings settings)
      : name_(std::move(name)), algorithm_(algorithm), settings_(std::move(settings)) {}

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] SolveResult solve(const Instance& instance, const SolveOptions& options) const override {
    const auto start = std::chrono::steady_clock::now();
    if (instance.size() == 0) throw InputError("solve: the instance has no nodes");
    if (options.initial && options.initial->size() != instance.size()) {
      throw InputError(
          fmt::format("the initial tour has {} nodes, the instance {}", options.initial->size(), instance.size()));
    }
    const CollapsedInstance collapsed(instance);
    Answer answer = run(collapsed, options);
    SolveResult result{collapsed.expanded(Tour(std::move(answer.order))), 0, 0, std::move(answer.method)};
    result.length = tour_length(instance, result.tour);
    // Collapsing reorders copies, and costs of unrounded instances are rounded: compare with the start as it was given.
    if (options.initial) {
      const double initial_length = tour_length(instance, *options.initial);
      if (initial_length < result.length) {
        result.tour = *options.initial;
        result.length = initial_length;
      }
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  [[nodiscard]] Answer run(const CollapsedInstance& collapsed, const SolveOptions& options) const {
    const Instance& instance = collapsed.instance();
    if (static_cast<NodeId>(instance.size()) <= kExactNodes) {
      return {exact_tour(Problem(instance, instance.size())), "exact"};
    }
    Task task{instance, options, {}};
    if (options.initial) {
      const Tour initial = collapsed.collapsed(*options.initial);
      task.initial.assign(initial.order().begin(), initial.order().end());
    }
    return algorithm_(task, settings_);
  }

  std::string name_;
  Algorithm algorithm_;
  SolverSettings settings_;
};

class LkhSolver final : public Solver {
 public:
  explicit LkhSolver(std::string binary) : binary_(std::move(binary)) {}
  [[nodiscard]] std::string name() const override { return "lkh"; }
  [[nodiscard]] SolveResult solve(const Instance& instance, const SolveOptions& options) const override {
    if (instance.size() < 3) return make_solver("auto")->solve(instance, options);  // LKH refuses these
    return solve_with_lkh(instance, options, binary_);
  }

 private:
  std::string binary_;
};

}  // namespace

std::unique_ptr<Solver> make_solver(std::string_view name, const SolverSettings& settings) {
  if (name == "auto") return std::make_unique<ClassicalSolver>("auto", run_auto, settings);
  if (name == "lk") return std::make_unique<ClassicalSolver>("lk", run_lk, settings);
  if (name == "eax") return std::make_unique<ClassicalSolver>("eax", run_eax, settings);
  if (name == "lkh") return std::make_unique<LkhSolver>(settings.lkh_binary);
  throw InputError(fmt::format("unknown solver '{}'; choose auto, lk, eax or lkh", name));
}

}  // namespace puretour
