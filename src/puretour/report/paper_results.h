// The paper's own tables of networks, to compare with. The table of the law is in law/paper_table.h.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "puretour/generate/generate.h"

namespace puretour {

/// Of one network on one type of random instances.
struct PaperCell {
  double gap_percent;
  double length;
  double seconds;
  double prop0_percent;  // as printed; contradicts the two columns after it
  double apo_all;
  double apo_non0;
};

struct PaperResult {
  Distribution distribution;
  std::size_t scale;
  std::string_view model;  // "AM-50", "AM-100", "PF-50", "PF-100", "INViT-50", "INViT-100"
  PaperCell vanilla;
  PaperCell pupo;
};

/// By distribution, then scale, then model. A missing row is "out of memory" in the paper.
std::span<const PaperResult> paper_results();

/// Gaps in percent on TSPLIB instances of up to 100, 1000 and 5000 nodes.
struct PaperTsplib {
  std::string_view model;
  std::string_view method;
  double gap_percent[3];
};
std::span<const PaperTsplib> paper_tsplib();

/// Called "sum of the Frobenius norm of the parameter matrices", and minutes of training per epoch.
struct PaperTraining {
  std::string_view model;
  std::string_view method;
  double norm;
  double minutes_per_epoch;
};
std::span<const PaperTraining> paper_training();

/// The radar chart: gaps in percent at four scales, on four distributions, and on TSPLIB.
struct PaperRadar {
  std::string_view model;
  std::string_view method;
  double gap_percent[9];
};
std::span<const PaperRadar> paper_radar();

}  // namespace puretour
