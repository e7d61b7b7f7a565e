// The script and the style of the report's page, bundled from web/ at build time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace puretour {

std::string_view page_script();
std::string_view page_style();

}  // namespace puretour
