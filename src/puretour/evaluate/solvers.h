// Solvers under test: classical ones by name, networks by file.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "puretour/evaluate/evaluation.h"

namespace puretour {

/// How networks build their tours.
struct NetworkDecoding {
  std::string decoding = "greedy";    // see Decoding::parse
  std::string augmentation = "1";     // see Augmentation::parse, or "by-size", see below
  std::string precision = "float32";  // see kernels::parse_precision
};

/// "by-size": the copies of INViT's test protocol, mix:64 up to 200 nodes, mix:32 up to 1000, mix:16 up to 5000, then
/// mix:8. Any other augmentation is the same for all sizes.
std::string augmentation_for(const std::string& augmentation, std::size_t nodes);

/// A solver of make_solver. Throws InputError.
EvaluatedSolver classical_solver(const std::string& name);

/// The network of a checkpoint, named by its file. Throws InputError or ModelError.
EvaluatedSolver network_solver(const std::string& path, const NetworkDecoding& decoding);

/// The files themselves, and the .safetensors files of folders in the order of their names; perhaps none. Throws
/// InputError if a path does not exist.
std::vector<std::string> model_files(const std::vector<std::string>& paths);

}  // namespace puretour
