// SPDX-License-Identifier: MIT
#include "puretour/solve/descent.h"

#include <utility>

#include "puretour/solve/construct.h"
#include "puretour/solve/k_opt.h"

namespace puretour {
namespace {

template <typename CostFunction>
void descend(CostFunction cost, const Problem& problem, std::vector<NodeId>& order, Rng& rng) {
  KOptParams params;
  params.max_edges = 3;
  params.breadth = {10, 5};
  KOptSearch<CostFunction> search(std::move(cost), candidate_rows(problem), order, params);
  for (const NodeId node : random_order(problem.size(), rng)) search.push(node);
  search.descend();
  order.assign(search.tour().order().begin(), search.tour().order().end());
}

}  // namespace

void local_search_from(const Problem& problem, std::vector<NodeId>& order, Rng& rng) {
  if (problem.size() < kMinMoveNodes) return;
  if (EuclideanCost::fits(problem)) {
    descend(EuclideanCost(problem), problem, order, rng);
  } else {
    descend(ProblemCost(problem), problem, order, rng);
  }
}

}  // namespace puretour
