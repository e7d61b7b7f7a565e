// SPDX-License-Identifier: MIT
#include "puretour/solve/solver.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/lower_bound.h"
#include "puretour/solve/problem.h"
#include "puretour/tour/tsplib.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

double optimal_length(const Instance& instance) {
  const Problem problem(instance, instance.size());
  return tour_length(instance, Tour(exact_tour(problem)));
}

Tour random_tour(std::size_t n, std::uint64_t seed) {
  std::vector<NodeId> order(n);
  std::iota(order.begin(), order.end(), 0);
  Rng(seed).shuffle(order.data(), n);
  return Tour(std::move(order));
}

TEST(Solvers, FindTheOptimumOfSmallInstances) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : {1, 2, 3, 4, 8, 12, 13, 14}) {
      const Instance instance = random_instance(kind, n, rng);
      const double optimum = optimal_length(instance);
      for (const char* name : {"auto", "lk", "eax"}) {
        const SolveResult result = make_solver(name)->solve(instance, {.seed = n});
        EXPECT_NEAR(result.length, optimum, 1e-6 * optimum) << name << " kind " << static_cast<int>(kind) << " n " << n;
        EXPECT_EQ(result.length, tour_length(instance, result.tour));
      }
    }
  }
}

TEST(Solvers, NeverReturnALongerTourThanTheyWereGiven) {
  Rng rng(2);
  for (const Kind kind : kAllKinds) {
    const Instance instance = random_instance(kind, 60, rng);
    const SolveResult good = make_solver("eax")->solve(instance, {});
    for (const char* name : {"auto", "lk", "eax"}) {
      for (const Tour& initial : {good.tour, random_tour(60, 3)}) {
        SolveOptions options;
        options.initial = initial;
        options.deadline = Deadline::after_seconds(0);  // no time for anything better
        const SolveResult result = make_solver(name)->solve(instance, options);
        EXPECT_LE(result.length, tour_length(instance, initial)) << name << " kind " << static_cast<int>(kind);
      }
    }
  }
}

TEST(Solvers, ReturnATourHoweverLittleTimeThereIs) {
  Rng rng(3);
  for (const char* name : {"auto", "lk", "eax"}) {
    const Instance instance = random_instance(Kind::kUniform, 3000, rng);
    const SolveResult result = make_solver(name)->solve(instance, {.deadline = Deadline::after_seconds(0)});
    EXPECT_EQ(result.tour.size(), 3000U) << name;
  }
}

TEST(Solvers, GiveTheSameTourForTheSameSeed) {
  Rng rng(4);
  const Instance instance = random_instance(Kind::kUniform, 300, rng);
  for (const char* name : {"auto", "lk", "eax"}) {
    const auto solver = make_solver(name, {.max_kicks = 2000, .population = 30});
    EXPECT_EQ(solver->solve(instance, {.seed = 5}).tour, solver->solve(instance, {.seed = 5}).tour) << name;
  }
}

TEST(Solvers, HandleDegenerateInput) {
  for (const char* name : {"auto", "lk", "eax"}) {
    const auto solver = make_solver(name);
    EXPECT_THROW((void)solver->solve(Instance(), {}), InputError);
    EXPECT_EQ(solver->solve(Instance(std::vector<Point>(50, Point{1, 2})), {}).length, 0);
    std::vector<Point> line;
    for (int i = 0; i < 40; ++i) line.push_back({static_cast<double>(i * 17 % 40), 0});
    EXPECT_NEAR(solver->solve(Instance(line), {}).length, 78, 1e-6) << name;
    // 200 points on a 4 x 4 grid of spacing 100.
    std::vector<Point> grid;
    for (int i = 0; i < 200; ++i) grid.push_back({100.0 * (i % 4), 100.0 * (i / 4 % 4)});
    EXPECT_EQ(solver->solve(Instance(grid, Metric::kEuc2d), {}).length, 1600) << name;
  }
  EXPECT_THROW(make_solver("concorde"), InputError);
}

TEST(Solvers, ReachKnownOptimaOfTsplib) {
  const std::filesystem::path folder = std::filesystem::path(PURETOUR_SHARED_DATA) / "tsplib";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no TSPLIB files in " << folder;
  std::ifstream solutions(folder / "solutions");
  int solved = 0;
  for (std::string line; std::getline(solutions, line);) {
    std::istringstream fields(line);
    std::string name;
    std::string colon;
    double optimum = 0;
    fields >> name >> colon >> optimum;
    // The optimum of linhp318 is that of a path, without its fixed edge: see fixed_edges_test.cpp.
    if (name == "linhp318" || !std::filesystem::exists(folder / (name + ".tsp"))) continue;
    const Instance instance = parse_tsplib(read_file(folder / (name + ".tsp")), name);
    if (instance.size() > 130) continue;
    EXPECT_EQ(make_solver("eax", {.runs = 5})->solve(instance, {}).length, optimum) << name;
    ++solved;
  }
  EXPECT_GE(solved, 35);
}

TEST(Solvers, FollowTsplibWhereGeoNodesShareAPlace) {
  // TSPLIB's formula gives distance 1 to different nodes at one place, so copies are not free.
  const Instance instance(std::vector<Point>(15, Point{16.47, 96.10}), Metric::kGeo);
  EXPECT_EQ(instance.distance(0, 1), 1);
  EXPECT_EQ(instance.distance(1, 1), 0);
  EXPECT_EQ(make_solver("eax")->solve(instance, {}).length, 15);
}

TEST(HeldKarpBound, NeverExceedsTheOptimum) {
  Rng rng(5);
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : {1, 2, 3, 4, 5, 8, 11}) {
      const Instance instance = random_instance(kind, n, rng);
      const double optimum = optimal_length(instance);
      const LowerBound bound = held_karp_bound(instance, random_tour(n, n));
      EXPECT_TRUE(bound.is_proven);
      EXPECT_LE(bound.length, optimum * (1 + 1e-12)) << static_cast<int>(kind) << " n " << n;
      // Distances without triangle inequality may be far from any bound.
      if (kind == Kind::kMatrix) continue;
      EXPECT_GE(bound.length, 0.85 * optimum) << static_cast<int>(kind) << " n " << n;
    }
  }
}

TEST(HeldKarpBound, IsCloseOnUniformPoints) {
  const Instance instance = uniform_benchmark(200, 200);
  constexpr double kBestKnown = 10397407;
  const LowerBound bound = held_karp_bound(instance, make_solver("lk", {.max_kicks = 2000})->solve(instance, {}).tour);
  EXPECT_LE(bound.length, kBestKnown);
  EXPECT_GE(bound.length, 0.98 * kBestKnown);
}

}  // namespace
}  // namespace puretour
