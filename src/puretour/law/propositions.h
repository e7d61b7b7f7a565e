// The paper's propositions about edges of order 0 and about availability, checked case by case.
//
//   existence        every vertex has a neighbour of order 0
//   connectivity     the pairs of order 0 form a connected graph
//   convexity        the 0-order neighbours of a vertex, in angular order, form a convex polygon
//   supermodularity  phi(U + v1) + phi(U + v2) <= phi(U + v1 + v2) + phi(U)
// The first three are theorems; the last one is false, and the smallest counterexample has three vertices.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "puretour/purity/order_matrix.h"

namespace puretour {

/// Where the vertices of a checked instance lie. The values are part of the seed: never renumber them.
enum class PointPattern : std::uint8_t {
  kUniform = 0,  // the first four: the generated distributions, rounded to a grid of 2^20 x 2^20
  kClustered = 1,
  kExplosion = 2,
  kImplosion = 3,
  kLattice = 4,     // random places of a square lattice with a few more places than vertices
  kCircle = 5,      // random of the 108 lattice points on the circle of radius 1105: all of them cocircular
  kLine = 6,        // on a line of random direction, some at the same place
  kDuplicates = 7,  // three vertices at each of a few random places, on average
};
inline constexpr std::size_t kNumPointPatterns = 8;

std::string_view point_pattern_name(PointPattern pattern);

/// The circle has no more places than this.
inline constexpr std::size_t kMaxPatternVertices = 108;

/// Instance number `index` of that pattern. All coordinates are whole numbers of at most 2^20, so that the predicates
/// of this file (inside a circle, left of a line) are exact. Throws InputError unless 1 <= n <= kMaxPatternVertices.
std::vector<Point> pattern_points(PointPattern pattern, std::size_t num_vertices, std::uint64_t seed,
                                  std::uint64_t index);

/// How often a claim was looked at and how often it was wrong.
struct ClaimCount {
  std::uint64_t cases = 0;
  std::uint64_t violations = 0;

  void add(bool holds) {
    ++cases;
    if (!holds) ++violations;
  }
  void add(const ClaimCount& other) {
    cases += other.cases;
    violations += other.violations;
  }
  bool operator==(const ClaimCount&) const = default;
};

struct PropositionCounts {
  ClaimCount existence;     // a case is a vertex
  ClaimCount connectivity;  // a case is an instance
  ClaimCount convexity;     // a case is a vertex strictly inside the polygon of its neighbours, as the paper has it
  ClaimCount convexity_outside;  // the same for a vertex on or outside the polygon: stronger than the paper, yet true

  void add(const PropositionCounts& other);
  bool operator==(const PropositionCounts&) const = default;
};

/// Checks the first three propositions for one instance of at least two vertices. Vertices at one place count as one
/// corner of a polygon, and as none of the polygon of a vertex at that very place; a polygon has three corners at
/// least, and a corner of 180 degrees is allowed. `orders` are those of `points`; others let a test see that wrong
/// orders are noticed. O(n^2 log n).
PropositionCounts check_propositions(std::span<const Point> points, const OrderMatrix& orders);

/// A whole number over another one, as availabilities are.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  [[nodiscard]] double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  /// In lowest terms: "2/3", "0".
  [[nodiscard]] std::string text() const;
};

/// phi(U) as an exact fraction; 0 for fewer than two vertices.
Fraction exact_availability(const OrderMatrix& orders, std::span<const NodeId> set);

/// The two sides of the inequality for one (U, v1, v2).
struct SupermodularityCase {
  Fraction of_set;      // phi(U)
  Fraction with_first;  // phi(U + v1)
  Fraction with_second;
  Fraction with_both;

  /// The sign of phi(U + v1) + phi(U + v2) - phi(U + v1 + v2) - phi(U), in whole numbers: 1 is a violation.
  [[nodiscard]] int sign() const;
  /// By how much the left side is larger.
  [[nodiscard]] double excess() const {
    return with_first.value() + with_second.value() - with_both.value() - of_set.value();
  }
};

/// v1 and v2 differ and are not in U.
SupermodularityCase supermodularity_case(const OrderMatrix& orders, std::span<const NodeId> set, NodeId first,
                                         NodeId second);

/// Cases by the outcome of the inequality.
struct SupermodularityCounts {
  std::uint64_t strict = 0;  // <
  std::uint64_t equal = 0;
  std::uint64_t violated = 0;  // >

  [[nodiscard]] std::uint64_t cases() const { return strict + equal + violated; }
  [[nodiscard]] double share_violated() const;  // 0 without cases
  void add_sign(int sign);
  void add(const SupermodularityCounts& other);
  bool operator==(const SupermodularityCounts&) const = default;
};

/// Every (U, {v1, v2}) of an instance, counted by |U| = 0 .. n - 2. O(2^n n^2), so at most kMaxExhaustiveVertices;
/// throws InputError above.
std::vector<SupermodularityCounts> exhaustive_supermodularity(const OrderMatrix& orders);
inline constexpr std::size_t kMaxExhaustiveVertices = 16;

/// A violation of supermodularity.
struct Counterexample {
  std::vector<Point> points;
  std::vector<NodeId> set;  // U
  NodeId first = 0;         // v1
  NodeId second = 0;        // v2
  SupermodularityCase sides;
};

/// The counterexample with the fewest vertices among those with |U| >= min_set_size; of these one with the smallest
/// whole coordinates, then the largest excess, then the first in lexicographic order. All subsets of small lattices are
/// tried. Only vertices in general position count (no three on a line, none on the circle of a pair), so that every
/// small displacement is a counterexample, too. Nothing if there is none with at most kMaxCounterexampleVertices.
std::optional<Counterexample> smallest_counterexample(std::size_t min_set_size);
inline constexpr std::size_t kMaxCounterexampleVertices = 5;

struct PropositionOptions {
  std::size_t least_vertices = 3;
  std::size_t most_vertices = 60;
  std::size_t instances = 50;            // of each pattern and number of vertices
  std::size_t cases_per_instance = 100;  // random (U, v1, v2) for supermodularity; |U| is uniform in 0 .. n - 2
  std::size_t small_instances = 100;     // uniform instances of kSmallVertices, all sets
  std::uint64_t seed = 2025;
  int threads = 1;
};

/// Small enough to look at all sets.
inline constexpr std::size_t kSmallVertices = 10;
/// Large instances whose sets are sampled by size.
inline constexpr std::size_t kLargeVertices = 50;

struct PatternResult {
  PointPattern pattern = PointPattern::kUniform;
  std::uint64_t instances = 0;
  PropositionCounts propositions;
  SupermodularityCounts supermodularity;
};

struct SetSizeResult {
  std::size_t vertices = 0;
  std::size_t set_size = 0;
  SupermodularityCounts counts;
};

struct PropositionReport {
  std::vector<PatternResult> patterns;
  std::vector<SetSizeResult> set_sizes;              // uniform instances: kSmallVertices, then kLargeVertices
  std::optional<Counterexample> smallest;            // of all; its U is one vertex, whose phi is 0 by convention
  std::optional<Counterexample> smallest_of_two_up;  // |U| >= 2: does not need that convention
};

/// Checks everything. Depends on seed and numbers only, not on threads. Throws InputError for an impossible range.
PropositionReport check_all_propositions(const PropositionOptions& options);

}  // namespace puretour
