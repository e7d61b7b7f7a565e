// SPDX-License-Identifier: MIT
#include "puretour/solve/k_opt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "puretour/solve/construct.h"
#include "puretour/tour/tour.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

std::vector<NodeId> copy_of(std::span<const NodeId> order) {
  return {order.begin(), order.end()};
}

KOptSearch<ProblemCost> make_search(const Problem& problem, std::span<const NodeId> order,
                                    const CostShift& shift = {}) {
  KOptSearch<ProblemCost> search(ProblemCost(problem, Tour::identity(order.size()).order(), shift), order);
  std::vector<Candidate> rows;
  for (NodeId i = 0; i < problem.size(); ++i) {
    const std::size_t begin = rows.size();
    for (const NodeId j : problem.candidates(i)) rows.push_back({j, search.cost(i, j)});
    std::sort(rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.end(),
              [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  }
  search.set_candidates(std::move(rows));
  return search;
}

TEST(KOptSearch, GainEqualsTheChangeOfLength) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = kMinMoveNodes; n <= 60; n += n < 12 ? 1 : 13) {
      for (int step_edges = 2; step_edges <= kMaxStepEdges; ++step_edges) {
        for (const int further_steps : {0, 3}) {
          const Problem problem(random_instance(kind, n, rng), 8);
          const std::vector<NodeId> start = random_order(problem.size(), rng);
          auto search = make_search(problem, start);
          for (const NodeId node : start) search.push(node);
          const Problem::Length gain =
              search.descend({.step_edges = step_edges, .breadth = {5, 5, 3, 2, 1}, .further_steps = further_steps});
          const std::vector<NodeId> order = copy_of(search.tour().order());
          check_permutation(order, n);
          EXPECT_EQ(problem.length(start) - gain, problem.length(order));
        }
      }
    }
  }
}

TEST(KOptSearch, RollbackRestoresTheTourAfterADescent) {
  Rng rng(5);
  const Problem problem(random_instance(Kind::kUniform, 300, rng), 8);
  const std::vector<NodeId> start = random_order(problem.size(), rng);
  auto search = make_search(problem, start);
  for (const NodeId node : start) search.push(node);
  EXPECT_GT(search.descend({}), 0);
  search.tour().rollback();
  EXPECT_EQ(copy_of(search.tour().order()), start);
}

TEST(KOptSearch, PenaltiesChangeTheSearchButNotTheGain) {
  Rng rng(6);
  for (int round = 0; round < 20; ++round) {
    const Problem problem(random_instance(Kind::kManhattan, 100, rng), 8);
    const std::vector<NodeId> start = random_order(problem.size(), rng);
    CostShift shift{10, {}};
    for (int i = 0; i < 100; ++i) shift.penalties.push_back(static_cast<Problem::Cost>(rng.below(1000)) - 500);
    auto search = make_search(problem, start, shift);
    for (const NodeId node : start) search.push(node);
    const Problem::Length gain = search.descend({});
    EXPECT_EQ(10 * (problem.length(start) - problem.length(search.tour().order())), gain);
  }
}

TEST(KOptSearch, KeepsFixedEdges) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    const std::size_t n = 10 + rng.below(100);
    const Problem problem(random_instance(Kind::kManhattan, n, rng), 8);
    const std::vector<NodeId> start = random_order(problem.size(), rng);
    auto search = make_search(problem, start);
    for (std::size_t p = 0; p + 1 < n; p += 2 + rng.below(5)) search.fix_edge(start[p], start[p + 1]);
    for (const NodeId node : start) search.push(node);
    search.descend({});
    for (std::size_t p = 0; p + 1 < n; ++p) {
      if (!search.is_fixed(start[p], start[p + 1])) continue;
      EXPECT_TRUE(search.tour().next(start[p]) == start[p + 1] || search.tour().previous(start[p]) == start[p + 1]);
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
      for (const int step_edges : {2, 3}) {
        const Problem problem(random_instance(kind, n, rng), n - 1);
        const std::vector<NodeId> order = random_order(problem.size(), rng);
        auto search = make_search(problem, order);
        Problem::Length gain = 1;
        while (gain > 0) {
          for (const NodeId node : order) search.push(node);
          gain = search.descend({.step_edges = step_edges, .breadth = {16, 16}, .further_steps = 0});
        }
        EXPECT_FALSE(has_better_reconnection(problem, search.tour().order(), step_edges))
            << "kind " << static_cast<int>(kind) << ", n " << n;
      }
    }
  }
}

}  // namespace
}  // namespace puretour
