// SPDX-License-Identifier: MIT
#include "puretour/tour/fixed_edges.h"

#include <fmt/format.h>

#include <cstdint>
#include <tuple>

#include "puretour/base/error.h"

namespace puretour {

std::string FixedEdges::add(FixedEdge edge) {
  const auto [a, b] = edge;
  for (const NodeId v : {a, b}) {
    if (v < 0 || static_cast<std::size_t>(v) >= num_nodes_) {
      return fmt::format("fixed edge {}-{}: node number {} is out of range; nodes are 1 to {}", std::int64_t{a} + 1,
                         std::int64_t{b} + 1, std::int64_t{v} + 1, num_nodes_);
    }
  }
  if (a == b) return fmt::format("fixed edge {0}-{0} joins node {0} to itself; remove it", a + 1);
  Node& first = node(a);
  if (first.mates[0] == b || first.mates[1] == b) return {};
  Node& second = node(b);
  for (const auto& [v, mates, other] : {std::tuple{a, first.mates, b}, std::tuple{b, second.mates, a}}) {
    if (mates[1] == kNone) continue;
    return fmt::format(
        "node {} has three fixed edges, to {}, {} and {}; a tour has two edges at each node, so remove one of them",
        v + 1, mates[0] + 1, mates[1] + 1, other + 1);
  }
  // With n - 1 edges the paths have become one path through all nodes, which may be closed.
  if (first.other_end == b && edges_.size() + 1 < num_nodes_) {
    return fmt::format(
        "fixed edge {}-{} closes a cycle of {} of the {} nodes; a tour is one cycle through all of them, so remove an "
        "edge of it",
        a + 1, b + 1, path_size(a), num_nodes_);
  }
  first.mates[first.mates[0] == kNone ? 0 : 1] = b;
  second.mates[second.mates[0] == kNone ? 0 : 1] = a;
  const NodeId first_end = first.other_end;
  const NodeId second_end = second.other_end;
  node(first_end).other_end = second_end;
  node(second_end).other_end = first_end;
  edges_.push_back(edge);
  return {};
}

// References into an unordered_map stay valid when it grows.
FixedEdges::Node& FixedEdges::node(NodeId v) {
  return nodes_.try_emplace(v, Node{{kNone, kNone}, v}).first->second;
}

std::size_t FixedEdges::path_size(NodeId end) const {
  std::size_t size = 0;
  NodeId previous = kNone;
  for (NodeId v = end; v != kNone; ++size) {
    const auto& mates = nodes_.at(v).mates;
    const NodeId next = mates[0] == previous ? mates[1] : mates[0];
    previous = v;
    v = next;
  }
  return size;
}

std::vector<FixedEdge> checked_fixed_edges(std::span<const FixedEdge> edges, std::size_t num_nodes) {
  FixedEdges checked(num_nodes);
  for (const FixedEdge& edge : edges) {
    if (const std::string error = checked.add(edge); !error.empty()) throw InputError(error);
  }
  return {checked.edges().begin(), checked.edges().end()};
}

void check_contains_fixed_edges(std::span<const NodeId> order, std::span<const FixedEdge> edges,
                                const std::string& name) {
  if (edges.empty()) return;
  const std::size_t n = order.size();
  std::vector<std::size_t> position(n);
  for (std::size_t p = 0; p < n; ++p) position[static_cast<std::size_t>(order[p])] = p;
  for (const auto [a, b] : edges) {
    const std::size_t p = position[static_cast<std::size_t>(a)];
    const std::size_t q = position[static_cast<std::size_t>(b)];
    if ((p + 1) % n == q || (q + 1) % n == p) continue;
    throw InputError(fmt::format(
        "{} lacks the fixed edge {}-{} of the instance; give a tour with all fixed edges, or remove that edge", name,
        a + 1, b + 1));
  }
}

}  // namespace puretour
