// A travelling salesman instance: nodes with coordinates, or with a matrix of weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "puretour/geometry/point.h"
#include "puretour/tour/fixed_edges.h"
#include "puretour/tour/metric.h"

namespace puretour {

/// Full n x n matrix of weights, row by row.
struct WeightMatrix {
  std::size_t size = 0;
  std::vector<double> weights;
  [[nodiscard]] double at(NodeId i, NodeId j) const {
    return weights[static_cast<std::size_t>(i) * size + static_cast<std::size_t>(j)];
  }
};

/// Immutable after construction; copying shares a weight matrix.
class Instance {
 public:
  Instance() = default;

  /// Nodes in the plane. Throws InputError if a coordinate is not finite or the metric is kExplicit.
  explicit Instance(std::vector<Point> points, Metric metric = Metric::kEuclidean, std::string name = {});

  /// Nodes with explicit symmetric weights; `display_points` (for pictures and purity) may be empty. Throws InputError
  /// if the matrix is not square, not symmetric, not finite, or the number of display points differs from its size.
  explicit Instance(WeightMatrix matrix, std::vector<Point> display_points = {}, std::string name = {});

  [[nodiscard]] std::size_t size() const { return matrix_ ? matrix_->size : points_.size(); }
  [[nodiscard]] Metric metric() const { return metric_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// False only for an EXPLICIT instance without display coordinates.
  [[nodiscard]] bool has_points() const { return points_.size() == size(); }
  /// Coordinates, or display coordinates of an EXPLICIT instance; empty where there are none.
  [[nodiscard]] std::span<const Point> points() const { return points_; }
  /// Null unless the metric is kExplicit.
  [[nodiscard]] const WeightMatrix* matrix() const { return matrix_.get(); }

  /// 0 for i = j, also where the diagonal of a matrix says otherwise.
  [[nodiscard]] double distance(NodeId i, NodeId j) const {
    if (i == j) return 0;
    if (matrix_) return matrix_->at(i, j);
    return metric_distance(metric_, points_[static_cast<std::size_t>(i)], points_[static_cast<std::size_t>(j)]);
  }

  /// The same instance with these fixed edges instead of those it has; repetitions are dropped. Throws InputError if no
  /// tour contains them all (see FixedEdges::add).
  [[nodiscard]] Instance with_fixed_edges(std::span<const FixedEdge> edges) const;
  /// Edges that every tour has to contain; empty for most instances.
  [[nodiscard]] std::span<const FixedEdge> fixed_edges() const { return fixed_edges_; }

  /// points(), or an InputError that says that `purpose` ("purity") needs coordinates.
  [[nodiscard]] std::span<const Point> require_points(const char* purpose) const;

 private:
  std::vector<Point> points_;
  std::shared_ptr<const WeightMatrix> matrix_;
  Metric metric_ = Metric::kEuclidean;
  std::string name_;
  std::vector<FixedEdge> fixed_edges_;
};

/// The points moved and scaled as published test sets are: minimum corner at (0, 0), the longer side of the bounding
/// box becomes 1, the aspect ratio is kept. Equal points only: all become (0, 0).
std::vector<Point> normalised_to_unit_square(std::span<const Point> points);

}  // namespace puretour
