// SPDX-License-Identifier: MIT
#include "puretour/evaluate/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "puretour/base/rng.h"

namespace puretour {

std::optional<MeanInterval> bootstrap_mean(std::span<const double> values) {
  constexpr std::size_t kRounds = 2000;
  constexpr std::uint64_t kSeed = 1;
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  Rng rng(kSeed);
  std::vector<double> means(kRounds);
  for (double& mean : means) {
    for (std::size_t i = 0; i < values.size(); ++i) mean += values[rng.below(values.size())];
    mean /= count;
  }
  std::sort(means.begin(), means.end());
  const auto quantile = [&](double q) { return means[static_cast<std::size_t>(std::lround(q * (kRounds - 1)))]; };
  return MeanInterval{std::accumulate(values.begin(), values.end(), 0.0) / count, quantile(0.025), quantile(0.975)};
}

}  // namespace puretour
