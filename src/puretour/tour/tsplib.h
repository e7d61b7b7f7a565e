// TSPLIB files: instances (.tsp) and tours (.tour).
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

/// The instance in the text of a .tsp file: EUC_2D, CEIL_2D, MAN_2D, MAX_2D, ATT, GEO, EXPLICIT in every symmetric
/// EDGE_WEIGHT_FORMAT, and EUC_2D_REAL (our extension: not rounded). An EXPLICIT instance
/// takes its points from DISPLAY_DATA_SECTION, else from NODE_COORD_SECTION, else has none. FIXED_EDGES_SECTION becomes
/// the fixed edges of the instance.
/// Throws one InputError "SOURCE:LINE: ..."; `source` is the name of the file. Memory grows with the text, whatever
/// DIMENSION claims.
Instance parse_tsplib(std::string_view text, const std::string& source);

/// The tour in the text of a .tour file. Throws InputError as above, also if it has not `expected_nodes` nodes.
Tour parse_tsplib_tour(std::string_view text, const std::string& source,
                       std::optional<std::size_t> expected_nodes = std::nullopt);

/// The text of a .tsp file that reads back as an equal instance: shortest round-trip decimals, EXPLICIT weights as
/// LOWER_DIAG_ROW. A name loses line ends and blanks around it. Throws InputError if the instance has no nodes.
std::string format_tsplib(const Instance& instance);

/// The text of a .tour file in normal form (see Tour::normal_form), with the length in a COMMENT line if given.
/// Throws InputError if the tour has no nodes.
std::string format_tsplib_tour(const Tour& tour, std::string_view name, std::optional<double> length = std::nullopt);

}  // namespace puretour
