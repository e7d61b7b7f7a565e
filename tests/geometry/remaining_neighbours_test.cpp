// SPDX-License-Identifier: MIT
#include "puretour/geometry/remaining_neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/point_sets.h"

namespace puretour {
namespace {

std::vector<NodeId> by_definition(std::span<const Point> points, const std::vector<bool>& gone, NodeId node,
                                  std::size_t k) {
  std::vector<std::pair<float, NodeId>> others;
  for (std::size_t j = 0; j < points.size(); ++j) {
    if (gone[j] || static_cast<NodeId>(j) == node) continue;
    const float dx = static_cast<float>(points[j].x) - static_cast<float>(points[static_cast<std::size_t>(node)].x);
    const float dy = static_cast<float>(points[j].y) - static_cast<float>(points[static_cast<std::size_t>(node)].y);
    others.emplace_back(dx * dx + dy * dy, static_cast<NodeId>(j));
  }
  std::sort(others.begin(), others.end());
  std::vector<NodeId> nodes;
  for (std::size_t r = 0; r < std::min(k, others.size()); ++r) nodes.push_back(others[r].second);
  return nodes;
}

// Walks to a nearest node most of the time and jumps now and then, as tours do.
void walk(RemainingNeighbours& index, std::span<const Point> points, std::size_t k, std::uint64_t seed,
          const std::string& what) {
  const std::size_t n = points.size();
  Rng rng(seed);
  std::vector<bool> gone(n, false);
  auto current = static_cast<NodeId>(rng.below(n));
  for (std::size_t step = 0; step < n; ++step) {
    const bool ask_before_removal = rng.below(2) == 0;
    if (!ask_before_removal) {
      index.remove(current);
      gone[static_cast<std::size_t>(current)] = true;
    }
    std::vector<NodeId> found(k);
    found.resize(index.nearest(current, k, found.data()));
    ASSERT_EQ(found, by_definition(points, gone, current, k))
        << what << " n = " << n << " k = " << k << " step " << step;
    if (ask_before_removal) {
      index.remove(current);
      gone[static_cast<std::size_t>(current)] = true;
    }
    ASSERT_EQ(index.remaining(), n - step - 1);
    ASSERT_FALSE(index.is_remaining(current));
    if (step + 1 == n) break;
    if (!found.empty() && rng.below(10) != 0) {
      current = found[rng.below(std::min<std::size_t>(found.size(), 3))];
    } else {
      do {
        current = static_cast<NodeId>(rng.below(n));
      } while (gone[static_cast<std::size_t>(current)]);
    }
  }
}

TEST(RemainingNeighbours, EqualBruteForceThroughoutAWalk) {
  for (const std::size_t n : {1, 2, 5, 16, 17, 100, 600}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) {
      for (const std::size_t k : {1, 15, 50}) {
        RemainingNeighbours index(points);
        walk(index, points, k, n + k, name);
        index.reset();
        walk(index, points, k, n + k + 1, name + " after reset");
      }
    }
  }
}

TEST(RemainingNeighbours, WorkFarFromTheOrigin) {
  auto points = test::uniform_points(300, 1);
  for (Point& p : points) p = {p.x * 1e5 + 3e6, p.y * 1e5 - 7e6};
  RemainingNeighbours index(points);
  walk(index, points, 20, 1, "offset");
}

TEST(RemainingNeighbours, OfNothing) {
  RemainingNeighbours index({});
  EXPECT_EQ(index.remaining(), 0U);
}

}  // namespace
}  // namespace puretour
