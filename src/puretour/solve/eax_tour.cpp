// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_tour.h"

namespace puretour {

EaxTour::EaxTour(const EaxSpace& space, std::span<const NodeId> order)
    : nodes_(order.size()), order_(order.size()), position_(order.size()) {
  for (std::size_t p = 0; p < order.size(); ++p) {
    const NodeId v = order[p];
    const NodeId next = order[p + 1 < order.size() ? p + 1 : 0];
    const Cost cost = space.cost(v, next);
    nodes_[static_cast<std::size_t>(v)].link[1] = next;
    nodes_[static_cast<std::size_t>(v)].cost[1] = cost;
    nodes_[static_cast<std::size_t>(next)].link[0] = v;
    nodes_[static_cast<std::size_t>(next)].cost[0] = cost;
  }
  number();
}

void EaxTour::number() {
  length_ = 0;
  NodeId before = nodes_[0].link[0];
  NodeId v = 0;
  for (NodeId p = 0; p < size(); ++p) {
    order_[static_cast<std::size_t>(p)] = v;
    position_[static_cast<std::size_t>(v)] = p;
    const Node& node = nodes_[static_cast<std::size_t>(v)];
    const int ahead = node.link[0] == before ? 1 : 0;
    length_ += node.cost[ahead];
    before = v;
    v = node.link[ahead];
  }
  assert(v == 0 && "the links form one cycle");
}

}  // namespace puretour
