// The k-Gabriel graph by a pruned walk of the k-d tree around every node.
//
// Seen from node i (the origin), a node p lies inside the disc of the edge to q exactly if q . p > |p|^2: p hides the
// half plane behind the line through p at right angles to p. Nodes met early on the walk, near ones first, are kept as
// blockers; a box of the tree that lies behind the lines of more than k blockers holds no neighbour and is left out.
// What is not hidden is counted exactly. For k = 0 a few blockers soon bound how far any neighbour can be, and then the
// distance alone rules out most boxes.
// SPDX-License-Identifier: MIT
#include "puretour/purity/gabriel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/geometry/kd_tree.h"

namespace puretour {
namespace {

// Relative slack of all "surely hidden" decisions: far above the rounding error (below 1e-15), so that the exact
// predicate always agrees with them.
constexpr double kSlack = 1e-13;

struct Blocker {
  double x;  // relative to the node in question
  double y;
  double squared;

  // Does this node surely lie inside the disc of the edge from the origin to q?
  [[nodiscard]] bool hides(double qx, double qy) const {
    const double dot = x * qx + y * qy;
    return dot - squared > kSlack * (std::fabs(x * qx) + std::fabs(y * qy) + squared);
  }
};

// A box relative to the node in question.
struct RelativeBox {
  double low_x, low_y, high_x, high_y;

  RelativeBox(const Box& box, Point origin)
      : low_x(box.low.x - origin.x),
        low_y(box.low.y - origin.y),
        high_x(box.high.x - origin.x),
        high_y(box.high.y - origin.y) {}

  // The corner nearest to the line of a blocker decides for the whole box.
  [[nodiscard]] bool hidden_by(const Blocker& blocker) const {
    return blocker.hides(blocker.x > 0 ? low_x : high_x, blocker.y > 0 ? low_y : high_y);
  }

  [[nodiscard]] double squared_distance() const {
    const double dx = std::max(std::max(low_x, -high_x), 0.0);
    const double dy = std::max(std::max(low_y, -high_y), 0.0);
    return dx * dx + dy * dy;
  }
};

class Walker {
 public:
  Walker(const KdTree& tree, std::uint32_t max_order) : tree_(tree), max_order_(max_order) {}

  // Appends the edges of the node at a stored position to nodes of higher id.
  void edges_of(std::size_t position, std::vector<GabrielEdge>& edges) {
    origin_ = tree_.point_at(position);
    blockers_.clear();
    candidates_.clear();
    own_position_ = position;
    own_id_ = tree_.id_at(position);

    std::size_t node = tree_.leaf_of_position(position);
    visit_leaf(node);
    squared_reach_ = std::numeric_limits<double>::infinity();
    std::size_t blockers_seen = 0;
    for (int level = 1; node > 1; node /= 2, ++level) {
      // One leaf rarely surrounds the node; from the second level on it pays to look.
      if (max_order_ == 0 && level > 1 && blockers_.size() != blockers_seen) {
        blockers_seen = blockers_.size();
        squared_reach_ = std::min(squared_reach_, squared_reach());
      }
      descend(node ^ 1);
    }

    const std::size_t first = edges.size();
    for (const std::size_t other : candidates_) {
      const Point q = tree_.point_at(other);
      if (hidden_count(q.x - origin_.x, q.y - origin_.y) > max_order_) continue;
      const std::size_t order = tree_.count_inside_diametral_disc(own_position_, other, max_order_);
      if (order <= max_order_) edges.push_back({own_id_, tree_.id_at(other), static_cast<std::uint32_t>(order)});
    }
    std::sort(edges.begin() + static_cast<std::ptrdiff_t>(first), edges.end(),
              [](const GabrielEdge& e, const GabrielEdge& f) { return e.b < f.b; });
  }

 private:
  // More blockers than this cost more time than they save.
  static constexpr std::size_t kMaxBlockers = 40;

  [[nodiscard]] std::uint32_t hidden_count(double qx, double qy) const {
    std::uint32_t count = 0;
    for (const Blocker& blocker : blockers_) {
      if (blocker.hides(qx, qy) && ++count > max_order_) break;
    }
    return count;
  }

  // A bound for the squared distance of every node that no blocker hides; infinity if they leave a gap.
  // Directions are cut into sectors. Along the unit vector u a blocker p hides everything beyond |p|^2 / (p . u), so
  // within a sector everything beyond the larger of the values at its two edges.
  [[nodiscard]] double squared_reach() const {
    constexpr int kSectors = 16;
    constexpr double kC1 = 0.92387953251128674;  // cos 22.5 degrees
    constexpr double kC2 = 0.70710678118654752;
    constexpr double kC3 = 0.38268343236508977;
    constexpr double kX[kSectors + 1] = {1,    kC1,  kC2,  kC3, 0,   -kC3, -kC2, -kC1, -1,
                                         -kC1, -kC2, -kC3, 0,   kC3, kC2,  kC1,  1};
    constexpr double kY[kSectors + 1] = {0,    kC3,  kC2,  kC1, 1,    kC1,  kC2,  kC3, 0,
                                         -kC3, -kC2, -kC1, -1,  -kC1, -kC2, -kC3, 0};
    double inverse_reach[kSectors] = {};  // 0: no limit
    for (const Blocker& blocker : blockers_) {
      const double x = blocker.x / blocker.squared;
      const double y = blocker.y / blocker.squared;
      double along[kSectors + 1];
      for (int s = 0; s <= kSectors; ++s) along[s] = x * kX[s] + y * kY[s];
      for (int s = 0; s < kSectors; ++s) {
        inverse_reach[s] = std::max(inverse_reach[s], std::min(along[s], along[s + 1]));
      }
    }
    double smallest = std::numeric_limits<double>::infinity();
    for (const double inverse : inverse_reach) smallest = std::min(smallest, inverse);
    // The slack covers the rounding of the directions and of everything above.
    return (1 + 1e-9) / (smallest * smallest);
  }

  [[nodiscard]] bool is_hidden(const RelativeBox& box) const {
    if (box.squared_distance() > squared_reach_) return true;
    std::uint32_t count = 0;
    for (const Blocker& blocker : blockers_) {
      if (box.hidden_by(blocker) && ++count > max_order_) return true;
    }
    return false;
  }

  void visit_leaf(std::size_t leaf) {
    const auto range = tree_.leaf_range(leaf);
    for (std::size_t p = range.begin; p < range.end; ++p) {
      if (p == own_position_) continue;
      const Point point = tree_.point_at(p);
      const double x = point.x - origin_.x;
      const double y = point.y - origin_.y;
      if (hidden_count(x, y) > max_order_) continue;
      if (tree_.id_at(p) > own_id_) candidates_.push_back(p);
      const double squared = x * x + y * y;
      // A copy of the node itself (or one so close that its square vanishes) hides nothing.
      if (squared > 1e-290 && squared < 1e290 && blockers_.size() < kMaxBlockers * (max_order_ + 1)) {
        blockers_.push_back({x, y, squared});
      }
    }
  }

  void descend(std::size_t top) {
    constexpr std::size_t kMaxStack = 64;
    std::size_t stack[kMaxStack];
    std::size_t stack_size = 0;
    stack[stack_size++] = top;
    while (stack_size > 0) {
      const std::size_t node = stack[--stack_size];
      if (is_hidden(RelativeBox(tree_.box(node), origin_))) continue;
      if (tree_.is_leaf(node)) {
        visit_leaf(node);
        continue;
      }
      const RelativeBox left(tree_.box(2 * node), origin_);
      const RelativeBox right(tree_.box(2 * node + 1), origin_);
      const std::size_t near = left.squared_distance() <= right.squared_distance() ? 0 : 1;
      stack[stack_size++] = 2 * node + (1 - near);
      stack[stack_size++] = 2 * node + near;
    }
  }

  const KdTree& tree_;
  std::uint32_t max_order_;
  Point origin_;
  std::size_t own_position_ = 0;
  NodeId own_id_ = 0;
  double squared_reach_ = 0;  // no neighbour is farther
  std::vector<Blocker> blockers_;
  std::vector<std::size_t> candidates_;  // stored positions
};

}  // namespace

std::vector<GabrielEdge> gabriel_graph(std::span<const Point> points, std::uint32_t max_order, int threads) {
  const std::size_t n = points.size();
  if (n < 2) return {};
  const KdTree tree(points);
  constexpr std::size_t kBlock = 2048;
  std::vector<std::vector<GabrielEdge>> blocks((n + kBlock - 1) / kBlock);
  std::atomic<std::size_t> num_edges{0};
  // In the tree's own order, so that neighbouring walks touch the same memory.
  parallel_for_blocks(n, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    Walker walker(tree, max_order);
    std::vector<GabrielEdge>& edges = blocks[begin / kBlock];
    for (std::size_t position = begin; position < end; ++position) {
      const std::size_t before = edges.size();
      walker.edges_of(position, edges);
      if (num_edges.fetch_add(edges.size() - before, std::memory_order_relaxed) > kMaxGabrielEdges) {
        throw InputError(
            fmt::format("Gabriel graph: more than {} edges of order at most {}; many nodes share one place: "
                        "remove duplicates, or ask for a lower order",
                        kMaxGabrielEdges, max_order));
      }
    }
  });

  // Nodes come out in the tree's order: one counting pass puts their runs in order of the smaller id.
  std::vector<std::size_t> start(n + 1, 0);
  for (const auto& block : blocks) {
    for (const GabrielEdge& edge : block) ++start[static_cast<std::size_t>(edge.a) + 1];
  }
  for (std::size_t i = 0; i < n; ++i) start[i + 1] += start[i];
  std::vector<GabrielEdge> edges(start[n]);
  for (auto& block : blocks) {
    for (const GabrielEdge& edge : block) edges[start[static_cast<std::size_t>(edge.a)]++] = edge;
    block = {};
  }
  return edges;
}

}  // namespace puretour
