// The purity orders of all pairs of nodes of one instance.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

/// Purity order K_p(i, j): how many nodes of the whole instance lie strictly inside the circle with diameter ij. O(n).
std::size_t purity_order(std::span<const Point> points, NodeId i, NodeId j);

/// K_p of all pairs. Symmetric, zero on the diagonal. Rows are padded to whole vectors.
class OrderMatrix {
 public:
  using Order = std::uint16_t;

  /// The table takes 2 n^2 bytes; above this many nodes it is refused with an InputError.
  static constexpr std::size_t kMaxNodes = 30000;

  OrderMatrix() = default;

  /// O(n^3) vectorised tests: 20 microseconds for 100 nodes, tens of milliseconds for 1000. The result does not depend
  /// on `threads`.
  explicit OrderMatrix(std::span<const Point> points, int threads = 1);

  /// For hand-made orders (tests, experiments): `orders` is n x n, row by row.
  static OrderMatrix from_orders(std::size_t num_nodes, std::span<const Order> orders);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Order at(NodeId i, NodeId j) const {
    return orders_[static_cast<std::size_t>(i) * stride_ + static_cast<std::size_t>(j)];
  }
  /// Row i; stride() entries are readable, those from size() on are 0.
  [[nodiscard]] const Order* row(NodeId i) const { return orders_.data() + static_cast<std::size_t>(i) * stride_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }

  /// Replaces the content; keeps the memory. For loops over many instances.
  void compute(std::span<const Point> points, int threads = 1);

  bool operator==(const OrderMatrix&) const = default;

 private:
  void resize(std::size_t num_nodes);
  void mirror();

  std::size_t size_ = 0;
  std::size_t stride_ = 0;
  std::vector<Order> orders_;
};

}  // namespace puretour
