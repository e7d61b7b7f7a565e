// SPDX-License-Identifier: MIT
#include "puretour/purity/pupo.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/vectorize.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using Order = OrderMatrix::Order;
constexpr Order kNone = std::numeric_limits<Order>::max();

// Lowers lowest[i] to row[i] for every i, then adds up the lowest[i] of the members (member[i] is all ones or zero).
PURETOUR_VECTORISED
std::uint32_t lower_and_sum(Order* lowest, const Order* row, const Order* member, std::size_t count) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Order low = std::min(lowest[i], row[i]);
    lowest[i] = low;
    sum += static_cast<std::uint32_t>(low & member[i]);
  }
  return sum;
}

// phi(U_t) for all t, from the end of the tour to its start: then U only grows, the smallest order of every node into U
// only falls, and a node that joins already knows its own.
void tour_availabilities(const OrderMatrix& orders, std::span<const NodeId> tour, std::span<double> phi) {
  thread_local std::vector<Order> lowest;
  thread_local std::vector<Order> member;
  const std::size_t n = tour.size();
  lowest.assign(orders.stride(), kNone);
  member.assign(orders.stride(), 0);
  phi[n - 1] = 0;
  for (std::size_t t = n - 1; t > 0; --t) {
    // tour[t] joins: now U is U_t in the paper's count, stored at t - 1.
    const auto joining = static_cast<std::size_t>(tour[t]);
    const Order own = lowest[joining];
    member[joining] = kNone;
    const std::uint32_t sum = lower_and_sum(lowest.data(), orders.row(tour[t]), member.data(), orders.stride());
    // The pass took the zero on the diagonal for an order of the joining node itself: put its own value back.
    lowest[joining] = own;
    const std::size_t size = n - t;
    phi[t - 1] = size < 2 ? 0.0 : static_cast<double>(sum + own) / static_cast<double>(size);
  }
}

void check_discount(double discount) {
  if (!(discount >= 0 && discount <= 1)) {
    throw InputError(fmt::format("discount is {}, but must lie in 0 .. 1", discount));
  }
}

// C_1 .. C_N from phi(U_1) .. phi(U_N).
void tour_costs(const OrderMatrix& orders, std::span<const NodeId> tour, PupoVariant variant,
                std::span<const double> phi, std::span<double> costs) {
  const std::size_t n = tour.size();
  const double closing = orders.at(tour[n - 1], tour[0]);
  for (std::size_t t = 0; t + 1 < n; ++t) costs[t] = orders.at(tour[t], tour[t + 1]);
  costs[n - 1] = closing;
  if (variant == PupoVariant::kPaper) {
    for (std::size_t t = 0; t + 1 < n; ++t) costs[t] += phi[t + 1] - phi[t];
    return;
  }
  if (n < 2) return;
  for (std::size_t t = 0; t + 2 < n; ++t) costs[t] += phi[t] - (t > 0 ? phi[t - 1] : availability(orders, tour));
  costs[n - 2] = closing;
  costs[n - 1] = 0;
}

// Fills costs and weights; phi has been computed. Assumes a valid tour.
void trace_tour(const OrderMatrix& orders, std::span<const NodeId> tour, const PupoOptions& options,
                std::span<const double> phi, std::span<double> costs, std::span<double> weights) {
  const std::size_t n = tour.size();
  tour_costs(orders, tour, options.variant, phi, costs);
  double tail = costs[n - 1];
  for (std::size_t t = n - 1; t > 0; --t) {
    tail = costs[t - 1] + options.discount * tail;
    weights[t] = options.clamp_weights ? std::max(0.0, 1 + tail) : 1 + tail;
  }
  weights[0] = 1;
}

}  // namespace

double availability(const OrderMatrix& orders, std::span<const NodeId> unvisited) {
  if (unvisited.size() < 2) return 0;
  std::uint64_t sum = 0;
  for (const NodeId i : unvisited) {
    Order lowest = kNone;
    for (const NodeId j : unvisited) {
      if (j != i) lowest = std::min(lowest, orders.at(i, j));
    }
    sum += lowest;
  }
  return static_cast<double>(sum) / static_cast<double>(unvisited.size());
}

PupoTrace pupo_trace(const OrderMatrix& orders, std::span<const NodeId> tour, const PupoOptions& options) {
  check_discount(options.discount);
  const std::size_t n = orders.size();
  if (n == 0) throw InputError("PUPO weights: the instance has no nodes");
  check_permutation(tour, n);
  PupoTrace trace;
  trace.availabilities.resize(n);
  trace.costs.resize(n);
  trace.weights.resize(n);
  tour_availabilities(orders, tour, trace.availabilities);
  trace_tour(orders, tour, options, trace.availabilities, trace.costs, trace.weights);
  return trace;
}

void pupo_weights(std::span<const Point> points, std::span<const NodeId> tours, std::size_t num_nodes,
                  std::size_t tours_per_instance, const PupoOptions& options, std::span<float> weights, int threads) {
  check_discount(options.discount);
  const std::size_t per_instance = num_nodes * tours_per_instance;
  if (per_instance == 0 || points.size() % num_nodes != 0 || tours.size() != points.size() / num_nodes * per_instance ||
      weights.size() != tours.size()) {
    throw InputError(
        fmt::format("PUPO weights: {} points, {} tour entries and {} weights do not fit {} nodes with {} "
                    "tours per instance",
                    points.size(), tours.size(), weights.size(), num_nodes, tours_per_instance));
  }
  parallel_for(points.size() / num_nodes, threads, [&](std::size_t b) {
    thread_local OrderMatrix orders;
    thread_local std::vector<double> phi;
    thread_local std::vector<double> costs;
    thread_local std::vector<double> exact;
    phi.resize(num_nodes);
    costs.resize(num_nodes);
    exact.resize(num_nodes);
    orders.compute(points.subspan(b * num_nodes, num_nodes));
    for (std::size_t r = 0; r < tours_per_instance; ++r) {
      const std::size_t begin = b * per_instance + r * num_nodes;
      const auto tour = tours.subspan(begin, num_nodes);
      check_permutation(tour, num_nodes);
      tour_availabilities(orders, tour, phi);
      trace_tour(orders, tour, options, phi, costs, exact);
      std::transform(exact.begin(), exact.end(), weights.begin() + static_cast<std::ptrdiff_t>(begin),
                     [](double w) { return static_cast<float>(w); });
    }
  });
}

}  // namespace puretour
