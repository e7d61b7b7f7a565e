// The work of `puretour report`, which `puretour reproduce` does, too.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "puretour/report/report.h"

namespace puretour::cli {

/// Writes the page of these results and returns the numbers that matter most. Throws InputError.
std::vector<Headline> write_report(const std::vector<std::string>& results, const std::string& output);

/// As a table on standard output.
void print_headlines(const std::vector<Headline>& headlines);

}  // namespace puretour::cli
