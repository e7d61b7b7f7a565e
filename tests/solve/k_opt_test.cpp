// SPDX-License-Identifier: MIT
#include "puretour/solve/k_opt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "puretour/solve/construct.h"
#include "puretour/solve/descent.h"
#include "puretour/tour/tour.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

std::vector<NodeId> copy_of(std::span<const NodeId> order) {
  return {order.begin(), order.end()};
}

KOptParams unpruned(int max_edges) {
  KOptParams params;
  params.max_edges = max_edges;
  params.breadth.fill(1000);
  return params;
}

TEST(KOptSearch, GainEqualsTheChangeOfLength) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = kMinMoveNodes; n <= 60; n += n < 12 ? 1 : 13) {
      for (int max_edges = 2; max_edges <= 7; ++max_edges) {
        const Problem problem(random_instance(kind, n, rng), 8);
        const std::vector<NodeId> start = random_order(problem.size(), rng);
        KOptParams params;
        params.max_edges = max_edges;
        KOptSearch search(ProblemCost(problem), candidate_rows(problem), start, params);
        for (const NodeId node : start) search.push(node);
        const Problem::Length gain = search.descend();
        const std::vector<NodeId> order = copy_of(search.tour().order());
        check_permutation(order, n);
        EXPECT_EQ(problem.length(start) - gain, problem.length(order));
      }
    }
  }
}

// The tours that differ from `order` by removing k edges and joining the pieces in any way.
bool has_better_reconnection(const Problem& problem, std::span<const NodeId> order, int k) {
  const auto n = static_cast<NodeId>(order.size());
  const Problem::Length length = problem.length(order);
  std::vector<NodeId> cuts;
  const auto try_all = [&](const auto& self, NodeId first) -> bool {
    if (static_cast<int>(cuts.size()) == k) {
      std::vector<int> pieces;
      for (int i = 1; i < k; ++i) pieces.push_back(i);
      do {
        for (int directions = 0; directions < 1 << (k - 1); ++directions) {
          std::vector<NodeId> changed;
          for (NodeId p = cuts[static_cast<std::size_t>(k) - 1] + 1; p <= cuts[0] + n; ++p) {
            changed.push_back(order[static_cast<std::size_t>(p % n)]);
          }
          for (const int piece : pieces) {
            std::vector<NodeId> nodes;
            for (NodeId p = cuts[static_cast<std::size_t>(piece) - 1] + 1; p <= cuts[static_cast<std::size_t>(piece)];
                 ++p) {
              nodes.push_back(order[static_cast<std::size_t>(p)]);
            }
            if ((directions >> (piece - 1) & 1) != 0) std::reverse(nodes.begin(), nodes.end());
            changed.insert(changed.end(), nodes.begin(), nodes.end());
          }
          if (problem.length(changed) < length) return true;
        }
      } while (std::next_permutation(pieces.begin(), pieces.end()));
      return false;
    }
    for (NodeId cut = first; cut < n; ++cut) {
      cuts.push_back(cut);
      if (self(self, cut + 1)) return true;
      cuts.pop_back();
    }
    return false;
  };
  return try_all(try_all, 0);
}

// With full candidate lists the only pruning left is the positive gain, which loses no improving sequential move, and
// all 2-opt and 3-opt moves are sequential. So nothing better may remain nearby once a full pass finds nothing.
TEST(KOptSearch, UnprunedDescentLeavesNoBetterTourInItsNeighbourhood) {
  Rng rng(2);
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = kMinMoveNodes; n <= 11; ++n) {
      for (const int max_edges : {2, 3}) {
        const Problem problem(random_instance(kind, n, rng), n - 1);
        std::vector<NodeId> order = random_order(problem.size(), rng);
        KOptSearch search(ProblemCost(problem), candidate_rows(problem), order, unpruned(max_edges));
        Problem::Length gain = 1;
        while (gain > 0) {
          for (const NodeId node : order) search.push(node);
          gain = search.descend();
        }
        EXPECT_FALSE(has_better_reconnection(problem, search.tour().order(), max_edges))
            << "kind " << static_cast<int>(kind) << ", n " << n;
      }
    }
  }
}

TEST(LocalSearchFrom, ReachesTheQualityOfThreeOpt) {
  const Instance instance = uniform_benchmark(2000);
  const Problem problem(instance, 10);
  constexpr double kBest = 32719341;
  Rng rng(3);
  double sum = 0;
  for (int run = 0; run < 3; ++run) {
    std::vector<NodeId> order = random_order(problem.size(), rng);
    local_search_from(problem, order, rng);
    check_permutation(order, 2000);
    sum += static_cast<double>(problem.length(order)) / kBest - 1;
  }
  EXPECT_LT(sum / 3, 0.06);
  std::vector<NodeId> order = greedy_tour(problem);
  local_search_from(problem, order, rng);
  EXPECT_LT(static_cast<double>(problem.length(order)), 1.04 * kBest);
}

TEST(LocalSearchFrom, NeverLengthensATourOfAnyKind) {
  Rng rng(4);
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = 1; n < 100; n += n < 10 ? 1 : 30) {
      const Problem problem(random_instance(kind, n, rng), 8);
      const std::vector<NodeId> start = random_order(problem.size(), rng);
      std::vector<NodeId> order = start;
      local_search_from(problem, order, rng);
      check_permutation(order, n);
      EXPECT_LE(problem.length(order), problem.length(start));
    }
  }
}

}  // namespace
}  // namespace puretour
