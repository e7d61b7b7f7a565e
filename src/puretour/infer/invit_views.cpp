// SPDX-License-Identifier: MIT
#include "puretour/infer/invit_views.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace puretour {
namespace {

// Moves and scales the places: the box around neighbours and last node goes to the unit square, the aspect ratio kept;
// what lies outside the square is moved to its border.
void normalise(std::span<const FloatPoint> neighbours, FloatPoint last, std::vector<FloatPoint>& places) {
  FloatPoint low = last;
  FloatPoint high = last;
  for (const FloatPoint p : neighbours) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  float range = std::max(high.x - low.x, high.y - low.y);
  if (range == 0) range = 1;
  for (FloatPoint& p : places) {
    p = {std::clamp((p.x - low.x) / range, 0.0F, 1.0F), std::clamp((p.y - low.y) / range, 0.0F, 1.0F)};
  }
}

}  // namespace

void place_action_tokens(const InvitView& view, std::vector<FloatPoint>& places) {
  const auto actions = view.nearest.first(view.num_actions);
  places.assign(actions.begin(), actions.end());
  places.push_back(view.last);
  normalise(actions, view.last, places);
}

void place_state_tokens(const InvitView& view, std::size_t num_neighbours, bool aggregate,
                        std::vector<FloatPoint>& places) {
  const auto neighbours = view.nearest.first(num_neighbours);
  const auto end_of_actions = neighbours.begin() + static_cast<std::ptrdiff_t>(view.num_actions);
  places.assign(neighbours.begin(), end_of_actions);
  places.push_back(view.last);
  places.push_back(view.first);
  places.insert(places.end(), end_of_actions, neighbours.end());
  if (aggregate) places.push_back(view.aggregate);
  normalise(neighbours, view.last, places);
}

InvitWalk::InvitWalk(const InvitConfig& config, std::span<const Point> points, RemainingNeighbours nodes)
    : config_(config),
      points_(points),
      remaining_(std::move(nodes)),
      nearest_(*std::max_element(config.state_views.begin(), config.state_views.end())),
      nearest_places_(nearest_.size()) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const FloatPoint p = place(static_cast<NodeId>(i));
    sum_x_ += static_cast<double>(p.x);
    sum_y_ += static_cast<double>(p.y);
  }
}

FloatPoint InvitWalk::place(NodeId node) const {
  const Point p = points_[static_cast<std::size_t>(node)];
  return {static_cast<float>(p.x), static_cast<float>(p.y)};
}

void InvitWalk::visit(NodeId node) {
  if (first_ < 0) first_ = node;
  last_ = node;
  remaining_.remove(node);
  sum_x_ -= static_cast<double>(place(node).x);
  sum_y_ -= static_cast<double>(place(node).y);
}

InvitView InvitWalk::look() {
  num_nearest_ = remaining_.nearest(last_, nearest_.size(), nearest_.data());
  for (std::size_t j = 0; j < num_nearest_; ++j) nearest_places_[j] = place(nearest_[j]);
  const auto num_left = static_cast<double>(remaining_.remaining());
  InvitView view{};
  view.nodes = std::span(nearest_).first(num_nearest_);
  view.nearest = std::span(nearest_places_).first(num_nearest_);
  view.last = place(last_);
  view.first = place(first_);
  view.aggregate = {static_cast<float>(sum_x_ / num_left), static_cast<float>(sum_y_ / num_left)};
  view.num_actions = num_actions(view.last);
  return view;
}

// How many of the nearest nodes can be chosen.
std::size_t InvitWalk::num_actions(FloatPoint last) const {
  std::size_t count = std::min(config_.action_view, num_nearest_);
  if (!config_.local_mask) return count;
  constexpr float kFarthest = 10;  // times the nearest
  const auto distance = [&](std::size_t j) {
    const float dx = nearest_places_[j].x - last.x;
    const float dy = nearest_places_[j].y - last.y;
    return std::sqrt(dx * dx + dy * dy);
  };
  while (count > 1 && distance(count - 1) > kFarthest * distance(0)) --count;
  return count;
}

}  // namespace puretour
