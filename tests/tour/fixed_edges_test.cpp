// SPDX-License-Identifier: MIT
#include "puretour/tour/fixed_edges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "puretour/base/error.h"
#include "puretour/base/rng.h"
#include "puretour/tour/instance.h"
#include "puretour/tour/line_format.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

TEST(FixedEdges, NameWhatIsWrongInNumbersFromOne) {
  FixedEdges edges(6);
  EXPECT_EQ(edges.add({0, 1}), "");
  EXPECT_EQ(edges.add({1, 2}), "");
  EXPECT_EQ(edges.add({1, 0}), "");  // again
  EXPECT_EQ(edges.add({6, 1}), "fixed edge 7-2: node number 7 is out of range; nodes are 1 to 6");
  EXPECT_EQ(edges.add({0, -1}), "fixed edge 1-0: node number 0 is out of range; nodes are 1 to 6");
  EXPECT_EQ(edges.add({4, 4}), "fixed edge 5-5 joins node 5 to itself; remove it");
  EXPECT_EQ(edges.add({5, 1}),
            "node 2 has three fixed edges, to 1, 3 and 6; a tour has two edges at each node, so remove one of them");
  EXPECT_EQ(edges.add({2, 0}),
            "fixed edge 3-1 closes a cycle of 3 of the 6 nodes; a tour is one cycle through all of them, so remove an "
            "edge of it");
  // What was refused has left no trace.
  for (const FixedEdge edge : {FixedEdge{2, 3}, {3, 4}, {4, 5}, {5, 0}}) EXPECT_EQ(edges.add(edge), "");
  EXPECT_EQ(edges.edges().size(), 6U);
}

// The oracle: some tour contains the edges. All tours of up to six nodes are tried.
bool has_tour(std::span<const FixedEdge> edges, std::size_t n) {
  std::vector<NodeId> order(n);
  std::iota(order.begin(), order.end(), 0);
  do {
    const bool has_all = std::all_of(edges.begin(), edges.end(), [&](const FixedEdge& edge) {
      const auto p = static_cast<std::size_t>(std::find(order.begin(), order.end(), edge.a) - order.begin());
      return edge.a != edge.b && (order[(p + 1) % n] == edge.b || order[(p + n - 1) % n] == edge.b);
    });
    if (has_all) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST(FixedEdges, AreAcceptedExactlyIfATourContainsThem) {
  Rng rng(1);
  int num_refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t n = 2 + rng.below(5);
    FixedEdges edges(n);
    std::vector<FixedEdge> accepted;
    for (int i = 0; i < 8; ++i) {
      FixedEdge edge{};
      edge.a = static_cast<NodeId>(rng.below(n));
      edge.b = static_cast<NodeId>(rng.below(n));
      std::vector<FixedEdge> with_edge = accepted;
      with_edge.push_back(edge);
      const bool is_accepted = edges.add(edge).empty();
      ASSERT_EQ(is_accepted, has_tour(with_edge, n)) << "n " << n << ", edge " << edge.a << " " << edge.b;
      if (is_accepted) accepted = with_edge;
      num_refused += is_accepted ? 0 : 1;
    }
  }
  EXPECT_GT(num_refused, 1000);
}

TEST(FixedEdges, BelongToAnInstance) {
  const Instance plain(std::vector<Point>(4, Point{1, 2}));
  EXPECT_TRUE(plain.fixed_edges().empty());
  const Instance instance = plain.with_fixed_edges(std::vector<FixedEdge>{{0, 1}, {1, 0}, {2, 3}});
  EXPECT_EQ(std::vector(instance.fixed_edges().begin(), instance.fixed_edges().end()),
            (std::vector<FixedEdge>{{0, 1}, {2, 3}}));
  EXPECT_THROW((void)plain.with_fixed_edges(std::vector<FixedEdge>{{0, 4}}), InputError);
}

TEST(FixedEdges, AreLookedForInTours) {
  const std::vector<FixedEdge> edges = {{0, 3}, {1, 2}};
  EXPECT_NO_THROW(check_contains_fixed_edges(std::vector<NodeId>{0, 1, 2, 3}, edges, "the tour"));
  try {
    check_contains_fixed_edges(std::vector<NodeId>{0, 1, 3, 2}, edges, "the initial tour");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "the initial tour lacks the fixed edge 1-4 of the instance; give a tour with all fixed edges, or remove "
        "that edge");
  }
}

TEST(FixedEdges, AreNotLostSilentlyInFormatsWithoutThem) {
  const Instance instance = Instance({{0, 0}, {1, 0}, {0, 1}}).with_fixed_edges(std::vector<FixedEdge>{{0, 1}});
  std::string line;
  EXPECT_THROW(append_sample_line(line, {instance, {}}), InputError);
}

}  // namespace
}  // namespace puretour
