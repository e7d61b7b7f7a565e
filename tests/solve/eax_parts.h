// What the tests of the parts of EAX share: spaces, random tours and pairs of parents.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "puretour/solve/construct.h"
#include "puretour/solve/eax_space.h"
#include "puretour/solve/eax_tour.h"
#include "puretour/solve/local_optima.h"
#include "solve/test_instances.h"

namespace puretour {

/// A problem, and the space of EAX over it.
struct EaxFixture {
  Problem problem;
  EaxSpace space;

  EaxFixture(Kind kind, std::size_t n, Rng& rng)
      : problem(random_instance(kind, n, rng), 10), space(problem, random_order(problem.size(), rng), 10) {}

  EaxTour random_tour(Rng& rng) const { return {space, random_order(space.size(), rng)}; }

  /// A local optimum, as in a real population: two of them share most edges.
  EaxTour good_tour(Rng& rng) const {
    return {space, space.to_space(LocalOptima(problem, LocalOptimum::kThreeOpt).draw(rng))};
  }
};

using Edge = std::pair<NodeId, NodeId>;

inline Edge edge(NodeId u, NodeId v) {
  return u < v ? Edge{u, v} : Edge{v, u};
}

inline std::set<Edge> edges_of(const EaxTour& tour) {
  std::set<Edge> edges;
  for (NodeId v = 0; v < tour.size(); ++v) {
    for (const NodeId w : tour.node(v).link) edges.insert(edge(v, w));
  }
  return edges;
}

/// The least node on the cycle of links through each node.
inline std::vector<NodeId> cycle_labels(const EaxTour& tour) {
  std::vector<NodeId> label(static_cast<std::size_t>(tour.size()), -1);
  for (NodeId start = 0; start < tour.size(); ++start) {
    NodeId before = tour.node(start).link[0];
    for (NodeId v = start; label[static_cast<std::size_t>(v)] < 0;) {
      label[static_cast<std::size_t>(v)] = start;
      const NodeId next = tour.node(v).link[tour.node(v).link[0] == before ? 1 : 0];
      before = v;
      v = next;
    }
  }
  return label;
}

inline std::vector<EaxTour::Node> copy_of_links(const EaxTour& tour) {
  return {tour.nodes().begin(), tour.nodes().end()};
}

}  // namespace puretour
