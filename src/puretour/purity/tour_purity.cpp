// SPDX-License-Identifier: MIT
#include "puretour/purity/tour_purity.h"

#include <fmt/format.h>

#include <algorithm>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/tour/tour.h"

namespace puretour {

std::vector<std::uint32_t> tour_orders(std::span<const Point> points, std::span<const NodeId> order, int threads) {
  return tour_orders(KdTree(points), order, threads);
}

std::vector<std::uint32_t> tour_orders(const KdTree& points, std::span<const NodeId> order, int threads) {
  const std::size_t n = points.size();
  if (n < 2) throw InputError(fmt::format("purity: a tour needs at least two nodes to have an edge, got {}", n));
  check_permutation(order, n);
  std::vector<std::uint32_t> orders(n);
  constexpr std::size_t kBlock = 4096;
  parallel_for_blocks(n, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    // Nodes of a tour lie anywhere in memory: look all of them up first, and ask for their surroundings ahead of time.
    std::vector<std::size_t> positions(end - begin + 1);
    for (std::size_t t = begin; t <= end; ++t) positions[t - begin] = points.position_of(order[t < n ? t : 0]);
    constexpr std::size_t kAhead = 8;
    for (std::size_t e = 0; e + 1 < positions.size(); ++e) {
      points.prefetch(positions[std::min(e + kAhead, positions.size() - 1)]);
      orders[begin + e] =
          static_cast<std::uint32_t>(points.count_inside_diametral_disc(positions[e], positions[e + 1]));
    }
  });
  return orders;
}

void PurityHistogram::add(std::uint32_t order, std::uint64_t count) {
  if (count == 0) return;
  if (order >= counts_.size()) counts_.resize(order + std::size_t{1});
  counts_[order] += count;
  num_edges_ += count;
}

void PurityHistogram::add(std::span<const std::uint32_t> orders) {
  for (const std::uint32_t order : orders) add(order);
}

void PurityHistogram::add(const PurityHistogram& other) {
  for (std::size_t k = 0; k < other.counts_.size(); ++k) add(static_cast<std::uint32_t>(k), other.counts_[k]);
}

double PurityHistogram::proportion(std::size_t order) const {
  if (num_edges_ == 0) throw InputError("purity: no edges, so no proportions");
  return order < counts_.size() ? static_cast<double>(counts_[order]) / static_cast<double>(num_edges_) : 0.0;
}

double PurityHistogram::mean_order() const {
  if (num_edges_ == 0) throw InputError("purity: no edges, so no mean order");
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < counts_.size(); ++k) sum += k * counts_[k];
  return static_cast<double>(sum) / static_cast<double>(num_edges_);
}

std::optional<double> PurityHistogram::mean_positive_order() const {
  std::uint64_t sum = 0;
  std::uint64_t edges = 0;
  for (std::size_t k = 1; k < counts_.size(); ++k) {
    sum += k * counts_[k];
    edges += counts_[k];
  }
  if (edges == 0) return std::nullopt;
  return static_cast<double>(sum) / static_cast<double>(edges);
}

}  // namespace puretour
