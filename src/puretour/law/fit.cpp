// SPDX-License-Identifier: MIT
#include "puretour/law/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "puretour/base/rng.h"

namespace puretour {
namespace {

// Sums over k of y^2, y e^(-beta k) and e^(-2 beta k) decide everything.
struct LinearPart {
  double alpha = 0;
  double squared_error = 0;
};

// `shares` from the end at which the exponential is 1 to the one at which it is least: so nothing overflows.
template <typename Iterator>
LinearPart best_factor(Iterator begin, Iterator end, double ratio) {
  double decay = 1;
  double yy = 0;
  double ye = 0;
  double ee = 0;
  for (Iterator y = begin; y != end; ++y) {
    yy += *y * *y;
    ye += *y * decay;
    ee += decay * decay;
    decay *= ratio;
  }
  return {ye / ee, yy - ye * ye / ee};
}

LinearPart best_alpha(std::span<const double> shares, double beta) {
  if (beta >= 0) return best_factor(shares.begin(), shares.end(), std::exp(-beta));
  LinearPart part = best_factor(shares.rbegin(), shares.rend(), std::exp(beta));
  part.alpha *= std::exp(beta * static_cast<double>(shares.size() - 1));
  return part;
}

double total_squares(std::span<const double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

double r_squared(double squared_error, double total) {
  return total > 0 ? 1 - squared_error / total : 1;
}

FitSpread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto quantile = [&](double q) {
    const double place = q * (count - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
  };
  return {std::sqrt(total_squares(values) / std::max(1.0, count - 1)), quantile(0.025), quantile(0.975)};
}

}  // namespace

std::vector<double> order_shares(const PurityHistogram& histogram) {
  std::vector<double> shares;
  for (std::size_t k = 0; k < histogram.counts().size(); ++k) shares.push_back(histogram.proportion(k));
  return shares;
}

std::optional<ExponentialFit> fit_exponential(std::span<const double> shares) {
  if (shares.size() < 2 || std::all_of(shares.begin() + 1, shares.end(), [](double y) { return y == 0; })) return {};
  const auto error = [&](double beta) { return best_alpha(shares, beta).squared_error; };
  // A coarse search finds the valley, the golden section its ground.
  constexpr double kLeast = -5;
  constexpr double kMax = 40;
  constexpr int kSteps = 450;
  const auto step_at = [](int i) { return kLeast + (kMax - kLeast) * i / kSteps; };
  int best = 0;
  double least_error = error(step_at(0));
  for (int i = 1; i <= kSteps; ++i) {
    const double error_here = error(step_at(i));
    if (error_here < least_error) {
      best = i;
      least_error = error_here;
    }
  }
  double low = step_at(std::max(0, best - 1));
  double high = step_at(std::min(kSteps, best + 1));
  const double golden = (std::sqrt(5.0) - 1) / 2;
  while (high - low > 1e-10 * std::max(1.0, std::abs(low))) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    const bool is_left_better = error(left) < error(right);
    (is_left_better ? high : low) = is_left_better ? right : left;
  }
  const double beta = (low + high) / 2;
  const LinearPart part = best_alpha(shares, beta);
  // Cancellation may leave a tiny negative number where the fit is exact.
  const double squared_error = std::max(0.0, part.squared_error);
  return ExponentialFit{part.alpha, beta, squared_error / static_cast<double>(shares.size()),
                        r_squared(squared_error, total_squares(shares))};
}

std::optional<ExponentialFit> fit_log_linear(std::span<const double> shares) {
  std::vector<double> ks;
  std::vector<double> logs;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] <= 0) continue;
    ks.push_back(static_cast<double>(k));
    logs.push_back(std::log(shares[k]));
  }
  if (ks.size() < 2) return {};
  const auto count = static_cast<double>(ks.size());
  const double mean_k = std::accumulate(ks.begin(), ks.end(), 0.0) / count;
  const double mean_log = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  double covariance = 0;
  for (std::size_t i = 0; i < ks.size(); ++i) covariance += (ks[i] - mean_k) * (logs[i] - mean_log);
  const double slope = covariance / total_squares(ks);
  ExponentialFit fit;
  fit.beta = -slope;
  fit.alpha = std::exp(mean_log - slope * mean_k);
  double log_error = 0;
  for (std::size_t i = 0; i < ks.size(); ++i) {
    const double residual = logs[i] - (mean_log + slope * (ks[i] - mean_k));
    log_error += residual * residual;
  }
  fit.r_squared = r_squared(log_error, total_squares(logs));
  double error = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const double residual = shares[k] - fit.alpha * std::exp(-fit.beta * static_cast<double>(k));
    error += residual * residual;
  }
  fit.mean_squared_error = error / static_cast<double>(shares.size());
  return fit;
}

std::optional<BootstrapResult> bootstrap_fit(std::span<const PurityHistogram> instances, int rounds,
                                             std::uint64_t seed) {
  std::vector<double> alphas;
  std::vector<double> betas;
  for (int round = 0; round < rounds; ++round) {
    Rng rng(seed, {static_cast<std::uint64_t>(round)});
    PurityHistogram pooled;
    for (std::size_t i = 0; i < instances.size(); ++i) pooled.add(instances[rng.below(instances.size())]);
    // A draw of pure tours only cannot be fitted; it says nothing about alpha and beta.
    const auto fit = fit_exponential(order_shares(pooled));
    if (!fit) continue;
    alphas.push_back(fit->alpha);
    betas.push_back(fit->beta);
  }
  if (alphas.size() < 2) return {};
  return BootstrapResult{spread_of(std::move(alphas)), spread_of(std::move(betas))};
}

}  // namespace puretour
