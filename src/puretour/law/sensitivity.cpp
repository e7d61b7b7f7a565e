// SPDX-License-Identifier: MIT
#include "puretour/law/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/rng.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/k_opt.h"
#include "puretour/solve/landscape.h"
#include "puretour/solve/local_optima.h"
#include "puretour/solve/local_search.h"
#include "puretour/solve/problem.h"
#include "puretour/solve/solver.h"
#include "puretour/solve/two_opt.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using Length = Problem::Length;

// Streams of random numbers of one instance.
enum Stream : std::uint64_t { kStopped = 1, kNamed = 2 };

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

// Of the tours on the way down, the nearest one to each target is kept: a move gains up to a few percent, so that
// stopping below the target would miss it to one side.
class StoppedTours {
 public:
  StoppedTours(Length optimal, std::span<const double> targets) : tours_(targets.size()) {
    for (const double target : targets) lengths_.push_back(static_cast<double>(optimal) * (1 + target));
    distances_.assign(targets.size(), std::numeric_limits<double>::infinity());
    least_length_ = lengths_.empty() ? std::numeric_limits<double>::infinity()
                                     : *std::min_element(lengths_.begin(), lengths_.end());
  }

  // Whether the search is below all targets, and a lower tour would be nearer to none.
  [[nodiscard]] bool is_complete() const { return is_complete_; }

  // A tour of a search whose tours become shorter all the time.
  void see(Length length, const std::vector<NodeId>& order) {
    for (std::size_t t = 0; t < lengths_.size(); ++t) {
      const double distance = std::abs(static_cast<double>(length) - lengths_[t]);
      if (distance >= distances_[t]) continue;
      distances_[t] = distance;
      tours_[t] = order;
    }
    is_complete_ = static_cast<double>(length) <= least_length_;
  }

  std::vector<std::vector<NodeId>> take() && { return std::move(tours_); }

 private:
  std::vector<double> lengths_;    // of the targets
  std::vector<double> distances_;  // from there to the nearest tour so far
  std::vector<std::vector<NodeId>> tours_;
  double least_length_ = 0;
  bool is_complete_ = false;
};

// A step improves the tour at one node, as far as that goes; nodes are taken at random, so that the tour improves
// evenly everywhere, until no node gains. After that come kicks.
std::vector<std::vector<NodeId>> stopped_tours(const Problem& problem, std::span<const NodeId> optimal,
                                               std::span<const double> targets, Rng rng) {
  StoppedTours stopped(problem.length(optimal), targets);
  std::vector<NodeId> order = random_greedy_tour(problem, rng);
  stopped.see(problem.length(order), order);
  const Landscape landscape = make_landscape(problem, order, {});
  std::vector<NodeId> all(at(problem.size()));
  std::iota(all.begin(), all.end(), 0);
  auto search = make_search<EuclideanCost>(landscape, all, all, landscape.from_problem(order));
  Length length = problem.length(order);
  for (bool has_gained = true; has_gained && !stopped.is_complete();) {
    has_gained = false;
    for (const NodeId node : random_order(problem.size(), rng)) {
      search.push(node);
      // The search asks after the first node whether to go on to those whose edges have changed.
      const Length gain = search.descend(KOptParams{}, std::nullopt, [] { return true; }) / landscape.shift.factor;
      search.tour().commit();
      if (gain == 0) continue;
      has_gained = true;
      length -= gain;
      stopped.see(length, landscape.to_problem(search.tour().order()));
      if (stopped.is_complete()) break;
    }
  }
  assert(length == problem.length(landscape.to_problem(search.tour().order())));
  order = landscape.to_problem(search.tour().order());
  // Few kicks at a time, so that a search does not overshoot its target by much; each call draws other kicks.
  constexpr int kMaxCalls = 1000;
  for (int call = 0; call < kMaxCalls && !stopped.is_complete(); ++call) {
    LocalSearchOptions options;
    options.max_kicks = std::max<std::int64_t>(1, problem.size() / 50);
    options.seed = rng.bits();
    options.start = order;
    LocalSearchResult result = iterated_local_search(problem, options);
    order = std::move(result.order);
    stopped.see(result.length, order);
  }
  return std::move(stopped).take();
}

void check_options(const SensitivityOptions& options) {
  if (options.scales.empty() || options.distributions.empty() || options.instances == 0) {
    throw InputError("sensitivity: there is nothing to solve; give scales, distributions and a number of instances");
  }
  for (const std::size_t scale : options.scales) {
    if (scale < kMinSensitivityScale || scale > kMaxSensitivityScale) {
      throw InputError(
          fmt::format("sensitivity: {} nodes; give {} .. {}", scale, kMinSensitivityScale, kMaxSensitivityScale));
    }
  }
  for (const double target : options.targets) {
    if (!(target > 0)) throw InputError(fmt::format("sensitivity: target excess {}; give a number above 0", target));
  }
}

// What is kept of one instance: the excess and the orders of each group.
struct MeasuredGroups {
  std::vector<double> excesses;
  std::vector<LawSample> samples;
};

MeasuredGroups measure(const Instance& instance, const SensitivityOptions& options, std::uint64_t index) {
  const auto tours = tours_of_groups(instance, options.targets, mix64(options.seed) ^ index);
  const KdTree tree(instance.points());
  MeasuredGroups result;
  for (const std::vector<NodeId>& tour : tours) {
    LawSample sample;
    sample.index = index;
    sample.length = tour_length(instance, Tour(tour));
    sample.orders.add(tour_orders(tree, tour));
    result.samples.push_back(std::move(sample));
  }
  const double optimal = result.samples[kOptimalGroup].length;
  for (const LawSample& sample : result.samples) result.excesses.push_back(sample.length / optimal - 1);
  return result;
}

SensitivityRow make_row(const LawType& type, const TourGroup& group, std::size_t g,
                        std::span<const MeasuredGroups> instances) {
  SensitivityRow row;
  row.group = group;
  row.least_excess = std::numeric_limits<double>::infinity();
  row.most_excess = -row.least_excess;
  std::vector<LawSample> samples;
  for (const MeasuredGroups& instance : instances) {
    const double excess = instance.excesses[g];
    row.mean_excess += excess / static_cast<double>(instances.size());
    row.least_excess = std::min(row.least_excess, excess);
    row.most_excess = std::max(row.most_excess, excess);
    const PurityHistogram& optimal = instance.samples[kOptimalGroup].orders;
    if (instance.samples[g].orders.mean_order() > optimal.mean_order()) ++row.num_less_pure;
    samples.push_back(instance.samples[g]);
  }
  row.law = make_law_row(type, samples);
  return row;
}

}  // namespace

std::vector<TourGroup> tour_groups(std::span<const double> targets) {
  std::vector<TourGroup> groups = {{"optimal", {}}};
  for (const double target : targets) groups.push_back({fmt::format("stopped near {:g} %", 100 * target), target});
  for (const char* name : {"Lin-Kernighan", "3-opt from random", "2-opt from greedy", "2-opt from random",
                           "greedy edge", "nearest neighbour", "space-filling curve", "random"}) {
    groups.push_back({name, {}});
  }
  return groups;
}

std::vector<std::vector<NodeId>> tours_of_groups(const Instance& instance, std::span<const double> targets,
                                                 std::uint64_t seed) {
  SolveOptions solve_options;
  solve_options.seed = seed;
  const SolveResult optimal = make_solver("eax")->solve(instance, solve_options);
  const Problem problem(instance, kLocalSearchCandidates);

  std::vector<std::vector<NodeId>> tours = {{optimal.tour.order().begin(), optimal.tour.order().end()}};
  for (auto& tour : stopped_tours(problem, optimal.tour.order(), targets, Rng(seed, {kStopped}))) {
    tours.push_back(std::move(tour));
  }
  Rng rng(seed, {kNamed});
  const std::vector<NodeId> greedy = greedy_tour(problem);
  const std::vector<NodeId> random = random_order(problem.size(), rng);
  tours.push_back(LocalOptima(problem, LocalOptimum::kLinKernighan).draw(rng));
  tours.push_back(LocalOptima(problem, LocalOptimum::kThreeOpt).draw(rng));
  tours.push_back(two_opt(problem, greedy, rng));
  tours.push_back(two_opt(problem, random, rng));
  tours.push_back(greedy);
  tours.push_back(nearest_neighbour_tour(instance, static_cast<NodeId>(rng.below(instance.size()))));
  tours.push_back(hilbert_order(instance.points()));
  tours.push_back(random);
  return tours;
}

std::vector<NodeId> nearest_neighbour_tour(const Instance& instance, NodeId start) {
  std::vector<NodeId> rest(instance.size());
  std::iota(rest.begin(), rest.end(), 0);
  std::vector<NodeId> order = {start};
  rest.erase(rest.begin() + start);
  while (!rest.empty()) {
    const NodeId here = order.back();
    const auto nearest = std::min_element(rest.begin(), rest.end(), [&](NodeId a, NodeId b) {
      return instance.distance(here, a) < instance.distance(here, b);
    });
    order.push_back(*nearest);
    rest.erase(nearest);  // keeps the order by number, which breaks ties
  }
  return order;
}

std::vector<SensitivityRow> run_sensitivity(const SensitivityOptions& options) {
  check_options(options);
  const std::vector<LawType> types = law_types(options.scales, options.distributions, options.instances);
  const std::vector<TourGroup> groups = tour_groups(options.targets);
  std::vector<MeasuredGroups> measured(types.size() * options.instances);
  parallel_for(measured.size(), options.threads, [&](std::size_t i) {
    const LawType& type = types[i / options.instances];
    const std::uint64_t index = i % options.instances;
    measured[i] = measure(generate_instance({}, type.distribution, type.scale, options.seed, index), options, index);
    if (options.progress) options.progress();
  });
  std::vector<SensitivityRow> rows(types.size() * groups.size());
  parallel_for(rows.size(), options.threads, [&](std::size_t r) {
    const std::size_t type = r / groups.size();
    const std::size_t group = r % groups.size();
    rows[r] = make_row(types[type], groups[group], group,
                       std::span(measured).subspan(type * options.instances, options.instances));
  });
  return rows;
}

std::string sensitivity_csv(std::span<const SensitivityRow> rows) {
  std::string csv =
      "scale,distribution,group,target_excess,instances,mean_excess,least_excess,most_excess,alpha,alpha_low,"
      "alpha_high,beta,beta_low,beta_high,fit_error,prop_0,apo_all,apo_non_0,instances_less_pure_than_optimal\n";
  const auto optional = [](const auto& value, auto member) {
    return value ? fmt::format("{:.5f}", member(*value)) : std::string();
  };
  for (const SensitivityRow& row : rows) {
    const LawRow& law = row.law;
    const std::vector<std::string> fields = {
        fmt::format("{}", law.type.scale),
        std::string(distribution_name(law.type.distribution)),
        row.group.name,
        row.group.target ? fmt::format("{:g}", *row.group.target) : std::string(),
        fmt::format("{}", law.type.num_instances),
        fmt::format("{:.6f}", row.mean_excess),
        fmt::format("{:.6f}", row.least_excess),
        fmt::format("{:.6f}", row.most_excess),
        optional(law.fit, [](const ExponentialFit& fit) { return fit.alpha; }),
        optional(law.spread, [](const BootstrapResult& spread) { return spread.alpha.low; }),
        optional(law.spread, [](const BootstrapResult& spread) { return spread.alpha.high; }),
        optional(law.fit, [](const ExponentialFit& fit) { return fit.beta; }),
        optional(law.spread, [](const BootstrapResult& spread) { return spread.beta.low; }),
        optional(law.spread, [](const BootstrapResult& spread) { return spread.beta.high; }),
        law.fit ? fmt::format("{:.3e}", law.fit->mean_squared_error) : std::string(),
        fmt::format("{:.5f}", law.pooled.proportion_zero()),
        fmt::format("{:.5f}", law.pooled.mean_order()),
        optional(law.pooled.mean_positive_order(), [](double order) { return order; }),
        fmt::format("{}", row.num_less_pure),
    };
    csv += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return csv;
}

}  // namespace puretour
