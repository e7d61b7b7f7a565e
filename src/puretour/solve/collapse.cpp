// SPDX-License-Identifier: MIT
#include "puretour/solve/collapse.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace puretour {
namespace {

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

}  // namespace

CollapsedInstance::CollapsedInstance(const Instance& instance) : instance_(instance), links_(fixed_links(instance)) {
  keep_nodes(instance, representatives(instance));
  if (is_smaller()) make_instance(instance);
}

CollapsedInstance::Links CollapsedInstance::fixed_links(const Instance& instance) {
  auto edges = instance.fixed_edges();
  if (edges.empty()) return {};
  if (edges.size() == instance.size()) edges = edges.first(edges.size() - 1);  // a cycle through all nodes
  Links links(instance.size(), {kNone, kNone});
  for (const auto [a, b] : edges) {
    links[at(a)][links[at(a)][0] == kNone ? 0 : 1] = b;
    links[at(b)][links[at(b)][0] == kNone ? 0 : 1] = a;
  }
  return links;
}

bool CollapsedInstance::is_end(NodeId v) const {
  return !links_.empty() && links_[at(v)][0] != kNone && links_[at(v)][1] == kNone;
}

bool CollapsedInstance::is_inner(NodeId v) const {
  return !links_.empty() && links_[at(v)][1] != kNone;
}

// All nodes of a chain from one end to the other.
std::vector<NodeId> CollapsedInstance::chain_from(NodeId end) const {
  std::vector<NodeId> chain = {end, links_[at(end)][0]};
  while (is_inner(chain.back())) {
    const auto& link = links_[at(chain.back())];
    chain.push_back(link[0] == chain[chain.size() - 2] ? link[1] : link[0]);
  }
  return chain;
}

// The node that stands for each node; kNone for inner nodes of chains.
std::vector<NodeId> CollapsedInstance::representatives(const Instance& instance) const {
  std::vector<NodeId> representative(instance.size());
  std::iota(representative.begin(), representative.end(), 0);
  if (!links_.empty()) {
    for (NodeId& v : representative) {
      if (is_inner(v)) v = kNone;
    }
  }
  if (instance.metric() == Metric::kExplicit || instance.metric() == Metric::kGeo) return representative;

  std::vector<NodeId> by_place;
  by_place.reserve(instance.size());
  std::copy_if(representative.begin(), representative.end(), std::back_inserter(by_place),
               [](NodeId v) { return v != kNone; });
  const auto point = [&](NodeId i) { return instance.points()[at(i)]; };
  std::sort(by_place.begin(), by_place.end(), [&](NodeId i, NodeId j) {
    const Point a = point(i);
    const Point b = point(j);
    if (a.x != b.x) return a.x < b.x;
    if (a.y != b.y) return a.y < b.y;
    return i < j;
  });
  // Of each run of equal points the first end of a chain, or else the first node, stands for all that are free to move.
  for (auto run = by_place.begin(); run != by_place.end();) {
    const auto run_end = std::find_if(run, by_place.end(), [&](NodeId v) { return !(point(v) == point(*run)); });
    const auto end = std::find_if(run, run_end, [&](NodeId v) { return is_end(v); });
    const NodeId first = end != run_end ? *end : *run;
    for (; run != run_end; ++run) {
      if (!is_end(*run)) representative[at(*run)] = first;
    }
  }
  return representative;
}

void CollapsedInstance::keep_nodes(const Instance& instance, const std::vector<NodeId>& representative) {
  const std::size_t n = instance.size();
  std::vector<NodeId> kept;
  for (std::size_t i = 0; i < n; ++i) {
    if (representative[i] == static_cast<NodeId>(i)) kept.push_back(representative[i]);
  }
  if (kept.size() == n) return;
  kept_ = std::move(kept);
  collapsed_node_.assign(n, kNone);
  for (std::size_t c = 0; c < kept_.size(); ++c) collapsed_node_[at(kept_[c])] = static_cast<NodeId>(c);
  first_copy_.assign(kept_.size() + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (representative[i] == kNone) continue;
    collapsed_node_[i] = collapsed_node_[at(representative[i])];
    ++first_copy_[at(collapsed_node_[i]) + 1];
  }
  std::partial_sum(first_copy_.begin(), first_copy_.end(), first_copy_.begin());
  copies_.resize(first_copy_.back());
  std::vector<std::size_t> next_slot(first_copy_.begin(), first_copy_.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (collapsed_node_[i] != kNone) copies_[next_slot[at(collapsed_node_[i])]++] = static_cast<NodeId>(i);
  }
}

void CollapsedInstance::make_instance(const Instance& instance) {
  std::vector<Point> points;
  if (instance.has_points()) {
    points.reserve(kept_.size());
    for (const NodeId v : kept_) points.push_back(instance.points()[at(v)]);
  }
  if (instance.matrix() != nullptr) {
    WeightMatrix matrix{kept_.size(), {}};
    matrix.weights.reserve(kept_.size() * kept_.size());
    for (const NodeId v : kept_) {
      for (const NodeId w : kept_) matrix.weights.push_back(instance.matrix()->at(v, w));
    }
    instance_ = Instance(std::move(matrix), std::move(points), instance.name());
  } else {
    instance_ = Instance(std::move(points), instance.metric(), instance.name());
  }
  if (links_.empty()) return;
  std::vector<FixedEdge> edges;
  for (const NodeId end : kept_) {
    if (!is_end(end)) continue;
    const std::vector<NodeId> chain = chain_from(end);
    if (chain.back() < end) continue;  // seen from its other end
    edges.push_back({collapsed_node_[at(end)], collapsed_node_[at(chain.back())]});
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) contracted_length_ += instance.distance(chain[i], chain[i + 1]);
    contracted_length_ -= instance.distance(end, chain.back());
  }
  instance_ = instance_.with_fixed_edges(edges);
}

void CollapsedInstance::append_copies(NodeId collapsed, std::vector<NodeId>& order) const {
  for (std::size_t slot = first_copy_[at(collapsed)]; slot < first_copy_[at(collapsed) + 1]; ++slot) {
    if (!is_end(copies_[slot])) order.push_back(copies_[slot]);
  }
}

Tour CollapsedInstance::expanded(const Tour& collapsed) const {
  if (!is_smaller()) return collapsed;
  std::vector<NodeId> nodes(collapsed.order().begin(), collapsed.order().end());
  const auto kept = [&](NodeId c) { return kept_[at(c)]; };
  // Chains are followed from the end that comes first; none may reach over the end of the order.
  if (is_end(kept(nodes.front())) && collapsed_node_[at(chain_from(kept(nodes.front())).back())] != nodes[1]) {
    std::rotate(nodes.begin(), nodes.begin() + 1, nodes.end());
  }
  std::vector<NodeId> order;
  order.reserve(collapsed_node_.size());
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    append_copies(nodes[p], order);
    if (!is_end(kept(nodes[p]))) continue;
    const std::vector<NodeId> chain = chain_from(kept(nodes[p]));
    order.insert(order.end(), chain.begin(), chain.end());
    append_copies(nodes[++p], order);
  }
  return Tour(std::move(order));
}

Tour CollapsedInstance::collapsed(const Tour& original) const {
  if (!is_smaller()) return original;
  std::vector<NodeId> order;
  order.reserve(instance_.size());
  std::vector<bool> visited(instance_.size());
  for (const NodeId node : original.order()) {
    const NodeId c = collapsed_node_[at(node)];
    if (c == kNone || visited[at(c)]) continue;
    if (is_end(kept_[at(c)]) && kept_[at(c)] != node) continue;  // goes along with the end of a chain
    visited[at(c)] = true;
    order.push_back(c);
  }
  return Tour(std::move(order));
}

}  // namespace puretour
