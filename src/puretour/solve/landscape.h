// What a Lin-Kernighan search knows about a problem before it has seen a tour: node numbers, penalties, candidates.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/solve/k_opt.h"
#include "puretour/solve/problem.h"

namespace puretour {

/// Prepared once, used by many searches. Nodes are named along a space-filling curve, so that near nodes are near in
/// memory. The problem must outlive it.
struct Landscape {
  static constexpr NodeId kNone = -1;

  const Problem* problem = nullptr;
  std::vector<NodeId> names;  // the problem's name of each node
  std::vector<NodeId> nodes;  // the inverse: the node of each of the problem's names
  CostShift shift;
  int per_node = 0;
  std::vector<NodeId> candidates;  // rows; kNone where a node has fewer

  /// The other end of the problem's fixed edge at a node, or kNone.
  [[nodiscard]] NodeId fixed_mate(NodeId node) const {
    if (problem->fixed_mates().empty()) return kNone;
    const NodeId mate = problem->fixed_mates()[static_cast<std::size_t>(names[static_cast<std::size_t>(node)])];
    return mate == Problem::kNoMate ? kNone : nodes[static_cast<std::size_t>(mate)];
  }

  [[nodiscard]] std::vector<NodeId> from_problem(std::span<const NodeId> order) const { return renamed(order, nodes); }
  [[nodiscard]] std::vector<NodeId> to_problem(std::span<const NodeId> order) const { return renamed(order, names); }

 private:
  static std::vector<NodeId> renamed(std::span<const NodeId> order, std::span<const NodeId> new_names) {
    std::vector<NodeId> result;
    result.reserve(order.size());
    for (const NodeId node : order) result.push_back(new_names[static_cast<std::size_t>(node)]);
    return result;
  }
};

/// Node penalties by a short ascent and few candidates by alpha-nearness; above some 200,000 nodes, where that takes
/// too long, the cheapest candidates of the problem. `tour` (in names of the problem) connects the graph that is
/// searched for them. The ascent is left out, too, if the deadline is near.
/// With `plain_candidates` that many candidates of the problem are taken as they are, for comparison.
Landscape make_landscape(const Problem& problem, std::span<const NodeId> tour, const Deadline& deadline,
                         int plain_candidates = 0);

/// A search over some of the nodes: local node i is node nodes[i] of the landscape, local_name the inverse (kNone for
/// nodes that do not take part). `order` is a tour of the local nodes; the problem's fixed edges between them stay in
/// it.
template <typename CostFunction>
KOptSearch<CostFunction> make_search(const Landscape& landscape, std::span<const NodeId> nodes,
                                     std::span<const NodeId> local_name, std::span<const NodeId> order) {
  const auto at = [](NodeId node) { return static_cast<std::size_t>(node); };
  CostShift shift{landscape.shift.factor, {}};
  std::vector<NodeId> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) {
    names.push_back(landscape.names[at(node)]);
    if (!landscape.shift.penalties.empty()) shift.penalties.push_back(landscape.shift.penalties[at(node)]);
  }
  KOptSearch<CostFunction> search(CostFunction(*landscape.problem, names, shift), order);

  const auto per_node = static_cast<std::size_t>(landscape.per_node);
  std::vector<Candidate> rows;
  rows.reserve(nodes.size() * per_node);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto local = static_cast<NodeId>(i);
    const std::size_t begin = rows.size();
    for (std::size_t r = 0; r < per_node; ++r) {
      const NodeId candidate = landscape.candidates[at(nodes[i]) * per_node + r];
      const NodeId other = candidate == Landscape::kNone ? Landscape::kNone : local_name[at(candidate)];
      if (other != Landscape::kNone) rows.push_back({other, search.cost(local, other)});
    }
    std::sort(
        rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.end(),
        [](const Candidate& a, const Candidate& b) { return a.cost != b.cost ? a.cost < b.cost : a.node < b.node; });
    // Rows are of equal length. Repeating an entry does no harm, nor does a tour neighbour: it is never added.
    const NodeId neighbour = search.tour().next(local);
    const Candidate filler = rows.size() > begin ? rows.back() : Candidate{neighbour, search.cost(local, neighbour)};
    rows.resize(begin + per_node, filler);
  }
  search.set_candidates(std::move(rows));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId mate = landscape.fixed_mate(nodes[i]);
    const NodeId other = mate == Landscape::kNone ? Landscape::kNone : local_name[at(mate)];
    if (static_cast<NodeId>(i) < other) search.fix_edge(static_cast<NodeId>(i), other);
  }
  return search;
}

}  // namespace puretour
