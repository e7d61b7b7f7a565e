// SPDX-License-Identifier: MIT
#include "puretour/solve/two_opt.h"

#include <numeric>
#include <optional>
#include <utility>

#include "puretour/solve/construct.h"
#include "puretour/solve/k_opt.h"

namespace puretour {
namespace {

constexpr KOptParams kTwoOptParams = {.step_edges = 2, .breadth = {10}, .further_steps = 0};

template <typename CostFunction>
std::vector<NodeId> descend(const Problem& problem, std::span<const NodeId> start, Rng& rng, const Deadline& deadline) {
  std::vector<NodeId> all(start.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Candidate> candidates;
  for (const NodeId i : all) {
    for (const NodeId j : problem.candidates(i)) candidates.push_back({j, problem.cost(i, j)});
  }
  KOptSearch<CostFunction> search(CostFunction(problem, all, {}), start);
  search.set_candidates(std::move(candidates));
  search.fix_edges(problem.fixed_mates());
  for (const NodeId node : random_order(problem.size(), rng)) search.push(node);
  search.descend(kTwoOptParams, std::nullopt, [&] {
    search.tour().commit();  // or the record for undoing would outgrow the tour
    return deadline.expired();
  });
  return {search.tour().order().begin(), search.tour().order().end()};
}

}  // namespace

std::vector<NodeId> two_opt(const Problem& problem, std::span<const NodeId> start, Rng& rng, const Deadline& deadline) {
  return EuclideanCost::fits(problem) ? descend<EuclideanCost>(problem, start, rng, deadline)
                                      : descend<ProblemCost>(problem, start, rng, deadline);
}

}  // namespace puretour
