// SPDX-License-Identifier: MIT
#include "puretour/evaluate/remaining_time.h"

#include <algorithm>
#include <cmath>

namespace puretour {

std::size_t RemainingTime::add_kind(std::size_t family, std::size_t size, std::size_t pieces) {
  kinds_.push_back({family, std::max(1.0, static_cast<double>(size)), pieces});
  return kinds_.size() - 1;
}

void RemainingTime::finish_piece(std::size_t kind, double seconds) {
  Kind& finished = kinds_[kind];
  if (finished.left > 0) --finished.left;
  ++finished.num_finished;
  finished.seconds += seconds;
}

std::optional<double> RemainingTime::seconds_left() const {
  // Between n log n of constructions and n^2 of attention.
  constexpr double kGrowth = 1.7;
  double total = 0;
  for (const Kind& kind : kinds_) {
    if (kind.left == 0) continue;
    // The kind itself, or the one of the nearest size.
    const Kind* known = nullptr;
    for (const Kind& other : kinds_) {
      if (other.family != kind.family || other.num_finished == 0) continue;
      const auto distance = [&](const Kind& k) { return std::abs(std::log(k.size / kind.size)); };
      if (known == nullptr || distance(other) < distance(*known)) known = &other;
    }
    if (known == nullptr) return {};
    const double seconds = known->seconds / static_cast<double>(known->num_finished);
    total += static_cast<double>(kind.left) * seconds * std::pow(kind.size / known->size, kGrowth);
  }
  return total;
}

}  // namespace puretour
