// The smallest program that uses an installed PureTour: generate an instance, print the length of a tour.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "puretour/generate/generate.h"
#include "puretour/tour/tour.h"

int main() {
  const auto instance = puretour::generate_instance({}, puretour::Distribution::kUniform, 100, 0, 0);
  const auto tour = puretour::Tour::identity(instance.size());
  std::printf("length %.6f\n", puretour::tour_length(instance, tour));
}
