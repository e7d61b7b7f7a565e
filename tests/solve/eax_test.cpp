// SPDX-License-Identifier: MIT
#include "puretour/solve/eax.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/solver.h"
#include "puretour/tour/tour.h"
#include "puretour/tour/tsplib.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

// Also checks that the tour is one and has the reported length.
Problem::Length eax_length(const Problem& problem, const EaxOptions& options, std::uint64_t seed) {
  const EaxResult result = eax(problem, options, seed);
  check_permutation(result.order, static_cast<std::size_t>(problem.size()));
  EXPECT_EQ(problem.length(result.order), result.length);
  return result.length;
}

TEST(Eax, EqualsTheExactSolutionOnSmallInstances) {
  Rng rng(1);
  EaxOptions options;
  options.population = 30;
  for (int round = 0; round < 800; ++round) {
    const Kind kind = kAllKinds[static_cast<std::size_t>(round) % kAllKinds.size()];
    const Problem problem(random_instance(kind, 5 + rng.below(7), rng), 10);
    EXPECT_EQ(eax_length(problem, options, static_cast<std::uint64_t>(round)), problem.length(exact_tour(problem)))
        << "round " << round << ", " << problem.size() << " nodes";
  }
}

TEST(Eax, AcceptsNegativeWeights) {
  Rng rng(2);
  for (int round = 0; round < 50; ++round) {
    const std::size_t n = 5 + rng.below(7);
    WeightMatrix matrix{n, std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        matrix.weights[i * n + j] = matrix.weights[j * n + i] = static_cast<double>(rng.below(100)) - 60;
      }
    }
    const Problem problem(Instance(std::move(matrix)), 10);
    EXPECT_EQ(eax_length(problem, {.population = 30}, 1), problem.length(exact_tour(problem)));
  }
}

TEST(Eax, FindsTheBestKnownToursOfUniformInstances) {
  struct Known {
    std::uint64_t num_nodes, first_state;
    Problem::Length length;
  };
  for (const Known& known : {Known{200, 200, 10397407}, {200, 200002, 10605689}, {200, 200003, 10549284}}) {
    const Problem problem(uniform_benchmark(known.num_nodes, known.first_state), 10);
    EXPECT_EQ(eax_length(problem, {}, 1), known.length) << known.first_state;
  }
}

TEST(Eax, EndsOnDegenerateInstances) {
  const auto solve = [](std::vector<Point> points) {
    const Problem problem(Instance(std::move(points), Metric::kEuc2d), 10);
    return eax_length(problem, {}, 0);
  };
  EXPECT_EQ(solve(std::vector<Point>(50, Point{3, 4})), 0) << "all points equal";

  std::vector<Point> line;
  for (int i = 0; i < 40; ++i) line.push_back({10.0 * ((i * 17) % 40), 0});
  EXPECT_EQ(solve(line), 780) << "collinear";

  std::vector<Point> stacked;
  for (int i = 0; i < 200; ++i) stacked.push_back({100.0 * (i % 4), 100.0 * (i / 4 % 4)});
  // All candidates of a point lie at its own place, so that only luck leads further; it has to end, though.
  EXPECT_LT(solve(stacked), 2400) << "200 points at 16 places";
  EXPECT_EQ(make_solver("eax")->solve(Instance(stacked, Metric::kEuc2d), {}).length, 1600) << "collapsed";

  std::vector<Point> grid;
  for (int i = 0; i < 100; ++i) grid.push_back({100.0 * (i % 10), 100.0 * (i / 10)});
  EXPECT_EQ(solve(grid), 10000) << "many optimal tours";

  EXPECT_EQ(solve({{-1e7, -1e7}, {1e7, -1e7}, {0, 0}, {1e7, 1e7}, {-1e7, 1e7}}), 60000000 + 2 * 14142136)
      << "large coordinates";
}

TEST(Eax, RefusesWhatItCannotDo) {
  Rng rng(3);
  EXPECT_THROW(eax(Problem(random_instance(Kind::kUniform, 4, rng), 10), {}, 0), InputError);
  const Problem problem(random_instance(Kind::kUniform, 20, rng), 10);
  EXPECT_THROW(eax(problem, {.population = 1}, 0), InputError);
  EXPECT_THROW(eax(problem, {.children = 0}, 0), InputError);
  EXPECT_THROW(eax(problem, {.runs = 0}, 0), InputError);
  const std::vector<NodeId> no_tour(20, 0);
  EXPECT_THROW(eax(problem, {}, 0, {}, no_tour), InputError);
}

// One line per generation, so that two runs can be compared step by step.
std::string trace(const Problem& problem, std::uint64_t seed) {
  std::string lines;
  EaxOptions options;
  options.population = 20;
  options.runs = 2;
  options.progress = [&](const EaxProgress& p) {
    lines += fmt::format("{} {} {} {} {}\n", p.run, p.generation, p.stage, p.best_length, p.mean_length);
    EXPECT_EQ(problem.length(p.best), p.best_length);
  };
  eax(problem, options, seed);
  return lines;
}

TEST(Eax, DependsOnTheSeedOnly) {
  const Problem problem(uniform_benchmark(150), 10);
  const std::string alone = trace(problem, 5);
  EXPECT_NE(alone, trace(problem, 6));
  std::vector<std::string> in_parallel(4);
  parallel_for(4, 2, [&](std::size_t i) { in_parallel[i] = trace(problem, 5); });
  for (const std::string& lines : in_parallel) EXPECT_EQ(lines, alone);
}

TEST(Eax, ReturnsTheBestTourSoFarAtTheDeadline) {
  const Problem problem(uniform_benchmark(500), 10);
  const EaxResult at_once = eax(problem, {}, 1, Deadline::after_seconds(0));
  EXPECT_EQ(at_once.stop, EaxStop::kDeadline);
  EXPECT_EQ(problem.length(at_once.order), at_once.length);

  std::atomic<bool> flag = false;
  EaxOptions options;
  options.progress = [&](const EaxProgress& p) { flag = p.generation == 3; };
  const EaxResult early = eax(problem, options, 1, Deadline().with_stop_flag(&flag));
  EXPECT_EQ(early.stop, EaxStop::kDeadline);
  EXPECT_EQ(early.generations, 3);
  EXPECT_EQ(problem.length(early.order), early.length);
  EXPECT_LT(early.length, at_once.length);
}

TEST(Eax, KeepsAnInitialTourThatNothingBeats) {
  const Problem problem(uniform_benchmark(200), 10);
  const EaxResult best = eax(problem, {}, 1);
  EaxOptions weak;
  weak.population = 2;
  const EaxResult kept = eax(problem, weak, 2, {}, best.order);
  EXPECT_EQ(kept.length, best.length);
  EXPECT_EQ(kept.order, best.order);
}

TEST(Eax, StopsAtTheTarget) {
  const Problem problem(uniform_benchmark(200), 10);
  EaxOptions options;
  options.target = 10500000;
  const EaxResult result = eax(problem, options, 1);
  EXPECT_EQ(result.stop, EaxStop::kTarget);
  EXPECT_LE(result.length, options.target);
  EXPECT_LT(result.generations, eax(problem, {}, 1).generations);
}

TEST(Eax, MoreRunsNeverGiveALongerTour) {
  const Problem problem(uniform_benchmark(200, 200001), 10);
  EaxOptions options;
  options.population = 10;
  const Problem::Length once = eax_length(problem, options, 3);
  options.runs = 4;
  EXPECT_LE(eax_length(problem, options, 3), once);
}

TEST(Eax, StopsWhenASecondRunConfirmsTheFirst) {
  const Problem problem(uniform_benchmark(100), 10);
  EaxOptions options;
  options.population = 40;
  options.runs = 20;
  const EaxResult result = eax(problem, options, 1);
  EXPECT_EQ(result.stop, EaxStop::kConfirmed);
  options.confirm = false;
  options.runs = 4;
  const EaxResult all = eax(problem, options, 1);
  EXPECT_NE(all.stop, EaxStop::kConfirmed);
  EXPECT_LE(all.length, result.length);
}

TEST(Eax, FitsThePopulationToTheTimeLimit) {
  const Problem problem(uniform_benchmark(1000), 10);
  EaxOptions options;
  options.population = 100000;  // would take many minutes
  options.fit_population = true;
  options.start = LocalOptimum::kLinKernighan;
  // Time for breeding is left, however slow the machine: the whole population would not even be there in time.
  const EaxResult result = eax(problem, options, 1, Deadline::after_seconds(3));
  EXPECT_GT(result.generations, 0);
  // Without a limit there is nothing to fit to.
  options.population = 20;
  const EaxResult free = eax(problem, options, 1);
  options.fit_population = false;
  EXPECT_EQ(free.length, eax(problem, options, 1).length);
}

TEST(Eax, TakesLongerForMoreNodes) {
  EXPECT_GT(eax_seconds_per_tour(2000), 2 * eax_seconds_per_tour(1000));
  EXPECT_GT(eax_seconds_per_tour(1000), 0);
}

// "name : length" lines of the file that lies beside the instances.
std::map<std::string, Problem::Length> tsplib_optima(const std::string& folder) {
  std::map<std::string, Problem::Length> optima;
  std::ifstream file(folder + "/solutions");
  std::string name;
  std::string colon;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Problem::Length length = 0;
    if (words >> name >> colon >> length) optima[name] = length;
  }
  return optima;
}

TEST(Eax, FindsTheOptimaOfSmallTsplibInstances) {
  const std::string folder = std::string(PURETOUR_SHARED_DATA).append("/tsplib");
  const auto optima = tsplib_optima(folder);
  if (optima.empty()) GTEST_SKIP() << "no TSPLIB instances in " << folder;
  EaxOptions options;
  options.runs = 4;
  int num_solved = 0;
  for (const auto& [name, optimum] : optima) {
    const std::string path = fmt::format("{}/{}.tsp", folder, name);
    std::ifstream file(path);
    if (!file) continue;
    std::stringstream text;
    text << file.rdbuf();
    const Instance instance = parse_tsplib(text.str(), path);
    if (instance.size() < 5 || instance.size() > 160) continue;
    const Problem problem(instance, 10, 1, CandidateKind::kQuadrant);
    options.target = optimum;
    EXPECT_EQ(eax_length(problem, options, 1), optimum) << name;
    ++num_solved;
  }
  EXPECT_GT(num_solved, 40);
}

}  // namespace
}  // namespace puretour
