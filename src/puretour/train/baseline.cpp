// SPDX-License-Identifier: MIT
#include "puretour/train/baseline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "puretour/base/error.h"

namespace puretour::train {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The continued fraction of the incomplete beta function (Lentz's method).
double beta_fraction(double a, double b, double x) {
  constexpr int kMaxTerms = 10000;
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const auto k = static_cast<double>(m);
    const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return result;
}

double regularised_incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side; the other one follows from the symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_cdf(double t, double degrees_of_freedom) {
  const double x = degrees_of_freedom / (degrees_of_freedom + t * t);
  const double tail = 0.5 * regularised_incomplete_beta(degrees_of_freedom / 2, 0.5, x);
  return t < 0 ? tail : 1 - tail;
}

double paired_t_test(std::span<const double> first, std::span<const double> second) {
  if (first.size() != second.size() || first.size() < 2) throw InternalError("paired_t_test: not the same instances");
  const auto n = static_cast<double>(first.size());
  std::vector<double> differences(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) differences[i] = first[i] - second[i];
  const double centre = mean(differences);
  if (!(centre < 0)) return 1;
  double squares = 0;
  for (const double d : differences) squares += (d - centre) * (d - centre);
  if (squares == 0) return 0;
  return student_t_cdf(centre / std::sqrt(squares / (n - 1) / n), n - 1);
}

Baseline::Baseline(const Recipe& recipe, const TensorMap& initial, int threads) : recipe_(recipe), threads_(threads) {
  if (!has_copy()) return;
  set_copy(initial);
  if (recipe_.baseline == "rollout") state_.set_lengths = lengths_on_set(*copy_, 0, true);
}

Baseline::Baseline(const Recipe& recipe, State state, int threads)
    : recipe_(recipe), threads_(threads), state_(std::move(state)) {
  if (has_copy()) set_copy(TensorMap(state_.weights));
}

Baseline::~Baseline() = default;

void Baseline::set_copy(const TensorMap& weights) {
  state_.weights = weights;
  copy_ = make_policy({network_config(recipe_), state_.weights, {}}, product_precision(recipe_));
}

bool Baseline::is_moving_mean(std::size_t epoch) const {
  return recipe_.baseline == "exponential" || (recipe_.baseline == "rollout" && epoch < recipe_.warmup_epochs);
}

void Baseline::subtract(const Batch& batch, std::uint64_t number, std::size_t epoch, double mean_length,
                        std::size_t tours, std::span<double> lengths) {
  if (is_moving_mean(epoch)) {
    const double beta = recipe_.exponential_beta;
    state_.moving_mean = state_.has_moving_mean ? beta * state_.moving_mean + (1 - beta) * mean_length : mean_length;
    state_.has_moving_mean = true;
    for (double& v : lengths) v -= state_.moving_mean;
  } else if (has_copy()) {
    TourPlan plan;
    plan.random_starts = recipe_.model != "am";
    plan.seed = recipe_.seed;
    plan.number = number;
    plan.of_baseline = true;
    plan.threads = threads_;
    const BatchTours greedy = roll_out(*copy_, batch, {}, plan);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] -= greedy.lengths[i / tours];
  } else if (recipe_.baseline == "shared") {
    constexpr double kEpsilon = 1e-8;
    const std::size_t group = tours * batch.copies;
    for (std::size_t begin = 0; begin < lengths.size(); begin += group) {
      const std::span<double> part = lengths.subspan(begin, group);
      const double centre = mean(part);
      double squares = 0;
      for (double& v : part) {
        v -= centre;
        squares += v * v;
      }
      if (!recipe_.normalise_advantage) continue;
      const double deviation = std::sqrt(squares / static_cast<double>(group));
      for (double& v : part) v /= deviation + kEpsilon;
    }
  }
}

std::vector<double> Baseline::lengths_on_set(const Policy& policy, std::uint64_t number, bool of_baseline) const {
  // In parts, so that the views of all instances need not lie in memory at once.
  constexpr std::size_t kPart = 256;
  std::vector<double> result;
  for (std::size_t first = 0; first < recipe_.baseline_instances; first += kPart) {
    const std::size_t count = std::min(kPart, recipe_.baseline_instances - first);
    const Batch batch =
        make_batch(recipe_.seed, Purpose::kComparison, number, first, count, recipe_.nodes, recipe_.copies);
    TourPlan plan;
    plan.random_starts = recipe_.model != "am";
    plan.seed = recipe_.seed;
    plan.purpose = Purpose::kComparison;
    plan.number = number;
    plan.of_baseline = of_baseline;
    plan.threads = threads_;
    const BatchTours greedy = roll_out(policy, batch, {}, plan);
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = greedy.lengths.begin() + static_cast<std::ptrdiff_t>(i * recipe_.copies);
      result.push_back(*std::min_element(begin, begin + static_cast<std::ptrdiff_t>(recipe_.copies)));
    }
  }
  return result;
}

bool Baseline::update(const Policy& network, const TensorMap& weights, std::size_t epoch) {
  if (recipe_.baseline == "rollout") {
    const std::vector<double> lengths = lengths_on_set(network, state_.set_number, true);
    if (paired_t_test(lengths, state_.set_lengths) >= recipe_.significance) return false;
    set_copy(weights);
    state_.set_number = epoch + 1;
    state_.set_lengths = lengths_on_set(*copy_, state_.set_number, true);
    return true;
  }
  if (recipe_.baseline == "gated") {
    const double of_network = mean(lengths_on_set(network, epoch, false));
    const double of_copy = mean(lengths_on_set(*copy_, epoch, true));
    if (of_network + recipe_.gate_tolerance >= of_copy) return false;
    set_copy(weights);
    return true;
  }
  return false;
}

}  // namespace puretour::train
