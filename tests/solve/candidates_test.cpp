// SPDX-License-Identifier: MIT
#include "puretour/solve/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "puretour/base/error.h"
#include "puretour/purity/order_matrix.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

std::set<NodeId> as_set(std::span<const NodeId> row) {
  return {row.begin(), row.end()};
}

TEST(Candidates, AreSortedDistinctAndNeverTheNodeItself) {
  for (const std::size_t n : {2, 5, 40, 300}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) {
      for (const auto kind : {CandidateKind::kNearest, CandidateKind::kQuadrant, CandidateKind::kPurity}) {
        const NeighbourLists lists = candidate_lists(points, kind, 8);
        ASSERT_EQ(lists.per_node, std::min<std::size_t>(8, n - 1));
        for (std::size_t i = 0; i < n; ++i) {
          const auto row = lists.of(static_cast<NodeId>(i));
          ASSERT_EQ(as_set(row).size(), row.size()) << name;
          ASSERT_FALSE(as_set(row).contains(static_cast<NodeId>(i))) << name;
          for (std::size_t r = 1; r < row.size(); ++r) {
            ASSERT_LE(squared_distance(points[i], points[static_cast<std::size_t>(row[r - 1])]),
                      squared_distance(points[i], points[static_cast<std::size_t>(row[r])]));
          }
        }
      }
    }
  }
}

TEST(Candidates, OfPurityAreThoseOfLowestOrder) {
  for (const auto& [name, points] : test::all_point_sets(120, 3)) {
    const OrderMatrix orders(points);
    const NeighbourLists lists = candidate_lists(points, CandidateKind::kPurity, 7, 2);
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::vector<std::tuple<int, double, NodeId>> others;
      for (std::size_t j = 0; j < points.size(); ++j) {
        if (j == i) continue;
        others.emplace_back(orders.at(static_cast<NodeId>(i), static_cast<NodeId>(j)),
                            squared_distance(points[i], points[j]), static_cast<NodeId>(j));
      }
      std::sort(others.begin(), others.end());
      std::set<NodeId> expected;
      for (std::size_t r = 0; r < 7; ++r) expected.insert(std::get<2>(others[r]));
      ASSERT_EQ(as_set(lists.of(static_cast<NodeId>(i))), expected) << name << " node " << i;
    }
  }
}

TEST(Candidates, OfQuadrantsLookInAllDirections) {
  // Ten near nodes to the right, one far node in each other direction.
  std::vector<Point> points = {{0, 0}, {-10, 9}, {-10, -9}, {9, -30}};
  for (int i = 1; i <= 10; ++i) points.push_back({0.1 * i, 0.05});
  const auto near = candidate_lists(points, CandidateKind::kNearest, 8);
  const auto spread = candidate_lists(points, CandidateKind::kQuadrant, 8);
  EXPECT_FALSE(as_set(near.of(0)).contains(1));
  for (const NodeId far_node : {1, 2, 3}) EXPECT_TRUE(as_set(spread.of(0)).contains(far_node));
}

TEST(Candidates, HaveNames) {
  for (const auto kind : {CandidateKind::kNearest, CandidateKind::kQuadrant, CandidateKind::kPurity}) {
    EXPECT_EQ(candidate_kind_from_name(candidate_kind_name(kind)), kind);
  }
  EXPECT_THROW(candidate_kind_from_name("alpha"), InputError);
}

}  // namespace
}  // namespace puretour
