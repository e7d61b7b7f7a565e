// SPDX-License-Identifier: MIT
#include "puretour/solve/local_optima.h"

#include <numeric>
#include <optional>
#include <utility>

#include "puretour/solve/construct.h"
#include "puretour/solve/k_opt.h"

namespace puretour {
namespace {

constexpr KOptParams kThreeOptParams = {.step_edges = 3, .breadth = {10, 5}, .further_steps = 0};

template <typename CostFunction>
KOptSearch<CostFunction> make_three_opt_search(const Problem& problem, std::span<const NodeId> all_nodes,
                                               std::span<const NodeId> order) {
  std::vector<Candidate> candidates;
  for (const NodeId i : all_nodes) {
    for (const NodeId j : problem.candidates(i)) candidates.push_back({j, problem.cost(i, j)});
  }
  KOptSearch<CostFunction> search(CostFunction(problem, all_nodes, {}), order);
  search.set_candidates(std::move(candidates));
  search.fix_edges(problem.fixed_mates());
  return search;
}

std::vector<NodeId> random_tour(const Problem& problem, Rng& rng) {
  return with_mates_together(random_order(problem.size(), rng), problem.fixed_mates());
}

// To a local optimum, nodes in random order, so that equal starts may end differently.
template <typename CostFunction>
void descend(KOptSearch<CostFunction>& search, const KOptParams& params, Rng& rng, const Deadline& deadline) {
  for (const NodeId node : random_order(search.tour().size(), rng)) search.push(node);
  search.descend(params, std::nullopt, [&] {
    search.tour().commit();  // or the record for undoing would outgrow the tour
    return deadline.expired();
  });
}

}  // namespace

LocalOptima::LocalOptima(const Problem& problem, LocalOptimum kind, const Deadline& deadline)
    : problem_(problem), kind_(kind), all_nodes_(static_cast<std::size_t>(problem.size())) {
  std::iota(all_nodes_.begin(), all_nodes_.end(), 0);
  if (kind == LocalOptimum::kLinKernighan && problem.size() >= kMinMoveNodes) {
    landscape_ = make_landscape(problem, greedy_tour(problem), deadline);
  }
}

std::vector<NodeId> LocalOptima::draw(Rng& rng, const Deadline& deadline) const {
  if (problem_.size() < kMinMoveNodes) return random_tour(problem_, rng);
  return EuclideanCost::fits(problem_) ? draw_with<EuclideanCost>(rng, deadline)
                                       : draw_with<ProblemCost>(rng, deadline);
}

template <typename CostFunction>
std::vector<NodeId> LocalOptima::draw_with(Rng& rng, const Deadline& deadline) const {
  if (kind_ == LocalOptimum::kThreeOpt) {
    auto search = make_three_opt_search<CostFunction>(problem_, all_nodes_, random_tour(problem_, rng));
    descend(search, kThreeOptParams, rng, deadline);
    return {search.tour().order().begin(), search.tour().order().end()};
  }
  const std::vector<NodeId> start = landscape_.from_problem(random_greedy_tour(problem_, rng));
  auto search = make_search<CostFunction>(landscape_, all_nodes_, all_nodes_, start);
  descend(search, KOptParams{}, rng, deadline);
  return landscape_.to_problem(search.tour().order());
}

}  // namespace puretour
