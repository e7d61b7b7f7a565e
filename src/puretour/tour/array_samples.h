// Data sets as arrays: .npy with points, .npz with points and tours.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "puretour/tour/sample.h"

namespace puretour {

/// The samples in an array of points, (N, 2) for one instance or (B, N, 2) for B of them. The metric is kEuclidean.
/// Throws InputError "SOURCE:byte OFFSET: ...".
std::vector<Sample> parse_npy_samples(std::string_view bytes, const std::string& source);

/// The same from an archive: the array "points" as above, and optionally "tours", 0-based integers of shape (N) or
/// (B, N). Other members are not looked at.
std::vector<Sample> parse_npz_samples(std::string_view bytes, const std::string& source);

/// The bytes of a file with points of shape (B, N, 2), <f8 or in single precision <f4. Throws InputError without
/// samples, if they differ in N, or if an instance has no planar points (see require_planar_points). The tours of .npy
/// samples are left out.
std::string format_npy_samples(std::span<const Sample> samples, bool single_precision = false);

/// The same with tours (B, N) of <i8, if the samples have them. Throws InputError if only some have.
std::string format_npz_samples(std::span<const Sample> samples, bool single_precision = false);

}  // namespace puretour
