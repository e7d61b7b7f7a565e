// Elementary functions that give the same bits on every machine.
//
// The C library picks another implementation of log() on CPUs with FMA, and its last bit may differ. Data sets must not
// depend on the CPU, so the generators use these, which need only correctly rounded + - * / (and sqrt).
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace puretour {

/// Natural logarithm of a positive, finite, normal number; absolute error below 4e-16 relative to max(1, |log x|).
inline double portable_log(double x) {
  constexpr double kLn2 = 0.693147180559945309417232121458;
  constexpr double kSqrtHalf = 0.707106781186547524400844362105;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716: eleven terms reach the last bit.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double series = 0;
  for (int odd = 23; odd >= 1; odd -= 2) series = series * s2 + 1.0 / odd;
  return exponent * kLn2 + 2 * s * series;
}

}  // namespace puretour
