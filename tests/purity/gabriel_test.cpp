// SPDX-License-Identifier: MIT
#include "puretour/purity/gabriel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "puretour/purity/order_matrix.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

std::vector<GabrielEdge> by_definition(const OrderMatrix& orders, std::uint32_t max_order) {
  std::vector<GabrielEdge> edges;
  const auto n = static_cast<NodeId>(orders.size());
  for (NodeId i = 0; i < n; ++i) {
    for (NodeId j = i + 1; j < n; ++j) {
      if (orders.at(i, j) <= max_order) edges.push_back({i, j, orders.at(i, j)});
    }
  }
  return edges;
}

TEST(GabrielGraph, EqualsTheDefinitionOnEveryKindOfInput) {
  for (const std::size_t n : {0, 1, 2, 3, 9, 60, 300}) {
    for (const auto& [name, points] : test::all_point_sets(n, n + 5)) {
      const OrderMatrix orders(points);
      for (const std::uint32_t max_order : {0U, 1U, 3U, 1000U}) {
        ASSERT_EQ(gabriel_graph(points, max_order), by_definition(orders, max_order))
            << name << " n = " << n << " k = " << max_order;
      }
    }
  }
}

TEST(GabrielGraph, EqualsTheDefinitionAtExtremeScales) {
  for (const double scale : {1e-200, 1e-150, 1e150, 1e200}) {
    auto points = test::uniform_points(50, 3);
    for (Point& p : points) p = {p.x * scale, p.y * scale};
    EXPECT_EQ(gabriel_graph(points, 1), by_definition(OrderMatrix(points), 1)) << scale;
  }
}

TEST(GabrielGraph, DoesNotDependOnThreads) {
  const auto points = test::uniform_points(10000, 3);
  EXPECT_EQ(gabriel_graph(points, 0, 1), gabriel_graph(points, 0, 3));
}

TEST(GabrielGraph, HasAboutTwoEdgesPerNodeAndLevel) {
  const auto points = test::uniform_points(20000, 4);
  EXPECT_NEAR(static_cast<double>(gabriel_graph(points, 0).size()) / 20000, 2, 0.05);
  EXPECT_NEAR(static_cast<double>(gabriel_graph(points, 2).size()) / 20000, 6, 0.15);
}

// Propositions 1 and 2 of the paper: every node has a neighbour of order 0, and the graph is connected.
TEST(GabrielGraph, IsConnected) {
  for (const auto& [name, points] : test::all_point_sets(500, 6)) {
    std::vector<NodeId> parent(points.size());
    for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = static_cast<NodeId>(i);
    const auto root = [&parent](NodeId i) {
      while (parent[static_cast<std::size_t>(i)] != i) i = parent[static_cast<std::size_t>(i)];
      return i;
    };
    std::size_t components = points.size();
    for (const GabrielEdge& edge : gabriel_graph(points)) {
      const NodeId a = root(edge.a);
      const NodeId b = root(edge.b);
      if (a != b) {
        parent[static_cast<std::size_t>(a)] = b;
        --components;
      }
    }
    EXPECT_EQ(components, 1U) << name;
  }
}

}  // namespace
}  // namespace puretour
