// Published weights of other programs as checkpoints.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "puretour/models/checkpoint.h"

namespace puretour {

/// Attention Model of the repository wouterkool/attention-learn-to-route: a legacy PyTorch file whose dictionary has
/// the weights under "model", or a safetensors file with the same names. Sizes follow from the shapes; the file does
/// not tell the tanh clip, which is 10 in all published files. Throws ModelError, with `source` in front.
Checkpoint import_kool(std::string_view bytes, const std::string& source, double tanh_clip = AmConfig{}.tanh_clip);

}  // namespace puretour
