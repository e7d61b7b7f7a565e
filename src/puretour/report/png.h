// PNG copies of SVG figures, made by the program rsvg-convert (Debian: librsvg2-bin) where it is installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace puretour {

/// Draws an SVG file as a PNG of twice its size in pixels. The PNG appears whole or not at all. Returns false, and does
/// nothing, if the program is not installed. Throws InputError if it cannot do its work. `program` is looked for on
/// the PATH.
bool svg_to_png(const std::string& svg_path, const std::string& png_path, const std::string& program = "rsvg-convert");

}  // namespace puretour
