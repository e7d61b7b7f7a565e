// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_ab_cycles.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "puretour/solve/eax_offspring.h"
#include "solve/eax_parts.h"

namespace puretour {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Every property that the definition promises; returns the edges of all cycles.
void check_cycles(const EaxTour& a, const EaxTour& b, const AbCycles& cycles, bool complete) {
  const std::set<Edge> a_edges = edges_of(a);
  const std::set<Edge> b_edges = edges_of(b);
  std::set<Edge> seen;
  EaxTour::Length gain_sum = 0;
  for (std::size_t c = 0; c < cycles.size(); ++c) {
    const AbCycle cycle = cycles[c];
    EXPECT_EQ(cycle.nodes.size() % 2, 0U);
    EXPECT_GE(cycle.nodes.size(), 4U);
    EaxTour::Length gain = 0;
    for (std::size_t i = 0; i < cycle.nodes.size(); ++i) {
      const Edge e = edge(cycle.nodes[i], cycle.nodes[cycle.next(i)]);
      EXPECT_TRUE(seen.insert(e).second) << "an edge occurs twice";
      EXPECT_TRUE((i % 2 == 0 ? a_edges : b_edges).contains(e)) << "edges do not alternate";
      EXPECT_FALSE((i % 2 == 0 ? b_edges : a_edges).contains(e)) << "a common edge";
      gain += i % 2 == 0 ? cycle.costs[i] : -cycle.costs[i];
    }
    EXPECT_EQ(cycle.gain, gain);
    gain_sum += gain;
  }
  std::size_t num_differing = 0;
  for (const Edge& e : a_edges) num_differing += b_edges.contains(e) ? 0 : 1;
  EXPECT_EQ(cycles.num_differing_edges(), num_differing);
  if (!complete) return;
  EXPECT_EQ(seen.size(), 2 * num_differing) << "cycles cover the whole difference";
  EXPECT_EQ(gain_sum, a.length() - b.length());
}

TEST(AbCycles, PartitionTheDifferenceOfTheParents) {
  Rng rng(1);
  for (int round = 0; round < 600; ++round) {
    const Kind kind = kAllKinds[rng.below(kAllKinds.size())];
    const EaxFixture fixture(kind, 5 + rng.below(60), rng);
    const bool good = rng.below(2) == 0;
    EaxTour a = good ? fixture.good_tour(rng) : fixture.random_tour(rng);
    const EaxTour b = good ? fixture.good_tour(rng) : fixture.random_tour(rng);
    AbCycles cycles(fixture.space.size());
    cycles.build(a, b, rng, kAll);
    check_cycles(a, b, cycles, true);

    // Exchanging the edges of all cycles turns A into B.
    std::vector<std::int32_t> all(cycles.size());
    std::iota(all.begin(), all.end(), 0);
    apply_offspring(a, cycles, all, {});
    EXPECT_EQ(edges_of(a), edges_of(b));
    a.number();
    EXPECT_EQ(a.length(), b.length());
  }
}

TEST(AbCycles, StopAtTheLimitAndStartAfreshForTheNextPair) {
  Rng rng(2);
  const EaxFixture fixture(Kind::kUniform, 100, rng);
  AbCycles cycles(fixture.space.size());
  for (int round = 0; round < 100; ++round) {
    const EaxTour a = fixture.random_tour(rng);
    const EaxTour b = fixture.random_tour(rng);
    cycles.build(a, b, rng, 3);
    EXPECT_LE(cycles.size(), 3U);
    check_cycles(a, b, cycles, false);
    cycles.build(a, b, rng, kAll);
    check_cycles(a, b, cycles, true);
  }
}

TEST(AbCycles, AreNoneForEqualParents) {
  Rng rng(3);
  const EaxFixture fixture(Kind::kUniform, 30, rng);
  const EaxTour a = fixture.random_tour(rng);
  AbCycles cycles(fixture.space.size());
  cycles.build(a, a, rng, kAll);
  EXPECT_EQ(cycles.size(), 0U);
  EXPECT_EQ(cycles.num_differing_edges(), 0U);
}

}  // namespace
}  // namespace puretour
