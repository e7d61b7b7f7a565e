// What the modes of `puretour law` share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "puretour/cli/common.h"
#include "puretour/generate/generate.h"
#include "puretour/law/experiment.h"

namespace puretour::cli {

struct LawOptions {
  std::vector<std::string> files;
  std::optional<FileFormat> format;
  std::string tours;
  bool propositions = false;
  bool sensitivity = false;
  std::vector<std::size_t> scales;
  std::vector<std::string> distributions;
  std::string instances = "paper";
  std::uint64_t seed = 2025;
  std::string solver = "eax";
  std::string output;
  bool json = false;
  bool quiet = false;
  bool prints = true;  // tables on standard output
  int threads = 0;
};

/// The number after --instances; nothing for "paper", the default. Throws InputError.
std::optional<std::size_t> number_of_instances(const LawOptions& options);

/// Those of --distributions, or all four. Throws InputError.
std::vector<Distribution> distributions_of(const LawOptions& options);

nlohmann::ordered_json to_json(const LawRow& row);

/// Version and commit, for results that are kept.
std::string program_name();

/// Writes files into the folder of -o, all or none, and a PNG beside each SVG. Where the program for PNGs is not
/// installed, one line on standard error says so. Makes the folder if it is missing.
void write_results(const std::string& folder, const std::vector<NewFile>& files);

/// Scales, distributions and numbers of instances as the options say. Throws InputError.
std::vector<LawType> types_of(const LawOptions& options);

/// `puretour law -o FOLDER`.
void run_law_experiment(const LawOptions& options);

/// `puretour law --propositions`.
void check_propositions_of_the_paper(const LawOptions& options);

/// `puretour law --sensitivity`.
void measure_sensitivity(const LawOptions& options);

}  // namespace puretour::cli
