// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_block2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "solve/eax_parts.h"

namespace puretour {
namespace {

TEST(Block2, CutsAreWhatARecountAlongTheTourGives) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const Kind kind = kAllKinds[rng.below(kAllKinds.size())];
    const EaxFixture fixture(kind, 10 + rng.below(150), rng);
    const EaxTour a = fixture.good_tour(rng);
    const EaxTour b = fixture.good_tour(rng);
    AbCycles cycles(fixture.space.size());
    cycles.build(a, b, rng, std::numeric_limits<std::size_t>::max());
    if (cycles.size() == 0) continue;
    Block2 block2({10, 20});
    block2.prepare(a, cycles);

    // Cycle of every edge along A, common edges left out.
    std::vector<std::int32_t> sequence;
    for (NodeId p = 0; p < a.size(); ++p) {
      const Edge e = edge(a.at(p), a.at(p + 1 < a.size() ? p + 1 : 0));
      for (std::size_t c = 0; c < cycles.size(); ++c) {
        for (std::size_t i = 0; i < cycles[c].nodes.size(); i += 2) {
          if (edge(cycles[c].nodes[i], cycles[c].nodes[i + 1]) == e) sequence.push_back(static_cast<std::int32_t>(c));
        }
      }
    }
    const auto recount = [&](std::span<const std::int32_t> e_set) {
      std::int32_t cut = 0;
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        const std::int32_t next = sequence[i + 1 < sequence.size() ? i + 1 : 0];
        const bool here_in = std::find(e_set.begin(), e_set.end(), sequence[i]) != e_set.end();
        const bool next_in = std::find(e_set.begin(), e_set.end(), next) != e_set.end();
        cut += here_in != next_in ? 1 : 0;
      }
      return cut;
    };

    ASSERT_EQ(block2.centres().size(), cycles.size());
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      const std::int32_t centre = block2.centres()[i];
      if (i > 0) {
        const std::int32_t before = block2.centres()[i - 1];
        EXPECT_GE(cycles[static_cast<std::size_t>(before)].nodes.size(),
                  cycles[static_cast<std::size_t>(centre)].nodes.size());
      }
      const auto e_set = block2.choose(centre, rng);
      EXPECT_TRUE(std::find(e_set.begin(), e_set.end(), centre) != e_set.end());
      EXPECT_TRUE(std::is_sorted(e_set.begin(), e_set.end()));
      EXPECT_EQ(block2.best_cut(), recount(e_set));
      EXPECT_LE(block2.best_cut(), block2.first_cut());
      for (const std::int32_t t : block2.centres()) EXPECT_EQ(block2.meetings(centre, t), block2.meetings(t, centre));
    }
  }
}

}  // namespace
}  // namespace puretour
