// SPDX-License-Identifier: MIT
#include "puretour/solve/solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/solve/collapse.h"
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

Answer run_lk(const Task& task, const SolverSettings& settings) {
  const Problem problem(task.instance, kLocalSearchCandidates);
  LocalSearchOptions options;
  options.deadline = task.options.deadline;
  options.max_kicks = settings.max_kicks;
  options.seed = task.options.seed;
  options.start = task.initial;
  if (task.options.progress) {
    options.progress = [&](const LocalSearchProgress& p) {
      task.options.progress({"lk", problem.to_instance_length(p.best_length)});
    };
  }
  return {iterated_local_search(problem, options).order, "lk"};
}

Answer run_eax(const Task& task, const SolverSettings& settings) {
  // Candidates in all directions, which clustered instances need; more of them where costs are no distances.
  const std::size_t num_candidates = task.instance.metric() == Metric::kExplicit ? 30 : 10;
  const Problem problem(task.instance, num_candidates, 1, CandidateKind::kQuadrant);
  EaxOptions options;
  options.population = settings.population;
  options.runs = settings.runs;
  if (task.options.progress) {
    options.progress = [&](const EaxProgress& p) {
      task.options.progress({"eax", problem.to_instance_length(p.best_length)});
    };
  }
  return {eax(problem, options, task.options.seed, task.options.deadline, task.initial).order, "eax"};
}

Answer run_auto(const Task& task, const SolverSettings& settings) {
  // Without a limit nobody wants to wait for minutes unasked; with one, EAX is the better use of it once it can end.
  constexpr double kPatienceSeconds = 60;
  const double seconds = std::min(task.options.deadline.seconds_left(), kPatienceSeconds);
  const int affordable = eax_population_for(static_cast<NodeId>(task.instance.size()), seconds);
  if (affordable == 0) return run_lk(task, settings);
  SolverSettings fitting = settings;
  fitting.population = std::min(settings.population, affordable);
  return run_eax(task, fitting);
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
