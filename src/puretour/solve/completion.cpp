// SPDX-License-Identifier: MIT
#include "puretour/solve/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "puretour/base/error.h"
#include "puretour/solve/solver.h"

namespace puretour {
namespace {

double distance(Point a, Point b) {
  return std::sqrt(squared_distance(a, b));
}

}  // namespace

void TourCompleter::complete(std::span<const Point> points, std::span<const NodeId> visited, Rng& rng,
                             std::span<NodeId> tour, const SmallTourSearch::Limits& limits) {
  const std::size_t n = points.size();
  is_visited_.assign(n, 0);
  for (const NodeId node : visited) {
    if (node < 0 || static_cast<std::size_t>(node) >= n) {
      throw InputError(fmt::format("complete_tour: node {} is visited, but the nodes are 0 to {}", node,
                                   static_cast<std::int64_t>(n) - 1));
    }
    if (is_visited_[static_cast<std::size_t>(node)] != 0) {
      throw InputError(fmt::format("complete_tour: node {} is visited twice", node));
    }
    is_visited_[static_cast<std::size_t>(node)] = 1;
  }
  std::copy(visited.begin(), visited.end(), tour.begin());
  if (visited.size() == n) return;
  nodes_.clear();
  if (!visited.empty()) nodes_.push_back(visited.back());
  for (std::size_t i = 0; i < n; ++i) {
    if (is_visited_[i] == 0) nodes_.push_back(static_cast<NodeId>(i));
  }
  if (visited.empty()) {  // starts and ends at node 0
    tour[0] = 0;
    tour = tour.subspan(1);
  } else {
    tour = tour.subspan(visited.size());
  }
  const std::size_t num_unvisited = tour.size();
  if (num_unvisited == 0) return;
  const bool is_closed = visited.size() <= 1;
  if (!is_closed) nodes_.push_back(visited.front());
  places_.clear();
  for (const NodeId node : nodes_) places_.push_back(points[static_cast<std::size_t>(node)]);
  if (num_unvisited <= kMaxExactUnvisited) return complete_exactly(num_unvisited, tour);
  if (places_.size() > SmallTourSearch::kMaxNodes) return complete_large(rng.bits(), tour);
  if (!is_closed) {
    const auto order = search_.path(places_, rng, limits);
    for (std::size_t i = 0; i < num_unvisited; ++i) tour[i] = nodes_[order[i + 1]];
    return;
  }
  const auto order = search_.closed_tour(places_, rng, limits);
  const auto start = static_cast<std::size_t>(std::find(order.begin(), order.end(), 0) - order.begin());
  for (std::size_t i = 0; i < num_unvisited; ++i) tour[i] = nodes_[order[(start + 1 + i) % order.size()]];
}

// Shortest paths from the current node through sets of unvisited nodes (Held and Karp 1962; Bellman 1962).
void TourCompleter::complete_exactly(std::size_t num_unvisited, std::span<NodeId> rest) {
  const std::size_t m = num_unvisited;
  const std::size_t num_sets = std::size_t{1} << m;
  const auto place = [&](std::size_t unvisited) { return places_[unvisited + 1]; };
  lengths_.assign(num_sets * m, std::numeric_limits<double>::infinity());
  before_.resize(num_sets * m);
  for (std::size_t last = 0; last < m; ++last) {
    lengths_[(std::size_t{1} << last) * m + last] = distance(places_[0], place(last));
  }
  for (std::size_t set = 1; set < num_sets; ++set) {
    for (std::size_t last = 0; last < m; ++last) {
      const double length = lengths_[set * m + last];
      if (!(length < std::numeric_limits<double>::infinity())) continue;
      for (std::size_t next = 0; next < m; ++next) {
        if ((set >> next & 1U) != 0) continue;
        const std::size_t state = (set | std::size_t{1} << next) * m + next;
        const double longer = length + distance(place(last), place(next));
        if (longer >= lengths_[state]) continue;
        lengths_[state] = longer;
        before_[state] = static_cast<std::uint8_t>(last);
      }
    }
  }
  const Point end = places_.size() > m + 1 ? places_.back() : places_.front();
  std::size_t set = num_sets - 1;
  std::size_t last = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t l = 0; l < m; ++l) {
    const double length = lengths_[set * m + l] + distance(place(l), end);
    if (length >= shortest) continue;
    shortest = length;
    last = l;
  }
  for (std::size_t i = m; i-- > 0;) {
    rest[i] = nodes_[last + 1];
    const std::size_t previous = before_[set * m + last];
    set &= ~(std::size_t{1} << last);
    last = previous;
  }
}

void TourCompleter::complete_large(std::uint64_t seed, std::span<NodeId> rest) const {
  Instance instance(places_);
  const auto last = static_cast<NodeId>(places_.size() - 1);
  const bool is_closed = rest.size() + 1 == places_.size();
  if (!is_closed) instance = instance.with_fixed_edges(std::vector<FixedEdge>{{0, last}});
  SolveOptions options;
  options.seed = seed;
  const SolveResult result = make_solver("auto")->solve(instance, options);
  const auto order = result.tour.order();
  const std::size_t n = order.size();
  const auto start = static_cast<std::size_t>(std::find(order.begin(), order.end(), 0) - order.begin());
  const bool backwards = !is_closed && order[(start + 1) % n] == last;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] = nodes_[static_cast<std::size_t>(order[(start + (backwards ? n - 1 - i : i + 1)) % n])];
  }
}

std::vector<NodeId> complete_tour(std::span<const Point> points, std::span<const NodeId> visited,
                                  const CompletionOptions& options) {
  std::vector<NodeId> tour(points.size());
  Rng rng(options.seed);
  TourCompleter().complete(points, visited, rng, tour, options.limits);
  return tour;
}

}  // namespace puretour
