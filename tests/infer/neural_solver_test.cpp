// SPDX-License-Identifier: MIT
#include "puretour/infer/neural_solver.h"

#include <cmath>

#include "infer/golden.h"
#include "puretour/base/error.h"

namespace puretour {
namespace {

using test::lattice_points;

Checkpoint small_model() {
  Checkpoint checkpoint = test::tiny_checkpoint(AmConfig{16, 2, 1, 16, 10});
  for (auto& [name, tensor] : checkpoint.weights) {
    if (name.find("running_var") != std::string::npos) continue;
    for (float& v : tensor.values) v = v - 0.5F;
  }
  return checkpoint;
}

SolveResult solve(const Instance& instance, const NeuralSettings& settings, std::uint64_t seed = 0) {
  SolveOptions options;
  options.seed = seed;
  return make_neural_solver(small_model(), settings)->solve(instance, options);
}

NeuralSettings decoding(const std::string& text) {
  NeuralSettings settings;
  settings.decoding = Decoding::parse(text);
  return settings;
}

TEST(NeuralSolver, GivesTheTourOfTheNetwork) {
  const auto points = lattice_points(30);
  const Checkpoint checkpoint = small_model();
  const auto policy = make_policy(checkpoint);
  const Instance instance(points);
  const SolveResult result = solve(instance, {});
  EXPECT_EQ(result.tour, Tour(test::greedy(*policy->encode(normalised_to_unit_square(points), {})).order));
  EXPECT_EQ(result.length, tour_length(instance, result.tour));
  EXPECT_EQ(result.method, "am greedy");
  NeuralSettings raw;
  raw.raw_coordinates = true;
  EXPECT_EQ(solve(instance, raw).tour, Tour(test::greedy(*policy->encode(points, {})).order));
}

TEST(NeuralSolver, RefusesFixedEdges) {
  const Instance instance = Instance(lattice_points(10)).with_fixed_edges(std::vector<FixedEdge>{{0, 1}});
  try {
    (void)solve(instance, {});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "instance: networks know no fixed edges, but the instance has 1; use auto, lk, eax, lkh, nearest, greedy "
        "or 2opt, or remove FIXED_EDGES_SECTION");
  }
}

TEST(NeuralSolver, MoreToursAreNeverWorse) {
  const Instance instance(lattice_points(40));
  double last = solve(instance, decoding("sample:1")).length;
  for (const char* text : {"sample:4", "sample:20", "sample:300"}) {
    const double length = solve(instance, decoding(text)).length;
    EXPECT_LE(length, last);  // the first tours are the same
    last = length;
  }
  EXPECT_NE(solve(instance, decoding("sample:1"), 1).tour, solve(instance, decoding("sample:1"), 2).tour);
  EXPECT_LE(solve(instance, decoding("multistart")).length, solve(instance, decoding("multistart:5")).length);
  const double greedy_length = solve(instance, {}).length;
  for (const char* text : {"8", "mix:4"}) {
    NeuralSettings settings;
    settings.augmentation = Augmentation::parse(text);
    EXPECT_LE(solve(instance, settings).length, greedy_length);
  }
}

TEST(NeuralSolver, MultistartIsTheBestOfAllStarts) {
  const auto points = lattice_points(12);
  const Instance instance(points);
  const auto policy = make_policy(small_model());
  const auto encoded = policy->encode(normalised_to_unit_square(points), {});
  double best = std::numeric_limits<double>::infinity();
  for (NodeId start = 0; start < 12; ++start) {
    best = std::min(best, tour_length(instance, Tour(test::greedy(*encoded, {start}).order)));
  }
  EXPECT_EQ(solve(instance, decoding("multistart")).length, best);
  EXPECT_EQ(solve(instance, decoding("multistart:100")).length, best);
}

TEST(NeuralSolver, DoesNotDependOnTheNumberOfThreads) {
  const Instance instance(lattice_points(60));
  for (const char* text : {"greedy", "sample:30", "multistart"}) {
    NeuralSettings settings = decoding(text);
    settings.augmentation = Augmentation::parse("mix:3");
    const Tour one = solve(instance, settings).tour;
    settings.threads = 3;
    EXPECT_EQ(solve(instance, settings).tour, one) << text;
  }
}

TEST(NeuralSolver, ImprovesWithTheLocalSearch) {
  const Instance instance(lattice_points(80));
  NeuralSettings settings;
  settings.improve = true;
  const SolveResult plain = solve(instance, {});
  const SolveResult improved = solve(instance, settings);
  EXPECT_EQ(improved.unimproved_length, plain.length);
  EXPECT_LT(improved.length, plain.length);
  EXPECT_EQ(improved.method, "am greedy + lk");
}

TEST(NeuralSolver, ReturnsATourHoweverEarlyTheDeadlineIs) {
  const Instance instance(lattice_points(500));
  SolveOptions options;
  for (const double seconds : {0.0, 0.001, 0.005, 0.02}) {
    options.deadline = Deadline::after_seconds(seconds);
    EXPECT_EQ(make_neural_solver(small_model(), decoding("sample:100"))->solve(instance, options).tour.size(), 500U);
  }
}

TEST(NeuralSolver, TinyAndRepeatedPointsWork) {
  for (std::size_t n = 1; n <= 3; ++n) EXPECT_EQ(solve(Instance(lattice_points(n)), {}).tour.size(), n);
  EXPECT_EQ(solve(Instance(std::vector<Point>(20, {3, 4})), {}).length, 0);
  EXPECT_EQ(solve(Instance(lattice_points(50), Metric::kEuc2d), decoding("multistart:3")).tour.size(), 50U);
}

TEST(NeuralSolver, AnInitialTourIsNeverMadeWorse) {
  const Instance instance(lattice_points(40));
  SolveOptions options;
  options.initial = make_solver("auto")->solve(instance, {}).tour;
  EXPECT_EQ(make_neural_solver(small_model())->solve(instance, options).length,
            tour_length(instance, *options.initial));
  options.initial = Tour::identity(3);
  EXPECT_THROW((void)make_neural_solver(small_model())->solve(instance, options), InputError);
}

TEST(NeuralSolver, RefusesWhatItCannotDo) {
  EXPECT_THROW((void)solve(Instance(std::vector<Point>{}), {}), InputError);
  EXPECT_THROW((void)solve(Instance(WeightMatrix{2, {0, 1, 1, 0}}), {}), InputError);
  NeuralSettings settings;
  settings.temperature = 0;
  EXPECT_THROW((void)make_neural_solver(small_model(), settings), InputError);
  settings = {};
  settings.raw_coordinates = true;
  settings.augmentation = Augmentation::parse("8");
  EXPECT_THROW((void)solve(Instance({{0, 0}, {2, 1}, {1, 1}}), settings), InputError);
  for (const char* text : {"", "greedy:2", "sample", "sample:", "sample:0", "sample:-1", "beam:3", "multistart:0"}) {
    EXPECT_THROW((void)Decoding::parse(text), InputError) << text;
  }
  EXPECT_EQ(Decoding::parse("multistart:7").text(), "multistart:7");
  EXPECT_EQ(Decoding::parse("multistart").text(), "multistart");
}

}  // namespace
}  // namespace puretour
