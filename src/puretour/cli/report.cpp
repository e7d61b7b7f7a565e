// `puretour report`: results of the other verbs as one HTML page.
// SPDX-License-Identifier: MIT
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "puretour/base/build_info.h"
#include "puretour/base/files.h"
#include "puretour/cli/common.h"
#include "puretour/cli/law_modes.h"
#include "puretour/cli/report_mode.h"
#include "puretour/cli/verbs.h"

namespace puretour::cli {

std::vector<Headline> write_report(const std::vector<std::string>& results, const std::string& output) {
  const ReportInputs inputs = find_report_inputs(results);
  ReportNotes notes;
  notes.program = program_name();
  notes.machine = cpu_name();
  notes.created = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  write_file(output, report_html(inputs, notes));
  return headlines(inputs);
}

void print_headlines(const std::vector<Headline>& headlines) {
  Table table({"", "ours", "paper"});
  for (const Headline& headline : headlines) {
    // Greek letters would upset the columns of a table that counts bytes.
    std::string label = headline.label.starts_with("α") ? "alpha and beta of the law" : headline.label;
    if (!headline.note.empty() && headline.note.find("α") == std::string::npos) label += " (" + headline.note + ")";
    table.add({label, headline.value, headline.paper});
  }
  print(table.text());
}

void add_report(CLI::App& app) {
  struct Options {
    std::vector<std::string> results;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("report", "One HTML page: the paper's tables and figures beside our numbers");
  verb->add_option("RESULTS", options->results,
                   "Folders of results of law, evaluate and train, or folders of such folders")
      ->required();
  verb->add_option("-o,--output", options->output, "Page to write (.html)")->required();
  verb->footer(
      "\nThe page is one file of less than 5 MB that needs no network. It has a light and a dark look, prints well, "
      "and\n"
      "lets you look into tours. Where we have no network for a cell of the paper's tables, it says so.\n\n"
      "Examples:\n"
      "  puretour report out/law out/evaluation out/tsplib -o report.html\n"
      "  puretour report out -o report.html");
  verb->callback([options] {
    write_report(options->results, options->output);
    if (options->output != "-") print(fmt::format("the report is {}\n", options->output));
  });
}

}  // namespace puretour::cli
