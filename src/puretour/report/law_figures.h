// Pictures of the law experiment.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "puretour/law/experiment.h"

namespace puretour {

/// Share of edges over purity order on a logarithmic axis, a panel for each distribution, up to eight scales.
std::string law_curves_svg(std::span<const LawRow> rows);

/// Prop-0, APO(all) and APO(non-0) over the scale, a line for each distribution.
std::string law_metrics_svg(std::span<const LawRow> rows);

/// alpha and beta over the scale with their bootstrap intervals, beside the paper's; panels by distribution.
std::string law_fits_svg(std::span<const LawRow> rows);

}  // namespace puretour
