// Steps of tours whose right answers are known, and how a network does at them: what imitation learns from.
//
// Dimensions: B instances, N nodes, G tours per instance.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "puretour/nn/torch.h"

namespace puretour::nn {

/// The right answer at step t of a tour is its node number t; only steps begin .. end - 1 are scored.
struct TaughtSteps {
  Tensor tours;         // (B, G, N) int64
  Tensor ranges;        // (B, G, 2) int64 on the CPU: begin and end, 1 <= begin < end <= N
  Tensor coefficients;  // (B, G, N) float: factors of the log-probabilities
};

struct TaughtScore {
  Tensor sum;                  // of log-probabilities times coefficients, with a graph
  double log_prob = 0;         // sum of the log-probabilities alone
  std::int64_t decisions = 0;  // steps that were scored
  std::int64_t correct = 0;    // those where no other node is more probable than the right one
  std::int64_t skipped = 0;    // steps whose right node the network cannot choose: they teach nothing
};

}  // namespace puretour::nn
