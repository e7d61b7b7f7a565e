// The report: one HTML file with the paper's tables and figures beside our numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace puretour {

/// A training run: its recipe, and the two logs of its folder.
struct TrainingRunFiles {
  std::string name;
  std::string recipe;
  std::string log;
  std::string timing;
};

/// Results of other verbs, as they are in their files.
struct ReportInputs {
  std::optional<std::string> law;           // law.json
  std::optional<std::string> propositions;  // propositions.json
  std::vector<std::string> evaluations;     // evaluate.json
  std::vector<TrainingRunFiles> runs;
};

/// Looks for results in folders and their direct sub-folders; a path may also be one of the JSON files. Of several law
/// experiments the last one counts. Throws InputError for a path without any result.
ReportInputs find_report_inputs(std::span<const std::string> paths);

/// One of the numbers that matter most.
struct Headline {
  std::string label;
  std::string value;  // "no model" where there is nothing to say
  std::string paper;  // the paper's number; perhaps empty
  std::string note;
};

/// The fit of the law, pure edges, types that agree with the paper, the best network, and what PUPO changed. Throws
/// InputError if an input is not what its name says.
std::vector<Headline> headlines(const ReportInputs& inputs);

struct ReportNotes {
  std::string program;
  std::string machine;
  std::string created;  // a date
};

/// No report is larger; of the tours that can be looked at, the largest are left out until that holds.
inline constexpr std::size_t kMaxReportBytes = 5'000'000;

/// The whole page. It works without a network and without other files. Throws InputError if an input is not what its
/// name says, or if it is too large in itself.
std::string report_html(const ReportInputs& inputs, const ReportNotes& notes);

}  // namespace puretour
