// Reads tensors from files of old PyTorch versions, without Python and without executing anything.
//
// Such a file (before 1.6: no zip archive) is a row of Python pickles and then raw numbers. A pickle is a program for a
// small stack machine that may call any function; this reader knows only the handful of instructions that dictionaries
// of tensors need, and refuses every other instruction and every other name.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "puretour/models/tensor.h"

namespace puretour {

/// The float32 tensors of the dictionary under the key `entry` of the file's dictionary ("model" for Kool's files).
/// Throws ModelError, with `source` in front.
TensorMap parse_legacy_torch(std::string_view bytes, const std::string& entry, const std::string& source);

}  // namespace puretour
