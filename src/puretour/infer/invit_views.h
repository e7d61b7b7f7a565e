// What INViT sees at each step of a tour: the nearest unvisited nodes around the last one, as tokens in the unit
// square.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "puretour/geometry/point.h"
#include "puretour/geometry/remaining_neighbours.h"
#include "puretour/models/config.h"

namespace puretour {

struct FloatPoint {
  float x;
  float y;
};
static_assert(sizeof(FloatPoint) == 2 * sizeof(float));

struct InvitView {
  std::span<const NodeId> nodes;        // nearest unvisited ones by distance from the last node
  std::span<const FloatPoint> nearest;  // their places
  FloatPoint last;
  FloatPoint first;
  FloatPoint aggregate;     // mean of all unvisited nodes
  std::size_t num_actions;  // the first of `nearest` can be chosen

  [[nodiscard]] std::span<const NodeId> actions() const { return nodes.first(num_actions); }
};

/// Replaces `places` by the tokens of the action view: the actions, then the last node.
void place_action_tokens(const InvitView& view, std::vector<FloatPoint>& places);

/// The tokens of a state view: actions, last node, first node, the other neighbours, and the mean if `aggregate`. What
/// the decoder reads comes first; the order does not matter otherwise.
void place_state_tokens(const InvitView& view, std::size_t num_neighbours, bool aggregate,
                        std::vector<FloatPoint>& places);

/// Walks along a tour and looks around at each step.
class InvitWalk {
 public:
  /// `nodes` are those of an instance, none removed yet, and `points` its coordinates, which must stay.
  InvitWalk(const InvitConfig& config, std::span<const Point> points, RemainingNeighbours nodes);

  void visit(NodeId node);

  /// Valid until the next call; there must be a visited and an unvisited node.
  [[nodiscard]] InvitView look();

 private:
  [[nodiscard]] FloatPoint place(NodeId node) const;
  [[nodiscard]] std::size_t num_actions(FloatPoint last) const;

  const InvitConfig& config_;
  std::span<const Point> points_;
  RemainingNeighbours remaining_;
  NodeId first_ = -1;
  NodeId last_ = -1;
  double sum_x_ = 0;  // over all unvisited nodes, for their mean
  double sum_y_ = 0;
  std::size_t num_nearest_ = 0;
  std::vector<NodeId> nearest_;
  std::vector<FloatPoint> nearest_places_;
};

}  // namespace puretour
