// SPDX-License-Identifier: MIT
#include "puretour/law/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "puretour/base/error.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/problem.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

const std::vector<double> kTargets = {0.02, 0.10, 0.05};

TEST(TourGroups, AreToursOfTheStatedQuality) {
  const std::vector<TourGroup> groups = tour_groups(kTargets);
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kClustered}) {
    const Instance instance = generate_instance({}, distribution, 150, 4, 0);
    const auto tours = tours_of_groups(instance, kTargets, 9);
    ASSERT_EQ(tours.size(), groups.size());
    std::map<std::string, double> lengths;
    for (std::size_t g = 0; g < tours.size(); ++g) {
      ASSERT_NO_THROW(check_permutation(tours[g], 150)) << groups[g].name;
      lengths[groups[g].name] = tour_length(instance, Tour(tours[g]));
    }
    const double optimal = lengths.at("optimal");
    for (std::size_t g = 0; g < tours.size(); ++g) {
      const double excess = lengths.at(groups[g].name) / optimal - 1;
      EXPECT_GE(excess, -1e-9) << groups[g].name;
      // One move between clusters may gain several percent; among uniform points it cannot.
      if (groups[g].target && distribution == Distribution::kUniform) {
        EXPECT_NEAR(excess, *groups[g].target, 0.012) << groups[g].name;
      }
    }
    EXPECT_LE(lengths.at("stopped near 2 %"), lengths.at("stopped near 5 %"));
    EXPECT_LT(lengths.at("stopped near 5 %"), lengths.at("stopped near 10 %"));
    EXPECT_LT(lengths.at("2-opt from greedy"), lengths.at("greedy edge"));
    EXPECT_LT(lengths.at("2-opt from random"), lengths.at("random") / 2);
    EXPECT_LT(lengths.at("Lin-Kernighan"), lengths.at("2-opt from random"));
    EXPECT_LT(lengths.at("nearest neighbour"), lengths.at("random") / 2);
  }
}

TEST(TourGroups, TheOptimalToursAreOptimal) {
  for (std::uint64_t index = 0; index < 5; ++index) {
    const Instance instance = generate_instance({}, Distribution::kUniform, 12, 4, index);
    const auto tours = tours_of_groups(instance, kTargets, index);
    const double exact = tour_length(instance, Tour(exact_tour(Problem(instance, 11))));
    EXPECT_NEAR(tour_length(instance, Tour(tours[kOptimalGroup])), exact, 1e-9);
  }
}

TEST(NearestNeighbourTour, GoesToTheNearestNodeLeft) {
  const Instance line(std::vector<Point>{{0, 0}, {9, 0}, {4, 0}, {5, 0}, {-1, 0}});
  EXPECT_EQ(nearest_neighbour_tour(line, 2), (std::vector<NodeId>{2, 3, 1, 0, 4}));
  // From (5,0) both (0,0) and (10,0) are 5 away: the lower number first.
  EXPECT_EQ(nearest_neighbour_tour(Instance(std::vector<Point>{{5, 0}, {10, 0}, {0, 0}}), 0),
            (std::vector<NodeId>{0, 1, 2}));
  EXPECT_EQ(nearest_neighbour_tour(Instance(std::vector<Point>{{1, 1}}), 0), std::vector<NodeId>{0});
}

SensitivityOptions small() {
  SensitivityOptions options;
  options.scales = {60};
  options.distributions = {Distribution::kUniform, Distribution::kImplosion};
  options.instances = 4;
  options.targets = {0.02, 0.10};
  return options;
}

TEST(Sensitivity, PurityFallsAsToursGetLonger) {
  SensitivityOptions options = small();
  std::atomic<int> num_done = 0;
  options.progress = [&] { ++num_done; };
  const auto rows = run_sensitivity(options);
  const std::vector<TourGroup> groups = tour_groups(options.targets);
  ASSERT_EQ(rows.size(), 2 * groups.size());
  EXPECT_EQ(num_done, 8);
  for (std::size_t d = 0; d < 2; ++d) {
    const std::span<const SensitivityRow> of_type = std::span(rows).subspan(d * groups.size(), groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const SensitivityRow& row = of_type[g];
      EXPECT_EQ(row.group.name, groups[g].name);
      EXPECT_EQ(row.law.type.distribution, options.distributions[d]);
      EXPECT_EQ(row.law.pooled.num_edges(), 240U);
      EXPECT_LE(row.least_excess, row.mean_excess + 1e-12);
      EXPECT_LE(row.mean_excess, row.most_excess + 1e-12);
    }
    EXPECT_EQ(of_type[0].mean_excess, 0);
    EXPECT_EQ(of_type[0].num_less_pure, 0U);
    const SensitivityRow& stopped = of_type[2];  // at 10 %
    EXPECT_LT(stopped.law.pooled.proportion_zero(), of_type[0].law.pooled.proportion_zero());
    const SensitivityRow& random = of_type.back();
    EXPECT_LT(random.law.pooled.proportion_zero(), 0.2);
    EXPECT_EQ(random.num_less_pure, 4U);
    EXPECT_GT(random.mean_excess, 1.5);
  }
}

TEST(Sensitivity, DoesNotDependOnThreads) {
  SensitivityOptions options = small();
  options.scales = {30};
  const std::string one = sensitivity_csv(run_sensitivity(options));
  options.threads = 3;
  EXPECT_EQ(one, sensitivity_csv(run_sensitivity(options)));
  options.seed = 1;
  EXPECT_NE(one, sensitivity_csv(run_sensitivity(options)));
}

TEST(Sensitivity, TheCsvHasAFieldForEachColumn) {
  SensitivityOptions options = small();
  options.scales = {12};  // so small that some groups cannot be fitted
  options.instances = 1;
  const std::string csv = sensitivity_csv(run_sensitivity(options));
  std::size_t begin = 0;
  const auto commas = std::count(csv.begin(), csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\n')), ',');
  for (std::size_t end = csv.find('\n'); end != std::string::npos; begin = end + 1, end = csv.find('\n', begin)) {
    const std::string line = csv.substr(begin, end - begin);
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas) << line;
  }
  EXPECT_EQ(csv.find("nan"), std::string::npos);
  EXPECT_EQ(csv.find("inf"), std::string::npos);
}

TEST(Sensitivity, RefusesWhatItCannotDo) {
  SensitivityOptions options = small();
  options.scales = {11};
  EXPECT_THROW(run_sensitivity(options), InputError);
  options = small();
  options.targets = {0};
  EXPECT_THROW(run_sensitivity(options), InputError);
  options = small();
  options.instances = 0;
  EXPECT_THROW(run_sensitivity(options), InputError);
  options = small();
  options.distributions.clear();
  EXPECT_THROW(run_sensitivity(options), InputError);
}

}  // namespace
}  // namespace puretour
