// The law experiment: random instances of many types, solved, measured and fitted.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/generate/generate.h"
#include "puretour/law/fit.h"
#include "puretour/purity/tour_purity.h"

namespace puretour {

struct LawType {
  std::size_t scale = 0;
  Distribution distribution = Distribution::kUniform;
  std::size_t num_instances = 0;
};

/// Every scale with every distribution; num_instances 0: as many as the paper took.
std::vector<LawType> law_types(std::span<const std::size_t> scales, std::span<const Distribution> distributions,
                               std::size_t num_instances);

/// What is kept of one solved instance.
struct LawSample {
  std::uint64_t index = 0;  // in the data set (seed, distribution, scale)
  double length = 0;
  double seconds = 0;  // of solving; the only value that may differ from one machine to the next
  PurityHistogram orders;
};

struct LawRun {
  std::string folder;  // one file of samples for each type; made if missing
  std::uint64_t seed = 0;
  std::string solver = "eax";
  int threads = 1;
  Deadline deadline = {};  // stop early; what is done is on disk
  std::function<void(std::size_t done, std::size_t total)> progress =
      {};  // called after each instance, from any thread
};

/// Solves what is not on disk yet. Every sample is written as soon as it is known, so that a kill loses only instances
/// in work; a torn last line is dropped. Instances are taken in random order, so that the time of the first ones tells
/// how long all take. The samples depend on seed, solver and type only. Returns the samples of each type by index (all
/// of them, unless the deadline expired). Throws InputError if a file is from another seed or solver.
std::vector<std::vector<LawSample>> run_law(std::span<const LawType> types, const LawRun& run);

/// One row of the law table.
struct LawRow {
  LawType type;
  PurityHistogram pooled;
  double mean_instance_error = 0;  // fitting error of each instance by itself, mean over those that can be fitted
  std::optional<ExponentialFit> fit;
  std::optional<ExponentialFit> log_fit;
  std::optional<BootstrapResult> spread;
  // Against the paper: difference in combined standard errors, the paper's estimated from ours and its own count.
  std::optional<double> alpha_z;
  std::optional<double> beta_z;
};

LawRow make_law_row(const LawType& type, std::span<const LawSample> samples);

/// Header and one line for each row; empty fields where something cannot be fitted or compared.
std::string law_csv(std::span<const LawRow> rows);

}  // namespace puretour
