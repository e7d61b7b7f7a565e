// SPDX-License-Identifier: MIT
#include "puretour/solve/exact.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "puretour/base/error.h"

namespace puretour {

std::vector<NodeId> exact_tour(const Problem& problem) {
  const NodeId n = problem.size();
  if (n > kMaxExactNodes) {
    throw InputError(fmt::format("exact tour: {} nodes given, at most {} are possible", n, kMaxExactNodes));
  }
  std::vector<NodeId> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (n <= 3) return order;

  // shortest[set * m + last]: the shortest path that starts at node m = n - 1, visits exactly `set` (a subset of the
  // other nodes 0 .. m - 1) and ends at `last`.
  const auto m = static_cast<std::size_t>(n - 1);
  const NodeId start = n - 1;
  const std::size_t num_sets = std::size_t{1} << m;
  // A fixed edge is so cheap that no tour without it is the shortest; its true cost makes no difference.
  constexpr Problem::Length kFixedEdgeCost = -(Problem::Length{1} << 40);
  std::vector<Problem::Length> costs;
  for (NodeId i = 0; i < n; ++i) {
    for (NodeId j = 0; j < n; ++j) costs.push_back(problem.is_fixed(i, j) ? kFixedEdgeCost : problem.cost(i, j));
  }
  const auto cost = [&](NodeId i, NodeId j) { return costs[static_cast<std::size_t>(i * n + j)]; };
  constexpr Problem::Length kUnreached = std::numeric_limits<Problem::Length>::max() / 2;
  std::vector<Problem::Length> shortest(num_sets * m, kUnreached);
  for (std::size_t last = 0; last < m; ++last) {
    shortest[(std::size_t{1} << last) * m + last] = cost(start, static_cast<NodeId>(last));
  }
  for (std::size_t set = 1; set < num_sets; ++set) {
    for (std::size_t last = 0; last < m; ++last) {
      const Problem::Length length = shortest[set * m + last];
      if (length >= kUnreached) continue;
      for (std::size_t next = 0; next < m; ++next) {
        if ((set >> next & 1U) != 0) continue;
        Problem::Length& best = shortest[(set | std::size_t{1} << next) * m + next];
        best = std::min(best, length + cost(static_cast<NodeId>(last), static_cast<NodeId>(next)));
      }
    }
  }

  // Walk back from the full set: the predecessor is any node that explains the stored length.
  std::size_t set = num_sets - 1;
  NodeId successor = start;
  Problem::Length remaining = kUnreached;
  for (std::size_t last = 0; last < m; ++last) {
    remaining = std::min(remaining, shortest[set * m + last] + cost(static_cast<NodeId>(last), start));
  }
  order.assign(1, start);
  while (set != 0) {
    for (std::size_t last = 0; last < m; ++last) {
      if ((set >> last & 1U) == 0) continue;
      const Problem::Length length = shortest[set * m + last];
      if (length + cost(static_cast<NodeId>(last), successor) != remaining) continue;
      order.push_back(static_cast<NodeId>(last));
      successor = static_cast<NodeId>(last);
      remaining = length;
      set &= ~(std::size_t{1} << last);
      break;
    }
  }
  return order;
}

}  // namespace puretour
