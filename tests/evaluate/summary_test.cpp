// SPDX-License-Identifier: MIT
#include "puretour/evaluate/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "puretour/base/rng.h"
#include "puretour/evaluate/remaining_time.h"
#include "puretour/evaluate/solvers.h"

namespace puretour {
namespace {

TEST(Bootstrap, KnowsTheStandardErrorOfAMean) {
  Rng rng(5);
  std::vector<double> values(400);
  for (double& value : values) value = 3 + rng.normal();
  const auto interval = bootstrap_mean(values);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->mean, 3, 4 / std::sqrt(400.0));
  EXPECT_NEAR(interval->high - interval->low, 2 * 1.96 / std::sqrt(400.0), 0.02);
  EXPECT_LT(interval->low, interval->mean);
  EXPECT_GT(interval->high, interval->mean);
  EXPECT_FALSE(bootstrap_mean({}));
  const std::vector<double> one = {2.5};
  EXPECT_EQ(bootstrap_mean(one)->low, 2.5);
  EXPECT_EQ(bootstrap_mean(one)->high, 2.5);
}

EvaluatedSolver network(const std::string& name, const std::string& method, std::size_t nodes = 50) {
  EvaluatedSolver solver{name, name, ModelCard{}, {}};
  solver.model->architecture = "am";
  solver.model->nodes = nodes;
  solver.model->method = method;
  return solver;
}

SolvedItem solved(double length) {
  SolvedItem item;
  item.length = length;
  item.seconds = 0.5;
  item.orders.add(0, 8);
  item.orders.add(2, 2);
  return item;
}

// A set whose references have length 10 and whose solutions have the given lengths.
EvaluatedSet set_of(const std::string& name, const std::vector<std::vector<double>>& lengths) {
  EvaluatedSet entry;
  entry.set = random_set(Distribution::kUniform, 10, lengths[0].size(), 1);
  entry.set.name = name;
  ReferenceTour reference;
  reference.method = "eax";
  reference.length = 10;
  reference.bound = 9.9;
  reference.order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  entry.references.assign(lengths[0].size(), reference);
  for (const auto& of_solver : lengths) {
    auto& solutions = entry.solutions.emplace_back();
    for (const double length : of_solver) solutions.emplace_back(solved(length));
  }
  return entry;
}

TEST(Summary, IsTheMeanOfRatiosAndThePooledPurity) {
  const std::vector<EvaluatedSolver> solvers = {network("a", "vanilla")};
  std::vector<EvaluatedSet> sets = {set_of("s", {{11, 12, 13}})};
  sets[0].references[1]->length = 8;
  sets[0].solutions[0][2].reset();  // not solved yet: left out
  const SummaryRow row = summarise(sets, solvers).at(0);
  EXPECT_EQ(row.num_items, 2U);
  EXPECT_NEAR(row.gap->mean, (0.1 + 0.5) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(row.mean_length, 11.5);
  EXPECT_DOUBLE_EQ(row.mean_seconds, 0.5);
  EXPECT_DOUBLE_EQ(row.orders.proportion_zero(), 0.8);
  EXPECT_DOUBLE_EQ(*row.orders.mean_positive_order(), 2);
}

TEST(Summary, PairsNetworksThatDifferInTheirMethodOnly) {
  const std::vector<EvaluatedSolver> solvers = {network("v", "vanilla"), network("p", "pupo"),
                                                network("other", "pupo", 100), network("imported", "")};
  const std::vector<double> any = {10, 10};
  const std::vector<EvaluatedSet> sets = {set_of("one", {{11, 12}, {10.5, 12.5}, any, any}),
                                          set_of("two", {{12, 12}, {11, 11}, any, any})};
  const std::vector<MethodPair> pairs = method_pairs(sets, solvers);
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].slot, "AM-50");
  EXPECT_EQ(pairs[0].set, 0U);
  EXPECT_NEAR(pairs[0].difference.mean, 0, 1e-12);
  EXPECT_NEAR(pairs[0].difference.low, -0.05, 1e-12);
  EXPECT_NEAR(pairs[0].difference.high, 0.05, 1e-12);
  EXPECT_EQ(pairs[0].num_shorter, 1U);
  EXPECT_EQ(pairs[0].num_longer, 1U);
  EXPECT_NEAR(pairs[1].difference.mean, -0.1, 1e-12);
  EXPECT_NEAR(pairs[1].difference.high, -0.1, 1e-12);
  EXPECT_FALSE(pairs[2].set) << "all sets together";
  EXPECT_NEAR(pairs[2].difference.mean, -0.05, 1e-12);
  EXPECT_EQ(pairs[2].num_items, 4U);
}

TEST(Summary, WritesWhatOthersCanRead) {
  const std::vector<EvaluatedSolver> solvers = {network("v", "vanilla"), classical_solver("2opt")};
  std::vector<EvaluatedSet> sets = {set_of("s", {{11}, {12}})};
  sets[0].solutions[0][0]->order = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  const auto json = nlohmann::json::parse(evaluation_json(sets, solvers, {"p", "m", "greedy", "1", "eax", 3, 2}));
  EXPECT_EQ(json["solvers"][0]["slot"], "AM-50");
  EXPECT_EQ(json["solvers"][1]["kind"], "classical");
  EXPECT_NEAR(json["results"][1]["gap"]["mean"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(json["sets"][0]["references"]["methods"]["eax"], 1);
  EXPECT_NEAR(json["sets"][0]["references"]["mean_gap_to_bound"].get<double>(), 10 / 9.9 - 1, 1e-12);
  EXPECT_EQ(json["pictures"][0]["points"].size(), 10U);
  EXPECT_EQ(json["pictures"][0]["tours"].size(), 1U);
  EXPECT_NE(gaps_markdown(sets, solvers).find("| s | 1 | 10.00 | 20.00 |\n"), std::string::npos);
  for (const std::string& csv : {instances_csv(sets, solvers), types_csv(sets, solvers)}) {
    std::istringstream lines(csv);
    std::string header;
    std::getline(lines, header);
    std::size_t num_lines = 0;
    for (std::string line; std::getline(lines, line); ++num_lines) {
      EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(header.begin(), header.end(), ',')) << line;
    }
    EXPECT_GE(num_lines, 2U);
  }
}

TEST(RemainingTime, GuessesUnknownKindsFromTheNearestSize) {
  RemainingTime time;
  const std::size_t small = time.add_kind(0, 100, 3);
  const std::size_t large = time.add_kind(0, 1000, 2);
  const std::size_t other = time.add_kind(1, 100, 1);
  EXPECT_FALSE(time.seconds_left());
  time.finish_piece(small, 2);
  EXPECT_FALSE(time.seconds_left()) << "nothing is known of the other family";
  time.finish_piece(other, 1);
  EXPECT_NEAR(*time.seconds_left(), 2 * 2 + 2 * 2 * std::pow(10, 1.7), 1e-9);
  time.finish_piece(large, 30);
  EXPECT_NEAR(*time.seconds_left(), 2 * 2 + 30, 1e-9);
}

TEST(EvaluatedSolvers, TakeMoreCopiesOfSmallInstances) {
  EXPECT_EQ(augmentation_for("by-size", 100), "mix:64");
  EXPECT_EQ(augmentation_for("by-size", 1000), "mix:32");
  EXPECT_EQ(augmentation_for("by-size", 5000), "mix:16");
  EXPECT_EQ(augmentation_for("by-size", 10000), "mix:8");
  EXPECT_EQ(augmentation_for("8", 10000), "8");
}

}  // namespace
}  // namespace puretour
