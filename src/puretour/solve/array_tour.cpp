// SPDX-License-Identifier: MIT
#include "puretour/solve/array_tour.h"

#include <algorithm>
#include <cassert>

namespace puretour {

ArrayTour::ArrayTour(std::span<const NodeId> order)
    : size_(static_cast<NodeId>(order.size())), padded_order_(order.size() + 2), position_(order.size()) {
  assert(size_ >= 3);
  write(0, size_, [&](NodeId i) { return order[static_cast<std::size_t>(i)]; });
  copy_ends();
}

void ArrayTour::rearrange(std::span<Piece> pieces) {
  const auto longest = std::max_element(pieces.begin(), pieces.end(),
                                        [](const Piece& a, const Piece& b) { return a.length < b.length; });
  // The same cycle read backwards, if that lets the longest piece stay.
  if (longest->reversed) {
    for (Piece& piece : pieces) piece.reversed = !piece.reversed;
    std::rotate(pieces.begin(), longest + 1, pieces.end());
    std::reverse(pieces.begin(), pieces.end());
  } else {
    std::rotate(pieces.begin(), longest, pieces.end());
  }

  const auto wrap = [this](NodeId position) { return position >= size_ ? position - size_ : position; };
  const auto stays = [](const Piece& piece, NodeId target) {
    return piece.begin == target && (!piece.reversed || piece.length == 1);
  };
  // Moved pieces only change places among each other, so saving all of them saves all that will be overwritten.
  std::size_t source = saved_nodes_.size();
  NodeId target = wrap(pieces[0].begin + pieces[0].length);
  for (const Piece& piece : pieces.subspan(1)) {
    if (!stays(piece, target)) save(piece.begin, piece.length);
    target = wrap(target + piece.length);
  }
  target = wrap(pieces[0].begin + pieces[0].length);
  for (const Piece& piece : pieces.subspan(1)) {
    if (!stays(piece, target)) {
      const NodeId* nodes = saved_nodes_.data() + source;
      if (piece.reversed) {
        write(target, piece.length, [last = nodes + piece.length - 1](NodeId i) { return *(last - i); });
      } else {
        write(target, piece.length, [nodes](NodeId i) { return nodes[i]; });
      }
      source += static_cast<std::size_t>(piece.length);
    }
    target = wrap(target + piece.length);
  }
  copy_ends();
}

void ArrayTour::commit() {
  saved_.clear();
  saved_nodes_.clear();
}

void ArrayTour::rollback_to(std::size_t mark) {
  while (saved_.size() > mark) {
    const Saved range = saved_.back();
    const NodeId* nodes = saved_nodes_.data() + saved_nodes_.size() - static_cast<std::size_t>(range.length);
    write(range.begin, range.length, [nodes](NodeId i) { return nodes[i]; });
    saved_nodes_.resize(saved_nodes_.size() - static_cast<std::size_t>(range.length));
    saved_.pop_back();
  }
  copy_ends();
}

void ArrayTour::save(NodeId begin, NodeId length) {
  saved_.push_back({begin, length});
  const auto first = padded_order_.begin() + 1;
  const NodeId before_wrap = std::min(length, size_ - begin);
  saved_nodes_.insert(saved_nodes_.end(), first + begin, first + begin + before_wrap);
  saved_nodes_.insert(saved_nodes_.end(), first, first + (length - before_wrap));
}

template <typename NodeAt>
void ArrayTour::write(NodeId begin, NodeId length, NodeAt node_at) {
  const auto put = [this](NodeId position, NodeId node) {
    padded_order_[static_cast<std::size_t>(position) + 1] = node;
    position_[static_cast<std::size_t>(node)] = position;
  };
  const NodeId before_wrap = std::min(length, size_ - begin);
  for (NodeId i = 0; i < before_wrap; ++i) put(begin + i, node_at(i));
  for (NodeId i = before_wrap; i < length; ++i) put(i - before_wrap, node_at(i));
}

void ArrayTour::copy_ends() {
  padded_order_.front() = padded_order_[static_cast<std::size_t>(size_)];
  padded_order_.back() = padded_order_[1];
}

}  // namespace puretour
