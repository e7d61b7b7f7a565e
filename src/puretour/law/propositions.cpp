// SPDX-License-Identifier: MIT
#include "puretour/law/propositions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/rng.h"
#include "puretour/generate/generate.h"
#include "puretour/geometry/disc.h"

namespace puretour {
namespace {

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

// Streams of random numbers that must not meet.
enum Stream : std::uint64_t { kPlaces = 1, kSampledCases = 2, kLargeCases = 3 };

constexpr double kGridSide = 1 << 20;

// Twice the area of the triangle abc, positive if it turns left. Exact for whole numbers up to 2^20.
double turn(Point a, Point b, Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

std::vector<Point> generated_points(Distribution distribution, std::size_t n, std::uint64_t seed, std::uint64_t index) {
  const Instance instance = generate_instance({}, distribution, n, seed, index);
  std::vector<Point> points(instance.points().begin(), instance.points().end());
  for (Point& p : points) p = {std::floor(p.x * kGridSide + 0.5), std::floor(p.y * kGridSide + 0.5)};
  return points;
}

std::vector<Point> random_of(std::vector<Point> places, std::size_t n, Rng& rng) {
  rng.shuffle(places.data(), places.size());
  places.resize(n);
  return places;
}

std::vector<Point> lattice_places(std::size_t n) {
  auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
  side += 2;  // a quarter to two thirds of the places stay empty
  std::vector<Point> places;
  for (std::size_t x = 0; x < side; ++x) {
    for (std::size_t y = 0; y < side; ++y) places.push_back({static_cast<double>(x), static_cast<double>(y)});
  }
  return places;
}

// 1105 = 5 * 13 * 17 is the smallest radius with so many whole points: 4 * 3 * 3 * 3.
std::vector<Point> circle_places() {
  constexpr int kRadius = 1105;
  std::vector<Point> places;
  for (int x = -kRadius; x <= kRadius; ++x) {
    for (int y = -kRadius; y <= kRadius; ++y) {
      if (x * x + y * y == kRadius * kRadius) places.push_back({static_cast<double>(x), static_cast<double>(y)});
    }
  }
  assert(places.size() == kMaxPatternVertices);
  return places;
}

std::vector<Point> line_points(std::size_t n, Rng& rng) {
  constexpr std::uint64_t kMaxStep = 7;
  auto step_x = static_cast<double>(rng.below(kMaxStep + 1));
  const auto step_y = static_cast<double>(rng.below(kMaxStep + 1));
  if (step_x == 0 && step_y == 0) step_x = 1;
  std::vector<Point> points;
  for (std::size_t i = 0; i < n; ++i) {
    const auto steps = static_cast<double>(rng.below(4 * n));
    points.push_back({steps * step_x, steps * step_y});
  }
  return points;
}

std::vector<Point> duplicated_points(std::size_t n, std::uint64_t seed, std::uint64_t index, Rng& rng) {
  const std::vector<Point> places = generated_points(Distribution::kUniform, (n + 2) / 3, seed, index);
  std::vector<Point> points;
  for (std::size_t i = 0; i < n; ++i) points.push_back(places[rng.below(places.size())]);
  return points;
}

bool has_neighbour_of_order_zero(const OrderMatrix& orders, NodeId i) {
  for (NodeId j = 0; j < static_cast<NodeId>(orders.size()); ++j) {
    if (j != i && orders.at(i, j) == 0) return true;
  }
  return false;
}

bool is_connected_by_order_zero(const OrderMatrix& orders) {
  const auto n = static_cast<NodeId>(orders.size());
  std::vector<bool> is_reached(orders.size(), false);
  std::vector<NodeId> stack = {0};
  is_reached[0] = true;
  std::size_t num_reached = 1;
  while (!stack.empty()) {
    const NodeId i = stack.back();
    stack.pop_back();
    for (NodeId j = 0; j < n; ++j) {
      if (is_reached[at(j)] || orders.at(i, j) != 0) continue;
      is_reached[at(j)] = true;
      ++num_reached;
      stack.push_back(j);
    }
  }
  return num_reached == orders.size();
}

// The places of the 0-order neighbours of a vertex but its own, each once, counter-clockwise around it.
std::vector<Point> corners_around(std::span<const Point> points, const OrderMatrix& orders, NodeId centre) {
  const Point origin = points[at(centre)];
  std::vector<Point> corners;
  for (NodeId j = 0; j < static_cast<NodeId>(points.size()); ++j) {
    if (j != centre && orders.at(centre, j) == 0 && points[at(j)] != origin) corners.push_back(points[at(j)]);
  }
  const auto is_lower_half = [origin](Point p) { return p.y < origin.y || (p.y == origin.y && p.x < origin.x); };
  std::sort(corners.begin(), corners.end(), [&](Point a, Point b) {
    if (is_lower_half(a) != is_lower_half(b)) return is_lower_half(b);
    const double side = turn(origin, a, b);
    if (side != 0) return side > 0;
    return squared_distance(origin, a) < squared_distance(origin, b);
  });
  corners.erase(std::unique(corners.begin(), corners.end()), corners.end());
  return corners;
}

void check_convexity(std::span<const Point> corners, Point centre, PropositionCounts& counts) {
  if (corners.size() < 3) return;
  bool is_inside = true;
  bool is_convex = true;
  for (std::size_t c = 0; c < corners.size(); ++c) {
    const Point here = corners[c];
    const Point next = corners[(c + 1) % corners.size()];
    const Point after = corners[(c + 2) % corners.size()];
    // The way from each corner to the next is less than half a turn exactly if the centre is inside.
    is_inside = is_inside && turn(centre, here, next) > 0;
    is_convex = is_convex && turn(here, next, after) >= 0;
  }
  (is_inside ? counts.convexity : counts.convexity_outside).add(is_convex);
}

// The sum in phi: over the members of a set, the smallest order to another member. members has no repetitions.
std::int64_t sum_of_lowest_orders(const OrderMatrix& orders, std::span<const NodeId> members) {
  if (members.size() < 2) return 0;
  std::int64_t sum = 0;
  for (const NodeId i : members) {
    OrderMatrix::Order lowest = std::numeric_limits<OrderMatrix::Order>::max();
    for (const NodeId j : members) {
      if (j != i) lowest = std::min(lowest, orders.at(i, j));
    }
    sum += lowest;
  }
  return sum;
}

Fraction mean_of(std::int64_t sum, std::size_t count) {
  return {sum, std::max<std::int64_t>(1, static_cast<std::int64_t>(count))};
}

SupermodularityCase make_case(std::size_t set_size, std::int64_t of_set, std::int64_t with_first,
                              std::int64_t with_second, std::int64_t with_both) {
  return {mean_of(of_set, set_size), mean_of(with_first, set_size + 1), mean_of(with_second, set_size + 1),
          mean_of(with_both, set_size + 2)};
}

std::vector<NodeId> members_of(std::uint32_t mask) {
  std::vector<NodeId> members;
  for (NodeId i = 0; mask != 0; ++i, mask >>= 1) {
    if ((mask & 1U) != 0) members.push_back(i);
  }
  return members;
}

// Calls visit(U as a bit mask, v1, v2, case) for all of them.
template <typename Visit>
void for_each_case(const OrderMatrix& orders, Visit visit) {
  const auto n = static_cast<std::uint32_t>(orders.size());
  std::vector<std::int64_t> sums(std::size_t{1} << n);
  for (std::uint32_t mask = 0; mask < sums.size(); ++mask) sums[mask] = sum_of_lowest_orders(orders, members_of(mask));
  for (std::uint32_t mask = 0; mask < sums.size(); ++mask) {
    const auto size = static_cast<std::size_t>(__builtin_popcount(mask));
    for (std::uint32_t v = 0; v < n; ++v) {
      if ((mask >> v & 1U) != 0) continue;
      const std::uint32_t first = mask | 1U << v;
      for (std::uint32_t w = v + 1; w < n; ++w) {
        if ((mask >> w & 1U) != 0) continue;
        const std::uint32_t second = mask | 1U << w;
        visit(mask, static_cast<NodeId>(v), static_cast<NodeId>(w),
              make_case(size, sums[mask], sums[first], sums[second], sums[first | second]));
      }
    }
  }
}

// The first `size` of a random order are U, the next two v1 and v2.
int random_case_sign(const OrderMatrix& orders, std::size_t size, std::vector<NodeId>& nodes, Rng& rng) {
  for (std::size_t i = 0; i < size + 2; ++i) std::swap(nodes[i], nodes[i + rng.below(nodes.size() - i)]);
  return supermodularity_case(orders, std::span(nodes).first(size), nodes[size], nodes[size + 1]).sign();
}

std::vector<NodeId> all_nodes(std::size_t n) {
  std::vector<NodeId> nodes(n);
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

bool is_in_general_position(std::span<const Point> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t k = 0; k < points.size(); ++k) {
        if (k == i || k == j) continue;
        const Point x = points[k];
        const double dot = (points[i].x - x.x) * (points[j].x - x.x) + (points[i].y - x.y) * (points[j].y - x.y);
        if (dot == 0 || turn(points[i], points[j], x) == 0) return false;
      }
    }
  }
  return true;
}

// The violation of largest excess among all sets of one instance, the first of equal ones.
void keep_worst(std::span<const Point> points, std::size_t min_set_size, std::optional<Counterexample>& worst) {
  const OrderMatrix orders(points);
  for_each_case(orders, [&](std::uint32_t mask, NodeId first, NodeId second, const SupermodularityCase& sides) {
    if (sides.sign() <= 0 || static_cast<std::size_t>(__builtin_popcount(mask)) < min_set_size) return;
    if (worst && sides.excess() <= worst->sides.excess()) return;
    worst = {{points.begin(), points.end()}, members_of(mask), first, second, sides};
  });
}

// Moves `chosen` to the next subset of 0 .. count - 1 in lexicographic order; false after the last one.
bool next_subset(std::vector<std::size_t>& chosen, std::size_t count) {
  const std::size_t size = chosen.size();
  for (std::size_t i = size; i-- > 0;) {
    if (chosen[i] + (size - i) >= count) continue;
    ++chosen[i];
    for (std::size_t j = i + 1; j < size; ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

std::optional<Counterexample> worst_on_lattice(std::size_t num_points, std::size_t side, std::size_t min_set_size) {
  std::vector<std::size_t> chosen(num_points);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  std::optional<Counterexample> worst;
  do {
    std::vector<Point> points;
    points.reserve(num_points);
    for (const std::size_t place : chosen) {
      const std::size_t row = place / side;
      points.push_back({static_cast<double>(place % side), static_cast<double>(row)});
    }
    if (is_in_general_position(points)) keep_worst(points, min_set_size, worst);
  } while (next_subset(chosen, side * side));
  return worst;
}

void check_options(const PropositionOptions& options) {
  if (options.least_vertices < 2 || options.least_vertices > options.most_vertices ||
      options.most_vertices > kMaxPatternVertices) {
    throw InputError(fmt::format("propositions: {} .. {} vertices; the range must lie within 2 .. {}",
                                 options.least_vertices, options.most_vertices, kMaxPatternVertices));
  }
}

std::vector<PatternResult> check_patterns(const PropositionOptions& options) {
  const std::size_t num_sizes = options.most_vertices - options.least_vertices + 1;
  std::vector<PatternResult> parts(kNumPointPatterns * num_sizes);
  parallel_for(parts.size(), options.threads, [&](std::size_t p) {
    const auto pattern = static_cast<PointPattern>(p / num_sizes);
    const std::size_t n = options.least_vertices + p % num_sizes;
    OrderMatrix orders;
    for (std::uint64_t index = 0; index < options.instances; ++index) {
      const std::vector<Point> points = pattern_points(pattern, n, options.seed, index);
      orders.compute(points);
      parts[p].propositions.add(check_propositions(points, orders));
      Rng rng(options.seed, {kSampledCases, static_cast<std::uint64_t>(pattern), n, index});
      std::vector<NodeId> nodes = all_nodes(n);
      for (std::size_t c = 0; c < options.cases_per_instance; ++c) {
        const std::size_t size = rng.below(n - 1);
        parts[p].supermodularity.add_sign(random_case_sign(orders, size, nodes, rng));
      }
    }
  });
  std::vector<PatternResult> results(kNumPointPatterns);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    PatternResult& result = results[p / num_sizes];
    result.pattern = static_cast<PointPattern>(p / num_sizes);
    result.instances += options.instances;
    result.propositions.add(parts[p].propositions);
    result.supermodularity.add(parts[p].supermodularity);
  }
  return results;
}

std::vector<SetSizeResult> check_set_sizes(const PropositionOptions& options) {
  // Of the large instances these |U|; each with as many random cases as all others.
  const std::vector<std::size_t> large_sizes = {0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 46, 47, 48};
  std::vector<std::vector<SupermodularityCounts>> small(options.small_instances);
  std::vector<std::vector<SupermodularityCounts>> large(options.small_instances);
  parallel_for(options.small_instances, options.threads, [&](std::size_t index) {
    small[index] = exhaustive_supermodularity(
        OrderMatrix(pattern_points(PointPattern::kUniform, kSmallVertices, options.seed, index)));
    const OrderMatrix orders(pattern_points(PointPattern::kUniform, kLargeVertices, options.seed, index));
    Rng rng(options.seed, {kLargeCases, index});
    std::vector<NodeId> nodes = all_nodes(kLargeVertices);
    for (const std::size_t size : large_sizes) {
      SupermodularityCounts counts;
      for (std::size_t c = 0; c < options.cases_per_instance; ++c) {
        counts.add_sign(random_case_sign(orders, size, nodes, rng));
      }
      large[index].push_back(counts);
    }
  });
  std::vector<SetSizeResult> results;
  const auto add = [&](std::size_t vertices, std::size_t size, std::size_t column, const auto& instances) {
    SetSizeResult result{vertices, size, {}};
    for (const auto& counts : instances) result.counts.add(counts[column]);
    results.push_back(result);
  };
  for (std::size_t size = 0; size + 2 <= kSmallVertices; ++size) add(kSmallVertices, size, size, small);
  for (std::size_t s = 0; s < large_sizes.size(); ++s) add(kLargeVertices, large_sizes[s], s, large);
  return results;
}

}  // namespace

std::string_view point_pattern_name(PointPattern pattern) {
  constexpr std::array<std::string_view, kNumPointPatterns> kNames = {
      "uniform", "clustered", "explosion", "implosion", "lattice", "circle", "line", "duplicates"};
  return kNames[static_cast<std::size_t>(pattern)];
}

std::vector<Point> pattern_points(PointPattern pattern, std::size_t num_vertices, std::uint64_t seed,
                                  std::uint64_t index) {
  if (num_vertices < 1 || num_vertices > kMaxPatternVertices) {
    throw InputError(fmt::format("{} vertices of pattern '{}'; give 1 .. {}", num_vertices, point_pattern_name(pattern),
                                 kMaxPatternVertices));
  }
  Rng rng(seed, {kPlaces, static_cast<std::uint64_t>(pattern), num_vertices, index});
  switch (pattern) {
    case PointPattern::kUniform:
      return generated_points(Distribution::kUniform, num_vertices, seed, index);
    case PointPattern::kClustered:
      return generated_points(Distribution::kClustered, num_vertices, seed, index);
    case PointPattern::kExplosion:
      return generated_points(Distribution::kExplosion, num_vertices, seed, index);
    case PointPattern::kImplosion:
      return generated_points(Distribution::kImplosion, num_vertices, seed, index);
    case PointPattern::kLattice:
      return random_of(lattice_places(num_vertices), num_vertices, rng);
    case PointPattern::kCircle: {
      static const std::vector<Point> places = circle_places();
      return random_of(places, num_vertices, rng);
    }
    case PointPattern::kLine:
      return line_points(num_vertices, rng);
    case PointPattern::kDuplicates:
      return duplicated_points(num_vertices, seed, index, rng);
  }
  throw InternalError("unknown point pattern");
}

void PropositionCounts::add(const PropositionCounts& other) {
  existence.add(other.existence);
  connectivity.add(other.connectivity);
  convexity.add(other.convexity);
  convexity_outside.add(other.convexity_outside);
}

PropositionCounts check_propositions(std::span<const Point> points, const OrderMatrix& orders) {
  assert(points.size() == orders.size() && points.size() >= 2);
  PropositionCounts counts;
  counts.connectivity.add(is_connected_by_order_zero(orders));
  for (NodeId i = 0; i < static_cast<NodeId>(points.size()); ++i) {
    counts.existence.add(has_neighbour_of_order_zero(orders, i));
    check_convexity(corners_around(points, orders, i), points[at(i)], counts);
  }
  return counts;
}

std::string Fraction::text() const {
  const std::int64_t divisor = std::gcd(numerator, denominator);
  if (denominator == divisor) return fmt::format("{}", numerator / divisor);
  return fmt::format("{}/{}", numerator / divisor, denominator / divisor);
}

Fraction exact_availability(const OrderMatrix& orders, std::span<const NodeId> set) {
  return mean_of(sum_of_lowest_orders(orders, set), set.size());
}

int SupermodularityCase::sign() const {
  // Over the common denominator of sizes k, k + 1, k + 1, k + 2. Sums are below n^2, so that 64 bits do for all n that
  // an OrderMatrix takes and sets of up to 20,000.
  const std::int64_t k = of_set.denominator;
  const std::int64_t one = with_first.denominator;
  const std::int64_t two = with_both.denominator;
  const std::int64_t difference = (with_first.numerator + with_second.numerator) * k * two -
                                  with_both.numerator * k * one - of_set.numerator * one * two;
  return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

SupermodularityCase supermodularity_case(const OrderMatrix& orders, std::span<const NodeId> set, NodeId first,
                                         NodeId second) {
  std::vector<NodeId> members(set.begin(), set.end());
  const std::int64_t of_set = sum_of_lowest_orders(orders, members);
  members.push_back(first);
  const std::int64_t with_first = sum_of_lowest_orders(orders, members);
  members.push_back(second);
  const std::int64_t with_both = sum_of_lowest_orders(orders, members);
  std::swap(members[set.size()], members[set.size() + 1]);
  members.pop_back();
  return make_case(set.size(), of_set, with_first, sum_of_lowest_orders(orders, members), with_both);
}

double SupermodularityCounts::share_violated() const {
  return cases() > 0 ? static_cast<double>(violated) / static_cast<double>(cases()) : 0;
}

void SupermodularityCounts::add_sign(int sign) {
  ++(sign > 0 ? violated : sign < 0 ? strict : equal);
}

void SupermodularityCounts::add(const SupermodularityCounts& other) {
  strict += other.strict;
  equal += other.equal;
  violated += other.violated;
}

std::vector<SupermodularityCounts> exhaustive_supermodularity(const OrderMatrix& orders) {
  if (orders.size() < 2 || orders.size() > kMaxExhaustiveVertices) {
    throw InputError(
        fmt::format("all sets of {} vertices; 2 .. {} can be looked at", orders.size(), kMaxExhaustiveVertices));
  }
  std::vector<SupermodularityCounts> counts(orders.size() - 1);
  for_each_case(orders, [&](std::uint32_t mask, NodeId, NodeId, const SupermodularityCase& sides) {
    counts[static_cast<std::size_t>(__builtin_popcount(mask))].add_sign(sides.sign());
  });
  return counts;
}

std::optional<Counterexample> smallest_counterexample(std::size_t min_set_size) {
  constexpr std::size_t kMaxSide = 5;
  for (std::size_t n = min_set_size + 2; n <= kMaxCounterexampleVertices; ++n) {
    for (std::size_t side = 2; side <= kMaxSide; ++side) {
      if (side * side < n) continue;
      if (auto found = worst_on_lattice(n, side, min_set_size)) return found;
    }
  }
  return {};
}

PropositionReport check_all_propositions(const PropositionOptions& options) {
  check_options(options);
  PropositionReport report;
  report.patterns = check_patterns(options);
  report.set_sizes = check_set_sizes(options);
  report.smallest = smallest_counterexample(0);
  report.smallest_of_two_up = smallest_counterexample(2);
  return report;
}

}  // namespace puretour
