// SPDX-License-Identifier: MIT
#include "puretour/solve/landscape.h"

#include <numeric>

#include "puretour/solve/ascent.h"
#include "puretour/solve/construct.h"

namespace puretour {
namespace {

// Candidates per node: five by alpha find what takes ten by distance; without penalties take a few more.
constexpr int kAlphaCandidates = 5;
constexpr int kNearCandidates = 7;
// 1-trees for the penalties: more improve the bound, but not the search. Above the limit they take too long.
constexpr int kAscentSteps = 50;
constexpr NodeId kAscentLimit = 200000;
// The ascent takes 1-2e-5 s per node, and what it is good for comes after the descent: leave it out of short searches.
constexpr double kAscentSecondsPerNode = 1e-4;

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

}  // namespace

Landscape make_landscape(const Problem& problem, std::span<const NodeId> tour, const Deadline& deadline,
                         int plain_candidates) {
  Landscape landscape;
  landscape.problem = &problem;
  const NodeId n = problem.size();
  if (!problem.points().empty()) {
    landscape.names = hilbert_order(problem.points());
  } else {
    landscape.names.resize(at(n));
    std::iota(landscape.names.begin(), landscape.names.end(), 0);
  }
  std::vector<NodeId> rows;
  std::vector<Problem::Cost> penalties;
  if (plain_candidates == 0 && n <= kAscentLimit && deadline.seconds_left() > kAscentSecondsPerNode * n) {
    landscape.shift.factor = penalty_factor(problem);
    landscape.per_node = kAlphaCandidates;
    const SparseGraph graph = candidate_graph(problem, tour, landscape.shift.factor);
    penalties = ascend(graph, kAscentSteps).penalties;
    rows = alpha_nearest(graph, penalties, landscape.per_node);
  } else {
    landscape.per_node = std::min(plain_candidates > 0 ? plain_candidates : kNearCandidates,
                                  static_cast<int>(problem.candidates(0).size()));
    for (NodeId i = 0; i < n; ++i) {
      const auto list = problem.candidates(i).first(static_cast<std::size_t>(landscape.per_node));
      rows.insert(rows.end(), list.begin(), list.end());
    }
  }
  landscape.nodes.resize(at(n));
  for (NodeId i = 0; i < n; ++i) landscape.nodes[at(landscape.names[at(i)])] = i;
  landscape.candidates.reserve(rows.size());
  for (const NodeId old : landscape.names) {
    if (!penalties.empty()) landscape.shift.penalties.push_back(penalties[at(old)]);
    for (int r = 0; r < landscape.per_node; ++r) {
      const NodeId candidate =
          rows[at(old) * static_cast<std::size_t>(landscape.per_node) + static_cast<std::size_t>(r)];
      landscape.candidates.push_back(candidate == Landscape::kNone ? Landscape::kNone : landscape.nodes[at(candidate)]);
    }
  }
  return landscape;
}

}  // namespace puretour
