// `puretour law --sensitivity`: the law of tours that are not optimal.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "puretour/base/progress.h"
#include "puretour/cli/law_modes.h"
#include "puretour/law/sensitivity.h"
#include "puretour/report/sensitivity_figures.h"

namespace puretour::cli {
namespace {

using Json = nlohmann::ordered_json;

Json row_json(const SensitivityRow& row) {
  Json entry = {
      {"scale", row.law.type.scale},    {"distribution", distribution_name(row.law.type.distribution)},
      {"group", row.group.name},        {"target_excess", row.group.target ? Json(*row.group.target) : Json()},
      {"mean_excess", row.mean_excess}, {"least_excess", row.least_excess},
      {"most_excess", row.most_excess}, {"instances_less_pure_than_optimal", row.num_less_pure}};
  Json law = to_json(row.law);
  // The tours are not the paper's: comparing them with its fits would say nothing.
  law.erase("z_alpha");
  law.erase("z_beta");
  entry.update(law);
  return entry;
}

void print_table(std::span<const SensitivityRow> rows) {
  Table table({"", "excess", "alpha", "beta", "Prop-0", "APO(all)", "APO(non-0)", "less pure"});
  for (const SensitivityRow& row : rows) {
    const LawRow& law = row.law;
    const auto positive = law.pooled.mean_positive_order();
    table.add({fmt::format("{} {}: {}", distribution_name(law.type.distribution), law.type.scale, row.group.name),
               fmt::format("{:.2f} %", 100 * row.mean_excess), law.fit ? fmt::format("{:.4f}", law.fit->alpha) : "-",
               law.fit ? fmt::format("{:.4f}", law.fit->beta) : "-",
               fmt::format("{:.2f} %", 100 * law.pooled.proportion_zero()),
               fmt::format("{:.4f}", law.pooled.mean_order()), positive ? fmt::format("{:.4f}", *positive) : "-",
               fmt::format("{}/{}", row.num_less_pure, law.type.num_instances)});
  }
  print(table.text());
}

}  // namespace

void measure_sensitivity(const LawOptions& options) {
  SensitivityOptions run;
  run.seed = options.seed;
  run.threads = options.threads;
  if (!options.scales.empty()) run.scales = options.scales;
  run.distributions = distributions_of(options);
  run.instances = number_of_instances(options).value_or(run.instances);
  std::vector<SensitivityRow> rows;
  {
    Progress progress("instances", run.scales.size() * run.distributions.size() * run.instances, options.quiet);
    run.progress = [&] { progress.advance(); };
    rows = run_sensitivity(run);
  }
  Json json_rows = Json::array();
  for (const SensitivityRow& row : rows) json_rows.push_back(row_json(row));
  const Json document = {
      {"program", program_name()}, {"seed", run.seed}, {"instances_of_each_type", run.instances}, {"rows", json_rows}};
  if (!options.output.empty()) {
    write_results(options.output, {{"sensitivity.csv", sensitivity_csv(rows)},
                                   {"sensitivity.json", document.dump(1) + "\n"},
                                   {"sensitivity.svg", sensitivity_svg(rows)},
                                   {"sensitivity_named.svg", constructions_svg(rows)}});
  }
  if (options.json) {
    print_json(document);
  } else {
    print_table(rows);
  }
}

}  // namespace puretour::cli
