// How sure a mean is: bootstrap intervals.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

namespace puretour {

struct MeanInterval {
  double mean = 0;
  double low = 0;   // 2.5 % quantile of the means of resampled values
  double high = 0;  // 97.5 % quantile
};

/// Draws as many of the values with replacement, 2000 times; the random numbers are fixed. Nothing without values; with
/// one value low = mean = high. With few values (five, say) intervals are too narrow: 95 % is what they aim at, not
/// what they reach. For pairs give the differences.
std::optional<MeanInterval> bootstrap_mean(std::span<const double> values);

}  // namespace puretour
