// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_population.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace puretour {
namespace {

// Scores are gains per loss of entropy. Any change of a count moves the entropy by far more than this, so offspring
// that lose none beat all others.
constexpr double kLeastEntropyLoss = 1e-8;

}  // namespace

EaxPopulation::EaxPopulation(const EaxSpace& space, const EaxOptions& options, int num_tours, std::uint64_t seed)
    : space_(space),
      options_(options),
      seed_(seed),
      counts_(space.size(), num_tours),
      cycles_(space.size()),
      builder_(space),
      block2_({options.tabu_tenure, options.tabu_stall}) {
  tours_.reserve(static_cast<std::size_t>(num_tours));
}

void EaxPopulation::add(EaxTour tour) {
  counts_.add(tour);
  tours_.push_back(std::move(tour));
}

const EaxTour& EaxPopulation::best() const {
  return *std::min_element(tours_.begin(), tours_.end(),
                           [](const EaxTour& s, const EaxTour& t) { return s.length() < t.length(); });
}

double EaxPopulation::mean_length() const {
  double sum = 0;
  for (const EaxTour& tour : tours_) sum += static_cast<double>(tour.length());
  return sum / static_cast<double>(tours_.size());
}

bool EaxPopulation::has_converged() const {
  return std::all_of(tours_.begin(), tours_.end(),
                     [&](const EaxTour& tour) { return tour.length() == tours_.front().length(); });
}

void EaxPopulation::breed(int generation, EaxStage stage, const Deadline& deadline) {
  const auto g = static_cast<std::uint64_t>(generation);
  const std::size_t num_tours = tours_.size();
  circle_.resize(num_tours);
  std::iota(circle_.begin(), circle_.end(), std::size_t{0});
  Rng(seed_, {g}).shuffle(circle_.data(), num_tours);
  for (std::size_t i = 0; i < num_tours; ++i) {
    if (deadline.expired()) return;
    Rng rng(seed_, {g, i});
    mate(tours_[circle_[i]], tours_[circle_[i + 1 < num_tours ? i + 1 : 0]], stage, rng);
  }
  assert(counts_.total() == static_cast<std::int64_t>(num_tours) * space_.size());
}

void EaxPopulation::mate(EaxTour& a, const EaxTour& b, EaxStage stage, Rng& rng) {
#ifndef NDEBUG
  const std::vector<EaxTour::Node> links_before(a.nodes().begin(), a.nodes().end());
#endif
  const auto children = static_cast<std::size_t>(options_.children);
  best_score_ = 0;
  builder_.start(a);
  if (stage == EaxStage::kSingle) {
    cycles_.build(a, b, rng, children);
    for (std::size_t c = 0; c < cycles_.size(); ++c) {
      const auto cycle = static_cast<std::int32_t>(c);
      consider(a, b, {&cycle, 1});
    }
  } else {
    cycles_.build(a, b, rng, std::numeric_limits<std::size_t>::max());
    block2_.prepare(a, cycles_);
    for (const std::int32_t centre : block2_.centres().first(std::min(children, cycles_.size()))) {
      consider(a, b, block2_.choose(centre, rng));
    }
  }
  assert(std::equal(links_before.begin(), links_before.end(), a.nodes().begin()));
  if (best_score_ > 0) {
    exchange_counts(best_e_set_, best_joins_);
    apply_offspring(a, cycles_, best_e_set_, best_joins_);
    [[maybe_unused]] const Length length_before = a.length();
    a.number();
    assert(length_before - a.length() == best_gain_);
  }
}

// Builds the offspring of an E-set and keeps it if its score is the best of the pair so far; ties keep the first.
void EaxPopulation::consider(EaxTour& a, const EaxTour& b, std::span<const std::int32_t> e_set) {
  ++num_offspring_;
  if (!builder_.build(a, cycles_, e_set)) return;
  // Most of B at B's length is almost surely B itself; copies of B would only cost diversity.
  std::size_t num_exchanged = 0;
  for (const std::int32_t c : e_set) num_exchanged += cycles_[static_cast<std::size_t>(c)].num_a_edges();
  if (a.length() - builder_.gain() == b.length() && 2 * num_exchanged >= cycles_.num_differing_edges()) return;

  auto score = static_cast<double>(builder_.gain());
  if (options_.selection == EaxSelection::kEntropy) {
    const double entropy_loss = -exchange_counts(e_set, builder_.joins());
    restore_counts(e_set, builder_.joins());
    score /= std::max(entropy_loss, kLeastEntropyLoss);
  }
  if (score <= best_score_) return;
  best_score_ = score;
  best_gain_ = builder_.gain();
  best_e_set_.assign(e_set.begin(), e_set.end());
  best_joins_.assign(builder_.joins().begin(), builder_.joins().end());
}

// Replaces the edges of A by those of its offspring in the counts and returns the change of the entropy. One by one, as
// an edge that a cycle takes away can come back by a join.
double EaxPopulation::exchange_counts(std::span<const std::int32_t> e_set, std::span<const SubtourJoin> joins) {
  double change = 0;
  for (const std::int32_t c : e_set) {
    const AbCycle cycle = cycles_[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < cycle.nodes.size(); i += 2) {
      change += counts_.remove_edge(cycle.nodes[i], cycle.nodes[i + 1]);
      change += counts_.add_edge(cycle.nodes[i + 1], cycle.nodes[cycle.next(i + 1)]);
    }
  }
  for (const SubtourJoin& join : joins) {
    change += counts_.remove_edge(join.a, join.b);
    change += counts_.remove_edge(join.c, join.e);
    change += counts_.add_edge(join.a, join.c);
    change += counts_.add_edge(join.b, join.e);
  }
  return change;
}

// The reverse of exchange_counts, last join first: a join may have removed an edge that an earlier one added.
void EaxPopulation::restore_counts(std::span<const std::int32_t> e_set, std::span<const SubtourJoin> joins) {
  for (auto join = joins.rbegin(); join != joins.rend(); ++join) {
    counts_.add_edge(join->a, join->b);
    counts_.add_edge(join->c, join->e);
    counts_.remove_edge(join->a, join->c);
    counts_.remove_edge(join->b, join->e);
  }
  for (const std::int32_t c : e_set) {
    const AbCycle cycle = cycles_[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < cycle.nodes.size(); i += 2) {
      counts_.add_edge(cycle.nodes[i], cycle.nodes[i + 1]);
      counts_.remove_edge(cycle.nodes[i + 1], cycle.nodes[cycle.next(i + 1)]);
    }
  }
}

}  // namespace puretour
