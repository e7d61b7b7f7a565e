// SPDX-License-Identifier: MIT
#include "puretour/solve/array_tour.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "puretour/solve/construct.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

std::vector<NodeId> normal_form(std::span<const NodeId> order) {
  const Tour tour = Tour(std::vector<NodeId>(order.begin(), order.end())).normal_form();
  return {tour.order().begin(), tour.order().end()};
}

// Random pieces of the whole cycle, in random order and directions.
std::vector<ArrayTour::Piece> random_pieces(NodeId n, Rng& rng) {
  const auto count = 1 + rng.below(static_cast<std::uint64_t>(std::min(n, 6)));
  std::vector<NodeId> cuts = random_order(n, rng);
  cuts.resize(count);
  std::sort(cuts.begin(), cuts.end());
  std::vector<ArrayTour::Piece> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId end = i + 1 < count ? cuts[i + 1] : cuts[0] + n;
    pieces.push_back({cuts[i], end - cuts[i], rng.below(2) == 1});
  }
  rng.shuffle(pieces.data(), pieces.size());
  return pieces;
}

TEST(ArrayTour, AgreesWithAPlainListUnderRandomMoves) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<NodeId>(5 + rng.below(196));
    ArrayTour tour(random_order(n, rng));
    for (int move = 0; move < 100; ++move) {
      std::vector<ArrayTour::Piece> pieces = random_pieces(n, rng);
      std::vector<NodeId> expected;
      for (const auto& piece : pieces) {
        std::vector<NodeId> nodes;
        for (NodeId i = 0; i < piece.length; ++i) nodes.push_back(tour.at((piece.begin + i) % n));
        if (piece.reversed) std::reverse(nodes.begin(), nodes.end());
        expected.insert(expected.end(), nodes.begin(), nodes.end());
      }
      tour.rearrange(pieces);
      ASSERT_EQ(normal_form(tour.order()), normal_form(expected));
      for (NodeId p = 0; p < n; ++p) ASSERT_EQ(tour.position(tour.at(p)), p);
      ASSERT_EQ(tour.at(-1), tour.at(n - 1));
      ASSERT_EQ(tour.at(n), tour.at(0));
      const auto node = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(n)));
      ASSERT_EQ(tour.previous(tour.next(node)), node);
    }
  }
}

TEST(ArrayTour, RollbackRestoresEveryPosition) {
  Rng rng(2);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<NodeId>(5 + rng.below(100));
    ArrayTour tour(random_order(n, rng));
    for (int i = 0; i < 3; ++i) {
      std::vector<ArrayTour::Piece> pieces = random_pieces(n, rng);
      tour.rearrange(pieces);
    }
    tour.commit();
    const std::vector<NodeId> before(tour.order().begin(), tour.order().end());
    const auto moves = rng.below(20);
    for (std::uint64_t i = 0; i < moves; ++i) {
      std::vector<ArrayTour::Piece> pieces = random_pieces(n, rng);
      tour.rearrange(pieces);
    }
    tour.rollback();
    ASSERT_TRUE(std::equal(before.begin(), before.end(), tour.order().begin()));
    for (NodeId p = 0; p < n; ++p) ASSERT_EQ(tour.position(tour.at(p)), p);
    tour.rollback();  // nothing left to undo
    ASSERT_TRUE(std::equal(before.begin(), before.end(), tour.order().begin()));
  }
}

TEST(ArrayTour, LeavesTheLongestPieceInPlace) {
  Rng rng(3);
  ArrayTour tour(random_order(100, rng));
  const std::vector<NodeId> before(tour.order().begin(), tour.order().end());
  // Reverse 20..94 against the rest: the rest is shorter, so it is what moves.
  std::vector<ArrayTour::Piece> pieces = {{20, 75, true}, {95, 25, false}};
  tour.rearrange(pieces);
  for (std::size_t p = 20; p < 95; ++p) EXPECT_EQ(tour.at(static_cast<NodeId>(p)), before[p]);
  EXPECT_EQ(tour.at(95), before[19]);
}

}  // namespace
}  // namespace puretour
