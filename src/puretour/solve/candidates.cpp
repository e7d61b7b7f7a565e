// SPDX-License-Identifier: MIT
#include "puretour/solve/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/purity/gabriel.h"

namespace puretour {
namespace {

constexpr std::array kKinds = {CandidateKind::kNearest, CandidateKind::kQuadrant, CandidateKind::kPurity};

void sort_by_distance(std::span<const Point> points, std::size_t node, std::span<NodeId> row) {
  std::sort(row.begin(), row.end(), [&](NodeId a, NodeId b) {
    const double distance_a = squared_distance(points[node], points[static_cast<std::size_t>(a)]);
    const double distance_b = squared_distance(points[node], points[static_cast<std::size_t>(b)]);
    return distance_a != distance_b ? distance_a < distance_b : a < b;
  });
}

// Each of the four has one of its two bounding half axes, so that every other point lies in exactly one.
std::size_t quadrant_of(Point centre, Point p) {
  if (p.x > centre.x && p.y >= centre.y) return 0;
  if (p.x <= centre.x && p.y > centre.y) return 1;
  if (p.x < centre.x && p.y <= centre.y) return 2;
  return 3;  // copies of the centre, too: one place for them is as good as another
}

// Looks among the nearest `pool` nodes only; a quadrant that is empty there is filled up from the others.
NeighbourLists quadrant_lists(std::span<const Point> points, std::size_t k, int threads) {
  constexpr std::size_t kPoolFactor = 5;
  const NeighbourLists pool = nearest_neighbours(points, kPoolFactor * k, threads);
  NeighbourLists lists;
  lists.per_node = std::min(k, points.size() - 1);
  lists.nodes.resize(points.size() * lists.per_node);
  parallel_for_blocks(points.size(), 1024, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<NodeId> rest;
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<NodeId> row(lists.nodes.data() + i * lists.per_node, lists.per_node);
      std::array<std::size_t, 4> taken{};
      std::size_t size = 0;
      rest.clear();
      for (const NodeId j : pool.of(static_cast<NodeId>(i))) {
        std::size_t& count = taken[quadrant_of(points[i], points[static_cast<std::size_t>(j)])];
        if (count < k / 4 && size < row.size()) {
          row[size++] = j;
          ++count;
        } else {
          rest.push_back(j);
        }
      }
      std::copy_n(rest.begin(), row.size() - size, row.begin() + static_cast<std::ptrdiff_t>(size));
      sort_by_distance(points, i, row);
    }
  });
  return lists;
}

NeighbourLists purity_lists(std::span<const Point> points, std::size_t k, int threads) {
  const std::size_t n = points.size();
  NeighbourLists lists;
  lists.per_node = std::min(k, n - 1);
  lists.nodes.resize(n * lists.per_node);
  struct Neighbour {
    std::uint32_t order;
    double squared;
    NodeId node;
  };
  // A node has about 4 (m + 1) neighbours of order at most m: raise m until every node has k.
  for (auto max_order = static_cast<std::uint32_t>(k / 4);; max_order = 2 * max_order + 1) {
    const std::vector<GabrielEdge> edges = gabriel_graph(points, max_order, threads);
    std::vector<std::size_t> start(n + 1, 0);
    for (const GabrielEdge& e : edges) {
      ++start[static_cast<std::size_t>(e.a) + 1];
      ++start[static_cast<std::size_t>(e.b) + 1];
    }
    const bool enough = std::all_of(start.begin() + 1, start.end(), [&](std::size_t d) { return d >= lists.per_node; });
    if (!enough && max_order < n) continue;
    for (std::size_t i = 0; i < n; ++i) start[i + 1] += start[i];
    std::vector<Neighbour> neighbours(start[n]);
    std::vector<std::size_t> filled(start.begin(), start.end() - 1);
    for (const GabrielEdge& e : edges) {
      const auto a = static_cast<std::size_t>(e.a);
      const auto b = static_cast<std::size_t>(e.b);
      const double squared = squared_distance(points[a], points[b]);
      neighbours[filled[a]++] = {e.order, squared, e.b};
      neighbours[filled[b]++] = {e.order, squared, e.a};
    }
    for (std::size_t i = 0; i < n; ++i) {
      const auto first = neighbours.begin() + static_cast<std::ptrdiff_t>(start[i]);
      const auto last = neighbours.begin() + static_cast<std::ptrdiff_t>(start[i + 1]);
      std::sort(first, last, [](const Neighbour& a, const Neighbour& b) {
        return std::tie(a.order, a.squared, a.node) < std::tie(b.order, b.squared, b.node);
      });
      const std::span<NodeId> row(lists.nodes.data() + i * lists.per_node, lists.per_node);
      for (std::size_t r = 0; r < row.size(); ++r) row[r] = first[static_cast<std::ptrdiff_t>(r)].node;
      sort_by_distance(points, i, row);
    }
    return lists;
  }
}

}  // namespace

std::string_view candidate_kind_name(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kNearest:
      return "nearest";
    case CandidateKind::kQuadrant:
      return "quadrant";
    case CandidateKind::kPurity:
      return "purity";
  }
  throw InternalError("candidate_kind_name: unknown kind");
}

CandidateKind candidate_kind_from_name(std::string_view name) {
  for (const CandidateKind kind : kKinds) {
    if (candidate_kind_name(kind) == name) return kind;
  }
  throw InputError(fmt::format("unknown kind of candidates '{}'; choose nearest, quadrant or purity", name));
}

NeighbourLists candidate_lists(std::span<const Point> points, CandidateKind kind, std::size_t k, int threads) {
  if (points.size() < 2 || k == 0) return {};
  switch (kind) {
    case CandidateKind::kNearest:
      return nearest_neighbours(points, k, threads);
    case CandidateKind::kQuadrant:
      return quadrant_lists(points, k, threads);
    case CandidateKind::kPurity:
      return purity_lists(points, k, threads);
  }
  throw InternalError("candidate_lists: unknown kind");
}

}  // namespace puretour
