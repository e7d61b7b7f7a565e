// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_population.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "solve/eax_parts.h"

namespace puretour {
namespace {

std::map<Edge, int> recount(const EaxPopulation& population) {
  std::map<Edge, int> counts;
  for (const EaxTour& tour : population.tours()) {
    for (const Edge& e : edges_of(tour)) ++counts[e];
  }
  return counts;
}

double entropy_of(const std::map<Edge, int>& counts, std::size_t num_tours) {
  double sum = 0;
  for (const auto& [e, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(num_tours);
    sum -= share * std::log(share);
  }
  return sum;
}

TEST(EaxPopulation, CountsAndLengthsStayExactThroughGenerations) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (const EaxSelection selection : {EaxSelection::kEntropy, EaxSelection::kGreedy}) {
      const EaxFixture fixture(kind, 60, rng);
      EaxOptions options;
      options.selection = selection;
      EaxPopulation population(fixture.space, options, 12, 7);
      for (int i = 0; i < 12; ++i) population.add(fixture.random_tour(rng));
      for (int generation = 0; generation < 30; ++generation) {
        std::vector<EaxTour::Length> lengths_before;
        for (const EaxTour& tour : population.tours()) lengths_before.push_back(tour.length());
        population.breed(generation, generation < 20 ? EaxStage::kSingle : EaxStage::kBlock2, Deadline());
        for (std::size_t i = 0; i < population.tours().size(); ++i) {
          const EaxTour& tour = population.tours()[i];
          EXPECT_LE(tour.length(), lengths_before[i]) << "a tour is only replaced by a shorter one";
          EXPECT_EQ(EaxTour(fixture.space, tour.order()).length(), tour.length());
        }
        const std::map<Edge, int> counts = recount(population);
        for (const auto& [e, count] : counts) EXPECT_EQ(population.edge_counts().count(e.first, e.second), count);
        EXPECT_EQ(population.edge_counts().total(), 12 * fixture.space.size());
        EXPECT_NEAR(population.edge_counts().entropy(), entropy_of(counts, 12), 1e-9);
      }
      EXPECT_GT(population.num_offspring(), 0);
    }
  }
}

TEST(EdgeCounts, ReturnTheChangeOfTheEntropy) {
  Rng rng(2);
  EdgeCounts counts(50, 20);
  std::map<Edge, int> naive;
  double entropy = 0;
  for (int step = 0; step < 20000; ++step) {  // enough to make the table grow and forget lost edges
    const auto u = static_cast<NodeId>(rng.below(50));
    const auto v = static_cast<NodeId>((static_cast<std::uint64_t>(u) + 1 + rng.below(49)) % 50);
    int& count = naive[edge(u, v)];
    if (count < 20 && (count == 0 || rng.below(2) == 0)) {
      entropy += counts.add_edge(u, v);
      ++count;
    } else {
      entropy += counts.remove_edge(v, u);
      --count;
    }
    EXPECT_EQ(counts.count(u, v), count);
  }
  EXPECT_NEAR(counts.entropy(), entropy, 1e-9);
}

}  // namespace
}  // namespace puretour
