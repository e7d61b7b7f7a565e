// SPDX-License-Identifier: MIT
#include "puretour/solve/descent.h"

#include <utility>

#include "puretour/solve/construct.h"
#include "puretour/solve/k_opt.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

template <typename CostFunction>
void descend(const Problem& problem, std::vector<NodeId>& order, Rng& rng) {
  std::vector<Candidate> candidates;
  for (NodeId i = 0; i < problem.size(); ++i) {
    for (const NodeId j : problem.candidates(i)) candidates.push_back({j, problem.cost(i, j)});
  }
  KOptSearch<CostFunction> search(CostFunction(problem, Tour::identity(order.size()).order(), {}), order);
  search.set_candidates(std::move(candidates));
  for (const NodeId node : random_order(problem.size(), rng)) search.push(node);
  search.descend({.step_edges = 3, .breadth = {10, 5}, .further_steps = 0});
  order.assign(search.tour().order().begin(), search.tour().order().end());
}

}  // namespace

void local_search_from(const Problem& problem, std::vector<NodeId>& order, Rng& rng) {
  if (problem.size() < kMinMoveNodes) return;
  if (EuclideanCost::fits(problem)) {
    descend<EuclideanCost>(problem, order, rng);
  } else {
    descend<ProblemCost>(problem, order, rng);
  }
}

}  // namespace puretour
