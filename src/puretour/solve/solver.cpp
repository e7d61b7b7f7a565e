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
#include "puretour/solve/construction_solver.h"
#include "puretour/solve/eax.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/initial_tour.h"
#include "puretour/solve/lkh.h"
#include "puretour/solve/local_search.h"

namespace puretour {
namespace {

// Up to here the dynamic program answers in milliseconds, and for certain.
constexpr NodeId kExactNodes = 12;

// What the algorithms see: no repeated points, and no node with two fixed edges.
struct Task {
  const Instance& instance;
  const SolveOptions& options;
  std::vector<NodeId> initial;  // empty without one
};

struct Answer {
  std::vector<NodeId> order;
  std::string method;
};

constexpr std::size_t kMaxSmallNodes = 1500;
constexpr int kManyRuns = 1000;  // until two agree, or the time is over

// What EAX needs to know of an instance before it starts.
struct EaxPlan {
  Problem problem;
  EaxOptions options;
  bool is_clustered = false;
};

// Candidates in all directions, which clusters need. Where long ways lead between dense clusters, and where costs are
// no distances, good edges can be far down the lists, and Lin-Kernighan tours too much alike.
EaxPlan plan_eax(const Instance& instance) {
  constexpr double kClusteredShare = 0.2;
  constexpr std::size_t kMaxClusteredNodes = 20000;  // above, 3-opt tours would take too long
  const bool is_matrix = instance.metric() == Metric::kExplicit;
  EaxPlan plan{Problem(instance, is_matrix ? 30 : 10, 1, CandidateKind::kQuadrant), {}};
  if (is_matrix) plan.options.merge_neighbours = 30;
  if (!is_matrix && instance.size() <= kMaxClusteredNodes && long_edge_share(plan.problem) > kClusteredShare) {
    constexpr int kWide = 24;
    plan.problem = Problem(instance, kWide, 1, CandidateKind::kQuadrant);
    plan.options.merge_neighbours = kWide;
    plan.is_clustered = true;
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

bool is_timed(const Task& task) {
  return task.options.deadline.seconds_left() < std::numeric_limits<double>::infinity();
}

// Whether `seconds` are enough for a population worth the name.
bool can_evolve(const Task& task, double seconds) {
  constexpr int kFewestTours = 12;
  return kFewestTours * eax_seconds_per_tour(static_cast<NodeId>(task.instance.size())) < seconds;
}

Answer run_kicks(const Task& task, const SolverSettings& settings) {
  // Quadrants give the penalties a graph without gaps; where there is no time for penalties, plain neighbours do.
  constexpr double kMaxQuadrantNodes = 200000;
  constexpr double kQuadrantSecondsPerNode = 1e-4;
  const auto n = static_cast<double>(task.instance.size());
  const bool has_time = n <= kMaxQuadrantNodes && task.options.deadline.seconds_left() > kQuadrantSecondsPerNode * n;
  const auto kind = has_time ? CandidateKind::kQuadrant : CandidateKind::kNearest;
  const Problem problem(task.instance, kLocalSearchCandidates, 1, kind);
  return {kick(task, problem, settings.max_kicks, task.options.deadline).order, "lk"};
}

// Kicks have found what they can after a few per node: then merging local optima is better, if there is time for it.
Answer run_lk(const Task& task, const SolverSettings& settings) {
  constexpr double kKickShare = 0.1;
  const bool merges = is_timed(task) && settings.max_kicks < 0 &&
                      can_evolve(task, (1 - kKickShare) * task.options.deadline.seconds_left());
  if (!merges) return run_kicks(task, settings);
  EaxPlan plan = plan_eax(task.instance);
  const LocalSearchResult first = kick(task, plan.problem, -1, task.options.deadline.after_share(kKickShare));
  plan.options.start = LocalOptimum::kLinKernighan;
  plan.options.population = std::clamp(static_cast<int>(task.instance.size()) / 5, 40, 300);
  plan.options.fit_population = true;
  plan.options.runs = kManyRuns;
  return {evolve(task, plan, first.order).order, "lk"};
}

Answer run_eax(const Task& task, const SolverSettings& settings) {
  if (is_timed(task) && !can_evolve(task, task.options.deadline.seconds_left())) return run_kicks(task, settings);
  // Small instances are cheap enough to be solved twice, which tells whether the tour is likely to be the best; the
  // runs grow until two agree. Longer ones are seldom solved to the last unit, so that runs would not agree; one run
  // with many tours is better.
  const bool is_small = task.instance.size() <= kMaxSmallNodes;
  EaxPlan plan = plan_eax(task.instance);
  plan.options.population = is_small ? 80 : plan.is_clustered ? 150 : 300;
  plan.options.runs = is_timed(task) ? kManyRuns : is_small ? 5 : plan.is_clustered ? 4 : 1;
  plan.options.fit_population = settings.population == 0;
  if (settings.population > 0) plan.options.population = settings.population;
  if (settings.runs > 0) plan.options.runs = settings.runs;
  return evolve(task, plan, task.initial);
}

Answer run_auto(const Task& task, const SolverSettings& settings) {
  const double seconds_per_tour = eax_seconds_per_tour(static_cast<NodeId>(task.instance.size()));
  if (is_timed(task)) {
    // Small instances: EAX as without a limit, if that is likely to end in half of the time.
    constexpr double kToursOfAllRuns = 5 * 80;
    const bool has_time = task.instance.size() <= kMaxSmallNodes &&
                          task.options.deadline.seconds_left() > 2 * kToursOfAllRuns * seconds_per_tour;
    return has_time ? run_eax(task, settings) : run_lk(task, settings);
  }
  // Without a limit nobody wants to wait for minutes unasked.
  constexpr double kPatienceSeconds = 60;
  constexpr double kGoodPopulation = 30;
  constexpr std::int64_t kPatienceKicks = 100000;
  SolverSettings patient = settings;
  const double affordable = kPatienceSeconds / seconds_per_tour;
  if (affordable >= kGoodPopulation) {
    if (settings.population == 0 && affordable < 300) patient.population = static_cast<int>(affordable);
    return run_eax(task, patient);
  }
  if (patient.max_kicks < 0) {
    patient.max_kicks = std::min(10 * static_cast<std::int64_t>(task.instance.size()), kPatienceKicks);
  }
  return run_lk(task, patient);
}

// Neighbour lists and a greedy tour take about 3e-6 s per node. With little more than that, a space-filling curve is
// what can be done in time.
bool is_in_a_hurry(const Task& task) {
  constexpr double kSecondsPerNode = 4e-6;
  return task.initial.empty() && !task.instance.points().empty() &&
         task.options.deadline.seconds_left() < kSecondsPerNode * static_cast<double>(task.instance.size());
}

std::vector<NodeId> curve_tour(const Instance& instance) {
  return with_mates_together(hilbert_order(instance.points()), mates_of_fixed_edges(instance));
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
    check_initial_tour(instance, options);
    const CollapsedInstance collapsed(instance);
    Answer answer = run(collapsed, options);
    SolveResult result{collapsed.expanded(Tour(std::move(answer.order))), 0, 0, std::move(answer.method)};
    result.length = tour_length(instance, result.tour);
    // Collapsing reorders copies, and costs of unrounded instances are rounded: compare with the start as it was given.
    keep_initial_tour_if_shorter(instance, options, result);
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
    if (is_in_a_hurry(task)) return {curve_tour(instance), "curve"};
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
  if (name == "nearest") return make_construction_solver(Construction::kNearest);
  if (name == "greedy") return make_construction_solver(Construction::kGreedy);
  if (name == "2opt") return make_construction_solver(Construction::kTwoOpt);
  throw InputError(fmt::format("unknown solver '{}'; choose auto, lk, eax, lkh, nearest, greedy or 2opt", name));
}

}  // namespace puretour
