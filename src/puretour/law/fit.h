// The exponential fit of the Purity Law: y(k) = alpha exp(-beta k) through the shares of edges by purity order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "puretour/purity/tour_purity.h"

namespace puretour {

struct ExponentialFit {
  double alpha = 0;
  double beta = 0;
  double mean_squared_error = 0;  // of y over k = 0 .. k_max, in linear space: the paper's fitting error
  double r_squared = 0;           // in the space of the fit; 1 if all values are equal and met
};

/// y(0) .. y(k_max) of a histogram, k_max the largest order seen.
std::vector<double> order_shares(const PurityHistogram& histogram);

/// Least squares in linear space over all given k, zeros included: the fit that reproduces the paper's table. For fixed
/// beta the best alpha is known, so that only beta is searched. Nothing if there are fewer than two values or all but
/// the first are zero: then every large beta fits.
std::optional<ExponentialFit> fit_exponential(std::span<const double> shares);

/// A straight line through ln y(k) over the k with y(k) > 0; nothing if there are fewer than two of them.
std::optional<ExponentialFit> fit_log_linear(std::span<const double> shares);

/// Where the fit of pooled edges would lie if other instances had been drawn.
struct FitSpread {
  double standard_error = 0;
  double low = 0;   // 2.5 % quantile
  double high = 0;  // 97.5 % quantile
};

struct BootstrapResult {
  FitSpread alpha;
  FitSpread beta;
};

/// Draws as many instances with replacement, pools and fits them, `rounds` times. Nothing if a fit of the instances is
/// not possible. Depends on the seed only.
std::optional<BootstrapResult> bootstrap_fit(std::span<const PurityHistogram> instances, int rounds,
                                             std::uint64_t seed);

}  // namespace puretour
