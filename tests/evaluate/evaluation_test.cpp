// SPDX-License-Identifier: MIT
#include "puretour/evaluate/evaluation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/evaluate/solvers.h"
#include "puretour/evaluate/summary.h"
#include "puretour/tour/formats.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class Evaluation : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("puretour-evaluate-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
               std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  [[nodiscard]] EvaluationRun run(const std::string& name, int threads = 1) const {
    EvaluationRun run;
    run.folder = path(name);
    run.seed = 7;
    run.threads = threads;
    return run;
  }

  fs::path folder_;
};

std::vector<EvaluationSet> some_sets(std::size_t instances, std::uint64_t seed = 7) {
  return {random_set(Distribution::kUniform, 20, instances, seed),
          random_set(Distribution::kClustered, 30, instances, seed)};
}

std::vector<EvaluatedSolver> some_solvers() {
  return {classical_solver("nearest"), classical_solver("2opt")};
}

// Everything but times.
std::string content(const std::vector<EvaluatedSet>& sets) {
  std::string text;
  for (const EvaluatedSet& set : sets) {
    for (const auto& reference : set.references) {
      text += reference ? fmt::format("{} {} {} {}\n", reference->method, reference->length, reference->bound,
                                      fmt::join(reference->order, " "))
                        : "-\n";
    }
    for (const auto& of_solver : set.solutions) {
      for (const auto& solved : of_solver) {
        text += solved ? fmt::format("{} {} {}\n", solved->length, fmt::join(solved->orders.counts(), " "),
                                     fmt::join(solved->order, " "))
                       : "-\n";
      }
    }
  }
  return text;
}

TEST_F(Evaluation, DoesNotDependOnThreads) {
  const auto one = run_evaluation(some_sets(5), some_solvers(), run("one"));
  const auto three = run_evaluation(some_sets(5), some_solvers(), run("three", 3));
  EXPECT_EQ(content(one), content(three));
  EXPECT_EQ(content(one).find("-\n"), std::string::npos) << "everything is there";
}

TEST_F(Evaluation, GoesOnWhereItWasStopped) {
  const auto whole = run_evaluation(some_sets(6), some_solvers(), run("whole"));
  EvaluationRun stopped = run("parts");
  std::atomic<bool> stop = false;
  stopped.deadline = Deadline().with_stop_flag(&stop);
  stopped.progress = [&](const EvaluationProgress& progress) {
    EXPECT_EQ(progress.total, 36U);
    if (progress.done == 11) stop = true;
  };
  const auto part = run_evaluation(some_sets(6), some_solvers(), stopped);
  EXPECT_NE(content(part).find("-\n"), std::string::npos);
  // As a kill leaves it: a line that ends in the middle.
  std::ofstream(path("parts/results/2opt/uniform-20.results"), std::ios::app) << R"({"item":"3","len)";
  std::ofstream(path("parts/data/clustered-30.references"), std::ios::app) << R"({"item")";

  std::size_t num_solved = 0;
  EvaluationRun rest = run("parts");
  rest.progress = [&](const EvaluationProgress&) { ++num_solved; };
  EXPECT_EQ(content(run_evaluation(some_sets(6), some_solvers(), rest)), content(whole));
  EXPECT_EQ(num_solved, 25U) << "nothing is solved twice";
  // Fewer instances are a prefix; more solvers are solved beside the old ones.
  num_solved = 0;
  EXPECT_EQ(run_evaluation(some_sets(2), some_solvers(), rest)[1].references.size(), 2U);
  EXPECT_EQ(num_solved, 0U);
  auto more = some_solvers();
  more.push_back(classical_solver("greedy"));
  run_evaluation(some_sets(6), more, rest);
  EXPECT_EQ(num_solved, 12U);
}

TEST_F(Evaluation, RefusesResultsOfSomethingElse) {
  run_evaluation(some_sets(2), some_solvers(), run("a"));
  EXPECT_THROW(run_evaluation(some_sets(2, 8), some_solvers(), run("a")), InputError);
  EvaluationRun other = run("a");
  other.reference_solver = "lk";
  EXPECT_THROW(run_evaluation(some_sets(2), some_solvers(), other), InputError);
  auto renamed = some_solvers();
  renamed[1].identity = "another network";
  EXPECT_THROW(run_evaluation(some_sets(2), renamed, run("a")), InputError);
  auto doubled = some_solvers();
  doubled.push_back(doubled[0]);
  EXPECT_THROW(run_evaluation(some_sets(2), doubled, run("b")), InputError);
  const std::string file = path("a/results/2opt/uniform-20.results");
  const std::string damaged = read_file(file) + "{\"item\":\"0\"}\n";
  write_file(file, damaged);
  EXPECT_THROW(run_evaluation(some_sets(2), some_solvers(), run("a")), InputError);
  EXPECT_EQ(read_file(file), damaged) << "left as it was";
}

TEST_F(Evaluation, ReferencesAreVouchedFor) {
  const std::vector<EvaluatedSolver> solvers = {classical_solver("eax")};
  const auto sets = run_evaluation(some_sets(8), solvers, run("out", 2));
  for (const EvaluatedSet& set : sets) {
    for (std::size_t i = 0; i < 8; ++i) {
      const ReferenceTour& reference = *set.references[i];
      const Sample sample = set.set.load(i);
      EXPECT_DOUBLE_EQ(reference.length, tour_length(sample.instance, Tour(reference.order)));
      EXPECT_TRUE(reference.bound_is_proven);
      EXPECT_LE(reference.bound, reference.length * (1 + 1e-9));
      EXPECT_GT(reference.bound, 0.85 * reference.length);
      EXPECT_EQ(reference.length, set.solutions[0][i]->length) << "the same solver with the same seed";
    }
  }
  for (const SummaryRow& row : summarise(sets, solvers)) EXPECT_EQ(row.gap->mean, 0);
  // The data can be evaluated again from the files, with the same references.
  write_complete_sets(sets, path("out"));
  fs::create_directory(path("copy"));
  for (const char* name : {"uniform-20.txt", "clustered-30.txt"}) fs::copy(path("out/data/") + name, path("copy"));
  const auto again = run_evaluation(folder_sets(path("copy")), some_solvers(), run("again"));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].set.name, "uniform-20");
  EXPECT_EQ(again[0].set.distribution, Distribution::kUniform);
  EXPECT_EQ(again[1].references[3]->method, "given");
  EXPECT_EQ(again[1].references[3]->length, sets[1].references[3]->length);
}

std::string tsp(const std::string& name, const std::string& metric, std::size_t nodes, const std::string& more = "") {
  std::string text = fmt::format("NAME : {}\nTYPE : TSP\nDIMENSION : {}\nEDGE_WEIGHT_TYPE : {}\nNODE_COORD_SECTION\n",
                                 name, nodes, metric);
  for (std::size_t i = 0; i < nodes; ++i) text += fmt::format("{} {} {}\n", i + 1, i * i % 101, i * 37 % 103);
  return text + more + "EOF\n";
}

TEST(RandomSets, AreNamedByTypeAndNumber) {
  const auto set = random_set_of_text("clustered-30:7", 5);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->name, "clustered-30");
  EXPECT_EQ(set->items.size(), 7U);
  const Instance same = generate_instance({}, Distribution::kClustered, 30, 5, 6);
  EXPECT_TRUE(std::equal(same.points().begin(), same.points().end(), set->load(6).instance.points().begin()));
  EXPECT_EQ(random_set_of_text("uniform-100", 5)->items.size(), 500U);
  EXPECT_EQ(random_set_of_text("uniform-10000", 5)->items.size(), 5U);
  EXPECT_FALSE(random_set_of_text("tsplib-100", 5));
  EXPECT_FALSE(random_set_of_text("uniform", 5));
  for (const char* bad : {"uniform-", "uniform-4", "uniform-20:", "uniform-20:0", "uniform-20:-1", "uniform-2e3"}) {
    EXPECT_THROW(random_set_of_text(bad, 5), InputError) << bad;
  }
}

TEST_F(Evaluation, GroupsTsplibFilesAndKnowsTheirPublishedLengths) {
  write_file(path("a7.tsp"), tsp("a7", "EUC_2D", 7));
  write_file(path("b100.tsp"), tsp("b100", "CEIL_2D", 100));
  write_file(path("c101.tsp"), tsp("c101", "EUC_2D", 101));
  write_file(path("geo.tsp"), tsp("geo", "GEO", 8));
  write_file(path("fixed.tsp"), tsp("fixed", "EUC_2D", 8, "FIXED_EDGES_SECTION\n1 2\n-1\n"));
  write_file(path("solutions"), "a7 : 1\nc101: 100000\n");
  const auto sets = folder_sets(folder_.string());
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].name, "tsplib-1-100");
  ASSERT_EQ(sets[0].items.size(), 2U);
  EXPECT_EQ(sets[0].items[0].name, "a7");
  EXPECT_EQ(sets[1].items[0].name, "c101");
  const std::vector<EvaluatedSolver> solvers = {classical_solver("greedy")};
  const auto evaluated = run_evaluation(sets, solvers, run("out"));
  EXPECT_EQ(evaluated[0].reference_length(0), 1) << "the published length is shorter than ours";
  EXPECT_EQ(evaluated[1].reference_length(0), evaluated[1].references[0]->length) << "it is longer";
  // Rounded edges are whole numbers; the sum of unrounded ones, rounded up, is another number.
  const SolvedItem& solved = *evaluated[1].solutions[0][0];
  EXPECT_EQ(solved.length, std::round(solved.length));
  const Instance instance = evaluated[1].set.load(0).instance;
  ASSERT_EQ(solved.order.size(), 101U) << "pictured";
  double plain = 0;
  for (std::size_t t = 0; t < 101; ++t) {
    const Point a = instance.points()[static_cast<std::size_t>(solved.order[t])];
    const Point b = instance.points()[static_cast<std::size_t>(solved.order[(t + 1) % 101])];
    plain += std::hypot(a.x - b.x, a.y - b.y);
  }
  EXPECT_EQ(*solved.ceil_length, std::ceil(plain));
  write_file(path("solutions"), "a7 = 1\n");
  EXPECT_THROW(folder_sets(folder_.string()), InputError);
  EXPECT_THROW(folder_sets(path("nowhere")), InputError);
  EXPECT_THROW(folder_sets(path("out")), InputError) << "a folder without instances";
}

TEST_F(Evaluation, FindsTheSevenAndSeventyInstancesOfInvit) {
  const fs::path tsplib = fs::path(PURETOUR_SHARED_DATA) / "tsplib";
  if (!fs::exists(tsplib / "berlin52.tsp")) GTEST_SKIP() << "no TSPLIB beside the checkout";
  const auto sets = folder_sets(tsplib.string());
  ASSERT_EQ(sets.size(), 3U);
  // INViT lists 12, 36 and 24 instances of EUC_2D; CEIL_2D adds dsj1000 and pla7397.
  EXPECT_EQ(sets[0].items.size(), 12U);
  EXPECT_EQ(sets[1].items.size(), 37U);
  EXPECT_EQ(sets[2].items.size(), 25U);
  EXPECT_EQ(sets[0].items[0].name, "berlin52");
  EXPECT_EQ(sets[0].items[0].published, 7542);
}

}  // namespace
}  // namespace puretour
