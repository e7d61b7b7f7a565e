// The networks in models/ are what their cards say.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "puretour/base/files.h"
#include "puretour/base/parallel.h"
#include "puretour/evaluate/solvers.h"
#include "puretour/generate/generate.h"
#include "puretour/solve/solver.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(PURETOUR_TEST_DATA) / "../../models";

std::vector<std::string> shipped() {
  return model_files({kModels.string()});
}

// The number that follows `label` in the card of the network.
double number_in_card(const std::string& model, const std::string& label) {
  const std::string card = read_file(fs::path(model).replace_extension(".md").string());
  const std::size_t at = card.find(label);
  EXPECT_NE(at, std::string::npos) << model << ": " << label;
  return at == std::string::npos ? 0 : std::strtod(card.c_str() + at + label.size(), nullptr);
}

TEST(ShippedModels, ComeInPairsThatDifferInTheirMethod) {
  std::map<std::string, std::set<std::string>> methods;
  std::map<std::string, std::set<std::uint64_t>> instances;
  for (const std::string& path : shipped()) {
    const ModelCard card = network_solver(path, {}).model.value();
    ASSERT_FALSE(card.slot().empty()) << path;
    methods[card.slot()].insert(card.method);
    instances[card.slot()].insert(card.training_instances.value());
  }
  ASSERT_FALSE(methods.empty());
  for (const auto& [slot, found] : methods) {
    EXPECT_EQ(found, (std::set<std::string>{"pupo", "vanilla"})) << slot;
    EXPECT_EQ(instances[slot].size(), 1U) << slot << ": not the same budget";
  }
}

TEST(ShippedModels, HaveTheNormsOfTheirCards) {
  for (const std::string& path : shipped()) {
    const ModelCard card = network_solver(path, {}).model.value();
    EXPECT_NEAR(card.norm_sum, number_in_card(path, "sum of Frobenius norms "), 0.006) << path;
    EXPECT_NEAR(card.norm_joint, number_in_card(path, "joint norm "), 0.006) << path;
  }
}

// The cards have the gap over other instances of the same kind: that of these may differ by four standard errors.
TEST(ShippedModels, HaveTheGapsOfTheirCards) {
  constexpr std::size_t kInstances = 64;
  for (const std::string& path : shipped()) {
    const EvaluatedSolver network = network_solver(path, {});
    const std::size_t nodes = network.model.value().nodes.value();
    const auto solver = network.for_nodes(nodes);
    const auto reference = make_solver("eax", {.runs = 1});
    std::vector<double> gaps(kInstances);  // in percent
    parallel_for(kInstances, 0, [&](std::size_t i) {
      const Instance instance = generate_instance({}, Distribution::kUniform, nodes, 5, i);
      gaps[i] = 100 * (solver->solve(instance, {}).length / reference->solve(instance, {}).length - 1);
    });
    double sum = 0;
    double squares = 0;
    for (const double gap : gaps) {
      sum += gap;
      squares += gap * gap;
    }
    const double mean = sum / kInstances;
    const double error = std::sqrt((squares / kInstances - mean * mean) / kInstances);
    const std::string label = "greedy gap at " + std::to_string(nodes) + " nodes | ";
    EXPECT_NEAR(mean, number_in_card(path, label), 4 * error) << path;
    EXPECT_LT(error, 1) << path;
  }
}

}  // namespace
}  // namespace puretour
