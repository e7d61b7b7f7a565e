// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_offspring.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "solve/eax_parts.h"

namespace puretour {
namespace {

std::vector<std::int32_t> random_e_set(const AbCycles& cycles, Rng& rng) {
  std::vector<std::int32_t> e_set;
  const bool single = rng.below(2) == 0;
  const auto only = rng.below(cycles.size());
  for (std::size_t c = 0; c < cycles.size(); ++c) {
    if (single ? c == only : rng.below(2) == 0) e_set.push_back(static_cast<std::int32_t>(c));
  }
  return e_set;
}

TEST(OffspringBuilder, MatchesANaiveConstructionForRandomESets) {
  Rng rng(1);
  int num_with_subtours = 0;
  for (int round = 0; round < 400; ++round) {
    const Kind kind = kAllKinds[rng.below(kAllKinds.size())];
    const EaxFixture fixture(kind, 5 + rng.below(80), rng);
    const bool good = rng.below(2) == 0;
    EaxTour a = good ? fixture.good_tour(rng) : fixture.random_tour(rng);
    const EaxTour b = good ? fixture.good_tour(rng) : fixture.random_tour(rng);
    AbCycles cycles(fixture.space.size());
    cycles.build(a, b, rng, std::numeric_limits<std::size_t>::max());
    if (cycles.size() == 0) continue;
    OffspringBuilder builder(fixture.space);
    builder.start(a);
    const auto links_before = copy_of_links(a);
    for (int child = 0; child < 10; ++child) {
      const std::vector<std::int32_t> e_set = random_e_set(cycles, rng);
      if (e_set.empty()) continue;
      ASSERT_TRUE(builder.build(a, cycles, e_set, OffspringBuilder::kAnyGain));
      EXPECT_EQ(copy_of_links(a), links_before) << "the parent is restored bit for bit";

      // Segment labels are the cycles of the links.
      EaxTour naive = a;
      apply_offspring(naive, cycles, e_set, {});
      const std::vector<NodeId> naive_labels = cycle_labels(naive);
      std::map<NodeId, int> label_of;
      for (NodeId v = 0; v < naive.size(); ++v) {
        const int label = builder.subtour_before_joining(a, v);
        const auto [known, is_new] = label_of.emplace(naive_labels[static_cast<std::size_t>(v)], label);
        EXPECT_EQ(known->second, label);
      }
      EXPECT_EQ(static_cast<int>(label_of.size()), builder.num_subtours());
      EXPECT_EQ(builder.joins().size() + 1, label_of.size());
      num_with_subtours += builder.num_subtours() > 1 ? 1 : 0;

      // Joining gives one tour with exactly the promised length.
      EaxTour offspring = a;
      apply_offspring(offspring, cycles, e_set, builder.joins());
      for (const NodeId label : cycle_labels(offspring)) ASSERT_EQ(label, 0);
      offspring.number();
      EXPECT_EQ(a.length() - offspring.length(), builder.gain());
      EXPECT_EQ(EaxTour(fixture.space, offspring.order()).length(), offspring.length()) << "stored link costs";
      undo_offspring(offspring, cycles, e_set, builder.joins());
      EXPECT_EQ(copy_of_links(offspring), links_before);

      // Asking for improvements only gives the same offspring, or none where there is none.
      const EaxTour::Length gain = builder.gain();
      EXPECT_EQ(builder.build(a, cycles, e_set), gain > 0);
      if (gain > 0) {
        EXPECT_EQ(builder.gain(), gain);
      }
      EXPECT_EQ(copy_of_links(a), links_before);
    }
  }
  EXPECT_GT(num_with_subtours, 500);
}

// The best join by its definition, without any bounds.
EaxTour::Length best_single_join(const EaxSpace& space, const EaxTour& links, const std::vector<NodeId>& labels,
                                 NodeId inside_label, const std::set<Edge>& cut_edges) {
  EaxTour::Length best = std::numeric_limits<EaxTour::Length>::min();
  for (NodeId a = 0; a < links.size(); ++a) {
    if (labels[static_cast<std::size_t>(a)] != inside_label) continue;
    std::set<NodeId> ends;
    for (const EaxSpace::Neighbour& neighbour : space.neighbours(a)) ends.insert(neighbour.node);
    for (NodeId c = 0; c < links.size(); ++c) {
      if (cut_edges.contains(edge(a, c))) ends.insert(c);
    }
    for (const NodeId c : ends) {
      if (labels[static_cast<std::size_t>(c)] == inside_label) continue;
      for (const NodeId b : links.node(a).link) {
        for (const NodeId e : links.node(c).link) {
          best = std::max(best,
                          EaxTour::Length{space.cost(a, b)} + space.cost(c, e) - space.cost(a, c) - space.cost(b, e));
        }
      }
    }
  }
  return best;
}

TEST(OffspringBuilder, FindsTheBestJoinOfTwoSubtours) {
  Rng rng(2);
  int num_checked = 0;
  for (int round = 0; round < 600; ++round) {
    const Kind kind = kAllKinds[rng.below(kAllKinds.size())];
    const EaxFixture fixture(kind, 12 + rng.below(60), rng);
    EaxTour a = fixture.good_tour(rng);
    const EaxTour b = fixture.good_tour(rng);
    AbCycles cycles(fixture.space.size());
    cycles.build(a, b, rng, std::numeric_limits<std::size_t>::max());
    OffspringBuilder builder(fixture.space);
    builder.start(a);
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(cycles.size()); ++c) {
      ASSERT_TRUE(builder.build(a, cycles, {&c, 1}, OffspringBuilder::kAnyGain));
      if (builder.num_subtours() != 2) continue;
      EaxTour links = a;
      apply_offspring(links, cycles, {&c, 1}, {});
      std::set<Edge> cut_edges;
      for (const Edge& e : edges_of(a)) {
        if (!links.has_edge(e.first, e.second)) cut_edges.insert(e);
      }
      const std::vector<NodeId> labels = cycle_labels(links);
      const auto inside = labels[static_cast<std::size_t>(builder.joins()[0].a)];
      EXPECT_LE(2 * std::count(labels.begin(), labels.end(), inside), links.size()) << "the smaller one is inside";
      EXPECT_EQ(builder.joins()[0].gain(), best_single_join(fixture.space, links, labels, inside, cut_edges));
      ++num_checked;
    }
  }
  EXPECT_GT(num_checked, 100);
}

}  // namespace
}  // namespace puretour
