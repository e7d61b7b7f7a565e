// Pictures of the claim that availability is supermodular: where it fails and how often.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "puretour/law/propositions.h"

namespace puretour {

/// A row for each counterexample: the four sets of the inequality with the circles that decide their availability, and
/// the four values in words. Throws InputError if there is none.
std::string counterexamples_svg(std::span<const Counterexample> counterexamples);

/// Share of violations over the share of the vertices that U holds, a line for each number of vertices.
std::string supermodularity_svg(std::span<const SetSizeResult> results);

}  // namespace puretour
