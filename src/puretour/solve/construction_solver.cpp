// SPDX-License-Identifier: MIT
#include "puretour/solve/construction_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/rng.h"
#include "puretour/geometry/remaining_neighbours.h"
#include "puretour/solve/collapse.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/initial_tour.h"
#include "puretour/solve/problem.h"
#include "puretour/solve/two_opt.h"

namespace puretour {
namespace {

constexpr std::size_t kCandidates = 10;

// In the plane the nearest node is also the cheapest one; other metrics are looked at node by node. A fixed edge is
// followed as soon as one of its ends is reached.
std::vector<NodeId> nearest_tour(const Instance& instance) {
  const std::vector<NodeId> mates = mates_of_fixed_edges(instance);
  std::vector<NodeId> order = {0};
  // The node at the other end of a fixed edge that has just been reached, or kNoMate.
  const auto due_mate = [&] {
    const NodeId mate = mates.empty() ? Problem::kNoMate : mates[static_cast<std::size_t>(order.back())];
    return order.size() > 1 && order[order.size() - 2] == mate ? Problem::kNoMate : mate;
  };
  const Metric metric = instance.metric();
  if (metric == Metric::kEuclidean || metric == Metric::kEuc2d || metric == Metric::kCeil2d) {
    RemainingNeighbours remaining(instance.points());
    remaining.remove(0);
    while (remaining.remaining() > 0) {
      NodeId next = due_mate();
      if (next == Problem::kNoMate) remaining.nearest(order.back(), 1, &next);
      remaining.remove(next);
      order.push_back(next);
    }
    return order;
  }
  std::vector<NodeId> rest(instance.size() - 1);
  std::iota(rest.begin(), rest.end(), 1);
  while (!rest.empty()) {
    const NodeId mate = due_mate();
    const auto nearest = mate != Problem::kNoMate
                             ? std::find(rest.begin(), rest.end(), mate)
                             : std::min_element(rest.begin(), rest.end(), [&](NodeId a, NodeId b) {
                                 return instance.distance(order.back(), a) < instance.distance(order.back(), b);
                               });
    order.push_back(*nearest);
    rest.erase(nearest);
  }
  return order;
}

class ConstructionSolver final : public Solver {
 public:
  explicit ConstructionSolver(Construction construction) : construction_(construction) {}

  [[nodiscard]] std::string name() const override {
    switch (construction_) {
      case Construction::kNearest:
        return "nearest";
      case Construction::kGreedy:
        return "greedy";
      case Construction::kTwoOpt:
        return "2opt";
    }
    throw InternalError("unknown construction");
  }

  [[nodiscard]] SolveResult solve(const Instance& instance, const SolveOptions& options) const override {
    const auto start = std::chrono::steady_clock::now();
    if (instance.size() == 0) throw InputError("solve: the instance has no nodes");
    check_initial_tour(instance, options);
    SolveResult result{tour_of(instance, options), 0, 0, name()};
    result.length = tour_length(instance, result.tour);
    keep_initial_tour_if_shorter(instance, options, result);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  // Equal points are not collapsed, which these heuristics would not do; but chains of fixed edges have to be.
  [[nodiscard]] Tour tour_of(const Instance& instance, const SolveOptions& options) const {
    if (instance.fixed_edges().empty()) return Tour(construct(instance, options));
    const CollapsedInstance collapsed(instance);
    return collapsed.expanded(Tour(construct(collapsed.instance(), options)));
  }

  [[nodiscard]] std::vector<NodeId> construct(const Instance& instance, const SolveOptions& options) const {
    // With three nodes there is only one tour.
    if (instance.size() <= 3) {
      const Tour only = Tour::identity(instance.size());
      return {only.order().begin(), only.order().end()};
    }
    if (construction_ == Construction::kNearest) return nearest_tour(instance);
    const Problem problem(instance, std::min(kCandidates, instance.size() - 1));
    std::vector<NodeId> order = greedy_tour(problem);
    if (construction_ == Construction::kGreedy) return order;
    Rng rng(options.seed);
    return two_opt(problem, order, rng, options.deadline);
  }

  Construction construction_;
};

}  // namespace

std::unique_ptr<Solver> make_construction_solver(Construction construction) {
  return std::make_unique<ConstructionSolver>(construction);
}

}  // namespace puretour
