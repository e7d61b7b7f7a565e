// Pictures of how the law depends on the quality of tours.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "puretour/law/sensitivity.h"

namespace puretour {

/// alpha, beta, Prop-0 and APO(all) over the mean excess of searches that were stopped early; a line for each
/// distribution, panels for each scale. Throws InputError if there are no rows.
std::string sensitivity_svg(std::span<const SensitivityRow> rows);

/// The same for the named constructions, without the random tours, which lie far outside: a mark for each distribution.
std::string constructions_svg(std::span<const SensitivityRow> rows);

}  // namespace puretour
