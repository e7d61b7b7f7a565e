// SPDX-License-Identifier: MIT
#include "puretour/solve/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"

namespace puretour {
namespace {

constexpr double kLargestCost = 0x1p29;  // two of them still add up in 32 bits

double largest_distance(const Instance& instance) {
  if (const WeightMatrix* matrix = instance.matrix()) {
    double largest = 0;
    for (const double w : matrix->weights) largest = std::max(largest, std::fabs(w));
    return largest;
  }
  if (instance.metric() == Metric::kGeo) return 20100;  // half the circumference of TSPLIB's earth
  const Box box = bounding_box(instance.points());
  return box.width() + box.height();  // bounds every planar metric
}

bool has_whole_number_costs(const Instance& instance) {
  if (instance.metric() == Metric::kEuclidean) return false;
  const WeightMatrix* matrix = instance.matrix();
  return matrix == nullptr ||
         std::all_of(matrix->weights.begin(), matrix->weights.end(), [](double w) { return w == std::floor(w); });
}

// Candidates by cost: for metrics that are not monotone in the Euclidean distance, and for matrices.
NeighbourLists cheapest_neighbours(const Problem& problem, std::size_t k, int threads) {
  const auto n = static_cast<std::size_t>(problem.size());
  NeighbourLists lists;
  lists.per_node = std::min(k, n > 0 ? n - 1 : 0);
  lists.nodes.resize(n * lists.per_node);
  parallel_for(n, threads, [&](std::size_t i) {
    std::vector<std::pair<Problem::Cost, NodeId>> others;
    others.reserve(n);
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i)
        others.emplace_back(problem.cost(static_cast<NodeId>(i), static_cast<NodeId>(j)), static_cast<NodeId>(j));
    }
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(lists.per_node), others.end());
    for (std::size_t r = 0; r < lists.per_node; ++r) lists.nodes[i * lists.per_node + r] = others[r].second;
  });
  return lists;
}

}  // namespace

std::vector<NodeId> mates_of_fixed_edges(const Instance& instance) {
  if (instance.fixed_edges().empty()) return {};
  std::vector<NodeId> mates(instance.size(), Problem::kNoMate);
  for (const auto [a, b] : instance.fixed_edges()) {
    for (const auto& [node, mate] : {std::pair{a, b}, std::pair{b, a}}) {
      NodeId& known = mates[static_cast<std::size_t>(node)];
      if (known != Problem::kNoMate) {
        throw InputError(fmt::format("node {} has two fixed edges, to {} and {}; contract chains of fixed edges first",
                                     node + 1, known + 1, mate + 1));
      }
      known = mate;
    }
  }
  return mates;
}

Problem::Problem(const Instance& instance, std::size_t num_candidates, int threads, CandidateKind kind)
    : size_(static_cast<NodeId>(instance.size())),
      metric_(instance.metric()),
      points_(instance.points().begin(), instance.points().end()),
      fixed_mates_(mates_of_fixed_edges(instance)) {
  const double largest = largest_distance(instance);
  if (has_whole_number_costs(instance)) {
    if (largest > kLargestCost) {
      throw InputError(
          fmt::format("{}: distances reach {:g}, above the {:g} that the solvers handle; scale the input down",
                      instance.name(), largest, kLargestCost));
    }
  } else if (largest > 0) {
    scale_ = kLargestCost / largest;
  }
  largest_cost_ = static_cast<Cost>(std::ceil(largest * scale_)) + 1;  // rounding up may add 1
  const auto n = static_cast<std::size_t>(size_);
  if (n <= kTableLimit || instance.matrix() != nullptr) {
    table_.resize(n * n);
    parallel_for(n, threads, [&](std::size_t i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double d = instance.distance(static_cast<NodeId>(i), static_cast<NodeId>(j));
        table_[i * n + j] = i == j ? 0 : static_cast<Cost>(std::lround(d * scale_));
      }
    });
  }
  candidates_ = has_planar_metric() ? candidate_lists(points_, kind, num_candidates, threads)
                                    : cheapest_neighbours(*this, num_candidates, threads);
}

Problem::Cost Problem::computed_cost(NodeId i, NodeId j) const {
  const Point a = points_[static_cast<std::size_t>(i)];
  const Point b = points_[static_cast<std::size_t>(j)];
  const double root = std::sqrt(squared_distance(a, b));
  if (metric_ == Metric::kEuc2d) return static_cast<Cost>(root + 0.5);
  if (metric_ == Metric::kEuclidean) return static_cast<Cost>(root * scale_ + 0.5);
  return static_cast<Cost>(metric_distance(metric_, a, b));
}

Problem::Length Problem::length(std::span<const NodeId> order) const {
  Length sum = 0;
  for (std::size_t p = 0; p + 1 < order.size(); ++p) sum += cost(order[p], order[p + 1]);
  if (order.size() > 1) sum += cost(order.back(), order.front());
  return sum;
}

void check_has_fixed_edges(const Problem& problem, std::span<const NodeId> order) {
  const auto mates = problem.fixed_mates();
  if (mates.empty()) return;
  for (std::size_t p = 0; p < order.size(); ++p) {
    const NodeId mate = mates[static_cast<std::size_t>(order[p])];
    const NodeId previous = order[p > 0 ? p - 1 : order.size() - 1];
    const NodeId next = order[p + 1 < order.size() ? p + 1 : 0];
    if (mate == Problem::kNoMate || mate == previous || mate == next) continue;
    throw InputError(fmt::format("the initial tour lacks the fixed edge {}-{}; give a tour with all fixed edges",
                                 order[p] + 1, mate + 1));
  }
}

}  // namespace puretour
