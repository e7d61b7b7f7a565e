// Purity Policy Optimization: availability, step costs and the weights of a constructed tour.
//
// A tour tau_1 .. tau_N is built node by node; U_t are the nodes not in tau_1 .. tau_t.
//   availability  phi(U) = mean over i in U of the smallest K_p(i, j), j in U, j != i  (0 for fewer than two nodes)
//   cost          C_t = K_p(tau_t, tau_{t+1}) + phi(U_{t+1}) - phi(U_t)  for t < N,   C_N = K_p(tau_N, tau_1)
//   weight        W_{t+1} = 1 + S_t,  S_t = C_t + discount * S_{t+1},  S_N = C_N
// The authors' program takes availabilities one step late, and charges the last choice for the closing edge only:
//   cost          C_t = K_p(tau_t, tau_{t+1}) + phi(U_t) - phi(U_{t-1})  for t < N - 1,  C_{N-1} = K_p(tau_N, tau_1),
//                 C_N = 0,  where U_0 are all nodes
// W_t multiplies log p(tau_t | ...) in the policy gradient; the first node, if the policy chooses it, keeps weight 1.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/purity/order_matrix.h"

namespace puretour {

enum class PupoVariant : std::uint8_t { kPaper, kAuthors };

struct PupoOptions {
  double discount = 0.9;       // delta in [0, 1]; the paper names no value
  bool clamp_weights = false;  // raise negative weights to 0; the formula leaves them
  PupoVariant variant = PupoVariant::kPaper;
};

/// phi of a set of nodes, straight from the definition: O(|U|^2).
double availability(const OrderMatrix& orders, std::span<const NodeId> unvisited);

/// Everything about one tour, index t - 1 for the paper's t = 1 .. N.
struct PupoTrace {
  std::vector<double> availabilities;  // phi(U_1) .. phi(U_N); the last two are 0
  std::vector<double> costs;           // C_1 .. C_N
  std::vector<double> weights;         // W_1 = 1, W_2 .. W_N
};

/// O(N^2 / 16) after the orders of all pairs are known. Throws InputError if the tour is not a permutation of all
/// nodes, or if the discount is not in [0, 1].
PupoTrace pupo_trace(const OrderMatrix& orders, std::span<const NodeId> tour, const PupoOptions& options = {});

/// Weights of a batch: instance b has `num_nodes` points at points[b * num_nodes], and `tours_per_instance` tours of
/// num_nodes nodes each, all tours in a row in `tours`. weights[i] belongs to tours[i]. The orders of an instance are
/// computed once for all its tours. The result does not depend on `threads`.
void pupo_weights(std::span<const Point> points, std::span<const NodeId> tours, std::size_t num_nodes,
                  std::size_t tours_per_instance, const PupoOptions& options, std::span<float> weights,
                  int threads = 1);

}  // namespace puretour
