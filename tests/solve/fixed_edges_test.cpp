// Every solver and the lower bound with edges that a tour must contain.
// SPDX-License-Identifier: MIT
#include "puretour/tour/fixed_edges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/solve/collapse.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/eax.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/local_search.h"
#include "puretour/solve/lower_bound.h"
#include "puretour/solve/solver.h"
#include "puretour/tour/tour.h"
#include "puretour/tour/tsplib.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

constexpr std::array kAllMethods = {"auto", "lk", "eax", "nearest", "greedy", "2opt"};

bool contains(const Tour& tour, std::span<const FixedEdge> edges) {
  std::vector<std::size_t> position(tour.size());
  for (std::size_t p = 0; p < tour.size(); ++p) position[static_cast<std::size_t>(tour[p])] = p;
  return std::all_of(edges.begin(), edges.end(), [&](const FixedEdge& edge) {
    const std::size_t p = position[static_cast<std::size_t>(edge.a)];
    const std::size_t q = position[static_cast<std::size_t>(edge.b)];
    return (p + 1) % tour.size() == q || (q + 1) % tour.size() == p;
  });
}

/// Each edge of the closed order with the given probability, in either direction and random sequence, some twice.
std::vector<FixedEdge> edges_of(std::span<const NodeId> order, double probability, Rng& rng) {
  std::vector<FixedEdge> edges;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (rng.uniform() >= probability) continue;
    FixedEdge edge{order[i], order[(i + 1) % order.size()]};
    if (rng.below(2) == 0) std::swap(edge.a, edge.b);
    edges.push_back(edge);
    if (rng.below(8) == 0) edges.push_back({edge.b, edge.a});
  }
  rng.shuffle(edges.data(), edges.size());
  return edges;
}

/// From a few edges to a cycle through all nodes.
Instance with_random_fixed_edges(const Instance& instance, Rng& rng) {
  constexpr std::array kProbabilities = {0.15, 0.3, 0.5, 0.8, 1.0};
  const double probability = kProbabilities[rng.below(kProbabilities.size())];
  const std::vector<NodeId> order = random_order(static_cast<NodeId>(instance.size()), rng);
  return instance.with_fixed_edges(edges_of(order, probability, rng));
}

/// The shortest tour by enumeration; costs are not negative.
class Enumeration {
 public:
  explicit Enumeration(const Instance& instance) : instance_(instance), order_(instance.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    extend(1, 0);
  }
  [[nodiscard]] double shortest() const { return shortest_; }

 private:
  void extend(std::size_t size, double length) {
    if (length >= shortest_) return;
    if (size == order_.size()) {
      length += instance_.distance(order_.back(), order_.front());
      if (length < shortest_ && contains(Tour(order_), instance_.fixed_edges())) shortest_ = length;
      return;
    }
    for (std::size_t i = size; i < order_.size(); ++i) {
      std::swap(order_[size], order_[i]);
      extend(size + 1, length + instance_.distance(order_[size - 1], order_[size]));
      std::swap(order_[size], order_[i]);
    }
  }

  const Instance& instance_;
  std::vector<NodeId> order_;
  double shortest_ = std::numeric_limits<double>::infinity();
};

TEST(FixedEdgesInSolvers, GiveTheShortestTourOfSmallInstances) {
  Rng rng(1);
  int num_at_least_as_strong = 0;
  int num_instances = 0;
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = 5; n <= 9; ++n) {
      for (int round = 0; round < 30; ++round, ++num_instances) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", n " << n << ", round " << round);
        const Instance plain = random_instance(kind, n, rng);
        const Instance instance = with_random_fixed_edges(plain, rng);
        const double shortest = Enumeration(instance).shortest();
        const double tolerance = 1e-6 * shortest;
        Tour tour;
        for (const char* method : {"auto", "lk", "eax"}) {
          const SolveResult result = make_solver(method)->solve(instance, {});
          tour = result.tour;
          ASSERT_TRUE(contains(tour, instance.fixed_edges())) << method;
          ASSERT_NEAR(result.length, shortest, tolerance) << method;
        }
        // The algorithms themselves, which make_solver() does not use for so few nodes.
        const CollapsedInstance collapsed(instance);
        const Problem problem(collapsed.instance(), kLocalSearchCandidates);
        const auto check = [&](const std::vector<NodeId>& order, const char* name) {
          const Tour expanded = collapsed.expanded(Tour(order));
          EXPECT_TRUE(contains(expanded, instance.fixed_edges())) << name;
          EXPECT_NEAR(tour_length(instance, expanded), shortest, tolerance) << name;
        };
        check(exact_tour(problem), "exact");
        LocalSearchOptions options;
        options.max_kicks = 100;
        check(iterated_local_search(problem, options).order, "lk");
        if (problem.size() >= 5) check(eax(problem, {.population = 20, .runs = 2}, 1).order, "eax");

        const LowerBound bound = held_karp_bound(instance, tour);
        EXPECT_TRUE(bound.is_proven);
        EXPECT_LE(bound.length, shortest * (1 + 1e-12));
        num_at_least_as_strong += bound.length >= held_karp_bound(plain, tour).length - tolerance ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(num_instances, 1200);
  EXPECT_GE(num_at_least_as_strong, 1140);
}

TEST(FixedEdgesInSolvers, GiveTheLengthOfTheDynamicProgramme) {
  // Larger than enumeration allows for, so that kicks and crossover have something to do after contraction.
  Rng rng(2);
  for (const Kind kind : kAllKinds) {
    for (int round = 0; round < 20; ++round) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", round " << round);
      const Instance plain = random_instance(kind, 13, rng);
      const std::vector<NodeId> order = random_order(13, rng);
      const Instance instance = plain.with_fixed_edges(edges_of(order, 0.2, rng));
      const CollapsedInstance collapsed(instance);
      const Problem problem(collapsed.instance(), kLocalSearchCandidates);
      const Problem::Length shortest = problem.length(exact_tour(problem));
      LocalSearchOptions options;
      options.max_kicks = 300;
      const std::vector<NodeId> by_lk = iterated_local_search(problem, options).order;
      EXPECT_TRUE(contains(collapsed.expanded(Tour(by_lk)), instance.fixed_edges()));
      EXPECT_EQ(problem.length(by_lk), shortest);
      if (problem.size() < 5) continue;
      const std::vector<NodeId> by_eax = eax(problem, {.population = 30, .runs = 2}, 1).order;
      EXPECT_TRUE(contains(collapsed.expanded(Tour(by_eax)), instance.fixed_edges()));
      EXPECT_EQ(problem.length(by_eax), shortest);
    }
  }
}

TEST(FixedEdgesInSolvers, SurviveEveryMethod) {
  Rng rng(3);
  for (const Kind kind : kAllKinds) {
    const Instance plain = random_instance(kind, 300, rng);
    for (const double probability : {0.05, 0.2, 0.6, 1.0}) {
      const Instance instance = plain.with_fixed_edges(edges_of(random_order(300, rng), probability, rng));
      for (const char* method : kAllMethods) {
        SCOPED_TRACE(testing::Message() << method << ", kind " << static_cast<int>(kind) << ", " << probability);
        // Short searches: it is not the quality that is looked at.
        const auto solver = make_solver(method, {.max_kicks = 300, .population = 10, .runs = 1});
        const SolveResult result = solver->solve(instance, {});
        EXPECT_TRUE(contains(result.tour, instance.fixed_edges()));
        EXPECT_EQ(result.length, tour_length(instance, result.tour));
      }
    }
  }
}

TEST(FixedEdgesInSolvers, SurviveInCellsOfLargeInstances) {
  Rng rng(4);
  constexpr NodeId kNodes = 16500;
  const Instance plain = uniform_benchmark(kNodes);
  // Long edges across the whole square, and short ones along a curve.
  for (const std::vector<NodeId>& order : {random_order(kNodes, rng), hilbert_order(plain.points())}) {
    const Instance instance = plain.with_fixed_edges(edges_of(order, 0.2, rng));
    EXPECT_GT(CollapsedInstance(instance).instance().size(), 15000U);
    const SolveResult result = make_solver("lk", {.max_kicks = 1000})->solve(instance, {});
    EXPECT_EQ(result.method, "lk");
    EXPECT_TRUE(contains(result.tour, instance.fixed_edges()));
    // What was left to choose has become shorter.
    double fixed_length = 0;
    for (const auto [a, b] : instance.fixed_edges()) fixed_length += instance.distance(a, b);
    const double greedy_length = make_solver("greedy")->solve(instance, {}).length;
    EXPECT_LT(result.length - fixed_length, 0.93 * (greedy_length - fixed_length));
  }
}

TEST(FixedEdgesInSolvers, SurviveTimeLimits) {
  Rng rng(5);
  const Instance plain = uniform_benchmark(400);
  const Instance instance = plain.with_fixed_edges(edges_of(random_order(400, rng), 0.2, rng));
  for (const char* method : kAllMethods) {
    for (const double seconds : {0.0, 0.02, 0.3}) {  // a curve, kicks, kicks and merging
      const SolveResult result = make_solver(method)->solve(instance, {.deadline = Deadline::after_seconds(seconds)});
      EXPECT_TRUE(contains(result.tour, instance.fixed_edges())) << method << " " << seconds;
    }
  }
}

TEST(FixedEdgesInSolvers, MustBeInTheInitialTour) {
  Rng rng(6);
  for (const std::size_t n : {4, 8, 40}) {
    const Instance plain = random_instance(Kind::kManhattan, n, rng);
    const auto last = static_cast<NodeId>(n - 1);
    const std::vector<FixedEdge> edges = {{1, 0}, {0, last}, {2, 3}};
    const Instance instance = plain.with_fixed_edges(edges);
    std::vector<NodeId> without = {0, 2, 1};
    for (NodeId v = 3; v <= last; ++v) without.push_back(v);
    for (const char* method : {"auto", "lk", "eax", "lkh", "nearest", "greedy", "2opt"}) {
      const auto solver = make_solver(method, {.lkh_binary = "./no such program"});
      try {
        (void)solver->solve(instance, {.initial = Tour(without)});
        ADD_FAILURE() << method << " accepted it";
      } catch (const InputError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "the initial tour lacks the fixed edge 2-1 of the instance; give a tour with all fixed edges, or "
                  "remove that edge")
            << method;
      }
      if (std::string_view(method) == "lkh") continue;
      const SolveResult result = solver->solve(instance, {.initial = Tour::identity(n)});
      EXPECT_TRUE(contains(result.tour, edges)) << method;
      EXPECT_LE(result.length, tour_length(instance, Tour::identity(n))) << method;
    }
    EXPECT_THROW((void)held_karp_bound(instance, Tour(without)), InputError);
  }
  // The algorithms check what they are given themselves.
  const Problem problem(uniform_benchmark(20).with_fixed_edges(std::vector<FixedEdge>{{0, 2}}), 8);
  const Tour identity = Tour::identity(20);
  LocalSearchOptions options;
  options.start = identity.order();
  EXPECT_THROW((void)iterated_local_search(problem, options), InputError);
  EXPECT_THROW((void)eax(problem, {}, 1, {}, identity.order()), InputError);
}

TEST(FixedEdgesInSolvers, OfChainsAreRefusedByProblems) {
  const Instance instance = uniform_benchmark(9).with_fixed_edges(std::vector<FixedEdge>{{0, 2}, {5, 2}});
  EXPECT_THROW(Problem(instance, 5), InputError);
  EXPECT_NO_THROW(Problem(CollapsedInstance(instance).instance(), 5));
}

TEST(FixedEdgesInSolvers, LeaveNothingToChooseWhereTheyAreAWholeTour) {
  Rng rng(7);
  for (const std::size_t n : {1, 2, 3, 4, 30, 300}) {
    const Instance plain = random_instance(Kind::kGrid, n, rng);
    const std::vector<NodeId> order = random_order(static_cast<NodeId>(n), rng);
    const Instance instance = n < 2 ? plain : plain.with_fixed_edges(edges_of(order, 1, rng));
    for (const char* method : kAllMethods) {
      EXPECT_EQ(make_solver(method)->solve(instance, {}).tour.normal_form(), Tour(order).normal_form()) << method;
    }
    EXPECT_EQ(held_karp_bound(instance, Tour(order)).length, tour_length(instance, Tour(order)));
  }
}

TEST(FixedEdgesInSolvers, ReachTheOptimumOfLinhp318) {
  const std::filesystem::path path = std::filesystem::path(PURETOUR_SHARED_DATA) / "tsplib" / "linhp318.tsp";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no file " << path;
  const Instance instance = parse_tsplib(read_file(path), path);
  // TSPLIB publishes the length of the path between the ends of the fixed edge, without that edge.
  const double optimum = 41345 + instance.distance(0, 213);
  for (const char* method : {"lk", "eax", "auto"}) {
    const SolveResult result = make_solver(method)->solve(instance, {});
    EXPECT_TRUE(contains(result.tour, instance.fixed_edges())) << method;
    EXPECT_EQ(result.length, optimum) << method;
    const LowerBound bound = held_karp_bound(instance, result.tour);
    EXPECT_LE(bound.length, optimum);
    EXPECT_GE(bound.length, 0.99 * optimum);
  }
}

}  // namespace
}  // namespace puretour
