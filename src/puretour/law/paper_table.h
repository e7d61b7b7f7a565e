// The paper's own fits of the law, to compare with.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "puretour/generate/generate.h"

namespace puretour {

struct PaperFit {
  std::size_t scale;
  Distribution distribution;
  double alpha;
  double beta;
  double fit_error;
};

/// The 84 instance types, by scale (20, 50, 100, 150, ..., 1000), then uniform, clustered, explosion, implosion.
std::span<const PaperFit> paper_fits();

/// Null if the paper has no such type.
const PaperFit* find_paper_fit(std::size_t scale, Distribution distribution);

/// How many instances of a type the paper solved: 256 below 500 nodes, 128 from there on; 15,872 in all.
std::size_t paper_instances(std::size_t scale);

}  // namespace puretour
