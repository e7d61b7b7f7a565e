// SPDX-License-Identifier: MIT
#include "puretour/solve/small_crossover.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace puretour {
namespace {

using Node = SmallGraph::Node;
using Cost = SmallGraph::Cost;
using Links = LinkedTour::Links;

void replace(Links& links, Node from, Node to) {
  (links[0] == from ? links[0] : links[1]) = to;
}

// The edges that only one of two tours has: [0] those of the first, [1] those of the second. Every node has as many of
// one kind as of the other.
class EdgeDifference {
 public:
  EdgeDifference(std::uint32_t size, const LinkedTour& a, const LinkedTour& b) {
    for (std::uint32_t v = 0; v < size; ++v) {
      degrees_[0][v] = collect(a.links[v], b.links[v], neighbours_[0][v]);
      degrees_[1][v] = collect(b.links[v], a.links[v], neighbours_[1][v]);
    }
  }

  [[nodiscard]] Node degree(unsigned kind, Node v) const { return degrees_[kind][v]; }

  // Removes an edge at v, the first or the second by `choice`, and returns its other end.
  Node take(unsigned kind, Node v, unsigned choice) {
    Node& degree = degrees_[kind][v];
    assert(degree > 0);
    Links& links = neighbours_[kind][v];
    const unsigned pick = degree > 1 ? choice : 0;
    const Node u = links[pick];
    links[pick] = links[--degree];
    Links& back = neighbours_[kind][u];
    const Node left = --degrees_[kind][u];
    if (back[0] == v) back[0] = back[left];
    return u;
  }

 private:
  static Node collect(const Links& of, const Links& without, Links& left) {
    Node count = 0;
    for (const Node u : of) {
      if (u != without[0] && u != without[1]) left[count++] = u;
    }
    return count;
  }

  std::array<std::array<Links, SmallGraph::kMaxNodes>, 2> neighbours_;
  std::array<std::array<Node, SmallGraph::kMaxNodes>, 2> degrees_;
};

// Exchanges the edges of the AB-cycle walk[from .. to]: edges at even places are removed, those at odd places added.
// First all ends of removed edges are marked, then the added ones are put there.
void exchange(std::span<const Node> walk, std::size_t from, std::size_t to, LinkedTour& tour) {
  for (std::size_t i = from + (from & 1U); i < to; i += 2) {
    replace(tour.links[walk[i]], walk[i + 1], SmallGraph::kNoNode);
    replace(tour.links[walk[i + 1]], walk[i], SmallGraph::kNoNode);
  }
  for (std::size_t i = from | 1U; i < to; i += 2) {
    replace(tour.links[walk[i]], SmallGraph::kNoNode, walk[i + 1]);
    replace(tour.links[walk[i + 1]], SmallGraph::kNoNode, walk[i]);
  }
}

// The cycles that the links of a "tour" really form.
struct Subtours {
  std::uint32_t count = 0;
  std::array<Node, SmallGraph::kMaxNodes> of;     // number of the subtour of each node
  std::array<Node, SmallGraph::kMaxNodes> sizes;  // nodes of each subtour
  std::array<Node, SmallGraph::kMaxNodes> first;  // one node of each

  Subtours(std::uint32_t size, const LinkedTour& tour) {
    std::fill_n(of.begin(), size, SmallGraph::kNoNode);
    for (std::uint32_t start = 0; start < size; ++start) {
      if (of[start] != SmallGraph::kNoNode) continue;
      first[count] = static_cast<Node>(start);
      sizes[count] = 0;
      Node node = first[count];
      Node previous = tour.links[node][0];
      do {
        of[node] = static_cast<Node>(count);
        ++sizes[count];
        const Node next = tour.next(previous, node);
        previous = node;
        node = next;
      } while (node != start);
      ++count;
    }
  }

  [[nodiscard]] Node smallest() const {
    return static_cast<Node>(std::min_element(sizes.begin(), sizes.begin() + count) - sizes.begin());
  }

  // One takes the nodes of the other; the last one takes its number.
  void merge(std::uint32_t size, Node from, Node into) {
    const auto last = static_cast<Node>(--count);
    sizes[into] = static_cast<Node>(sizes[into] + sizes[from]);
    for (std::uint32_t v = 0; v < size; ++v) {
      if (of[v] == from) of[v] = into;
    }
    if (from == last) return;
    sizes[from] = sizes[last];
    first[from] = first[last];
    for (std::uint32_t v = 0; v < size; ++v) {
      if (of[v] == last) of[v] = from;
    }
  }
};

// Makes one tour of the subtours, smallest first, each by the cheapest exchange of an edge (u, w) of it and an edge
// (v, x) of another for (u, v) and (w, x), with v a candidate of u. Gives up when the tour cannot be shorter than
// `bound`.
bool join_subtours(const SmallGraph& graph, LinkedTour& tour, std::int64_t bound) {
  Subtours subtours(graph.size(), tour);
  while (subtours.count > 1) {
    const Node smallest = subtours.smallest();
    std::int64_t least = bound - tour.length;
    std::array<Node, 4> ends{};
    bool found = false;
    Node u = subtours.first[smallest];
    Node previous = tour.links[u][0];
    do {
      for (const auto [added, v] : graph.candidates(u)) {
        if (subtours.of[v] == smallest) continue;
        for (const Node w : tour.links[u]) {
          const Cost part = added - graph.cost(u, w);
          for (const Node x : tour.links[v]) {
            const Cost loss = part - graph.cost(v, x) + graph.cost(w, x);
            if (loss >= least) continue;
            least = loss;
            ends = {u, w, v, x};
            found = true;
          }
        }
      }
      const Node next = tour.next(previous, u);
      previous = u;
      u = next;
    } while (u != subtours.first[smallest]);
    if (!found) return false;
    const auto [a, b, c, d] = ends;
    subtours.merge(graph.size(), smallest, subtours.of[c]);
    replace(tour.links[a], b, c);
    replace(tour.links[c], d, a);
    replace(tour.links[b], a, d);
    replace(tour.links[d], c, b);
    tour.length += least;
  }
  return tour.length < bound;
}

}  // namespace

bool shorten_by_crossover(const SmallGraph& graph, LinkedTour& a, const LinkedTour& b, Rng& rng) {
  if (a.length == b.length) return false;  // as good as always the same tour
  const std::uint32_t size = graph.size();
  EdgeDifference difference(size, a, b);
  const std::uint64_t choices = rng.bits();
  unsigned num_choices = 0;
  // A walk by edges of a and b in turn. When it comes to a node again with an edge of the same tour next, the part
  // between is an AB-cycle.
  std::array<Node, 2 * SmallGraph::kMaxNodes + 2> walk;
  std::array<std::array<std::int16_t, 2>, SmallGraph::kMaxNodes> seen;  // where on the walk, by the kind of edge next
  std::fill_n(seen.begin(), size, std::array<std::int16_t, 2>{-1, -1});
  LinkedTour best = a;
  LinkedTour child;
  for (std::uint32_t start = 0; start < size; ++start) {
    std::size_t last = 0;
    walk[0] = static_cast<Node>(start);
    seen[start][0] = 0;
    while (last > 0 || difference.degree(0, walk[0]) > 0) {
      const Node u = difference.take(last & 1U, walk[last], choices >> (num_choices++ & 63U) & 1U);
      walk[++last] = u;
      std::int16_t& place = seen[u][last & 1U];
      if (place < 0) {
        place = static_cast<std::int16_t>(last);
        continue;
      }
      const std::size_t end = last;
      last = static_cast<std::size_t>(place);
      std::int64_t gain = 0;
      for (std::size_t i = last; i < end; ++i) {
        if (i > last) seen[walk[i]][i & 1U] = -1;
        const Cost cost = graph.cost(walk[i], walk[i + 1]);
        gain += (i & 1U) == 0 ? cost : -cost;
      }
      if (a.length - gain >= best.length) continue;
      child = a;
      child.length -= gain;
      exchange(walk, last, end, child);
      if (join_subtours(graph, child, best.length)) best = child;
    }
    seen[start][0] = -1;
  }
  if (best.length == a.length) return false;
  a = best;
  return true;
}

}  // namespace puretour
