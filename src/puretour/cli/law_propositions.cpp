// `puretour law --propositions`: the paper's propositions, checked on many instances.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "puretour/base/error.h"
#include "puretour/cli/law_modes.h"
#include "puretour/law/propositions.h"
#include "puretour/report/proposition_figures.h"

namespace puretour::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ClaimRow {
  const char* key;
  const char* claim;
  std::uint64_t instances = 0;
  ClaimCount count = {};
};

ClaimCount as_claim(const SupermodularityCounts& counts) {
  return {counts.cases(), counts.violated};
}

// The four claims for some patterns taken together.
std::vector<ClaimRow> claim_rows(std::span<const PatternResult> patterns) {
  std::vector<ClaimRow> rows = {{"existence", "every vertex has a 0-order neighbour"},
                                {"connectivity", "the 0-order graph is connected"},
                                {"convexity", "0-order neighbours are convex around a vertex"},
                                {"convexity_outside", "... and beside a vertex outside their polygon"},
                                {"supermodularity", "availability is supermodular"}};
  for (const PatternResult& result : patterns) {
    for (ClaimRow& row : rows) row.instances += result.instances;
    rows[0].count.add(result.propositions.existence);
    rows[1].count.add(result.propositions.connectivity);
    rows[2].count.add(result.propositions.convexity);
    rows[3].count.add(result.propositions.convexity_outside);
    rows[4].count.add(as_claim(result.supermodularity));
  }
  return rows;
}

const char* verdict(const ClaimCount& count) {
  return count.violations > 0 ? "FAILS" : count.cases > 0 ? "holds" : "not tested";
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

Json to_json(const Counterexample& example) {
  Json points = Json::array();
  for (const Point p : example.points) points.push_back({p.x, p.y});
  return {{"points", points},
          {"u", example.set},
          {"v1", example.first},
          {"v2", example.second},
          {"phi_u_v1", example.sides.with_first.text()},
          {"phi_u_v2", example.sides.with_second.text()},
          {"phi_u_v1_v2", example.sides.with_both.text()},
          {"phi_u", example.sides.of_set.text()}};
}

Json to_json(const SupermodularityCounts& counts) {
  return {{"strict", counts.strict},
          {"equal", counts.equal},
          {"violated", counts.violated},
          {"share_violated", counts.share_violated()}};
}

Json to_json(const PropositionReport& report, const PropositionOptions& options,
             std::span<const Counterexample> counterexamples) {
  Json claims = Json::object();
  for (const ClaimRow& row : claim_rows(report.patterns)) {
    claims[row.key] = {{"claim", row.claim},
                       {"instances", row.instances},
                       {"cases", row.count.cases},
                       {"violations", row.count.violations},
                       {"verdict", verdict(row.count)}};
  }
  Json patterns = Json::object();
  for (const PatternResult& result : report.patterns) {
    Json of_pattern = {{"instances", result.instances}};
    for (const ClaimRow& row : claim_rows(std::span(&result, 1))) {
      of_pattern[row.key] = {{"cases", row.count.cases}, {"violations", row.count.violations}};
    }
    patterns[std::string(point_pattern_name(result.pattern))] = of_pattern;
  }
  Json sizes = Json::array();
  for (const SetSizeResult& result : report.set_sizes) {
    Json entry = {{"vertices", result.vertices}, {"set_size", result.set_size}};
    entry.update(to_json(result.counts));
    sizes.push_back(entry);
  }
  Json examples = Json::array();
  for (const Counterexample& example : counterexamples) examples.push_back(to_json(example));
  return {{"program", program_name()},
          {"seed", options.seed},
          {"least_vertices", options.least_vertices},
          {"most_vertices", options.most_vertices},
          {"claims", claims},
          {"patterns", patterns},
          {"supermodularity_by_set_size", sizes},
          {"smallest_counterexamples", examples}};
}

std::string claims_csv(const PropositionReport& report) {
  std::string csv = "pattern,claim,instances,cases,violations\n";
  for (const PatternResult& result : report.patterns) {
    for (const ClaimRow& row : claim_rows(std::span(&result, 1))) {
      csv += fmt::format("{},{},{},{},{}\n", point_pattern_name(result.pattern), row.key, row.instances,
                         row.count.cases, row.count.violations);
    }
  }
  return csv;
}

std::string vertex_text(const Counterexample& example, NodeId node) {
  const Point p = example.points[static_cast<std::size_t>(node)];
  return fmt::format("({:g}, {:g})", p.x, p.y);
}

std::string counterexample_text(const Counterexample& example) {
  std::string set;
  for (const NodeId node : example.set) set += (set.empty() ? "" : ", ") + vertex_text(example, node);
  return fmt::format(
      "{} vertices: U = {{{}}}, v1 = {}, v2 = {}\n"
      "  phi(U+v1) + phi(U+v2) = {} + {}  is more than  phi(U+v1+v2) + phi(U) = {} + {}\n",
      example.points.size(), set, vertex_text(example, example.first), vertex_text(example, example.second),
      example.sides.with_first.text(), example.sides.with_second.text(), example.sides.with_both.text(),
      example.sides.of_set.text());
}

void print_tables(const PropositionReport& report, std::span<const Counterexample> counterexamples) {
  Table claims({"claim", "instances", "cases", "violations", "verdict"});
  for (const ClaimRow& row : claim_rows(report.patterns)) {
    claims.add({row.claim, fmt::format("{}", row.instances), fmt::format("{}", row.count.cases),
                fmt::format("{}", row.count.violations), verdict(row.count)});
  }
  print(claims.text());

  Table patterns({"supermodularity by pattern", "cases", "<", "=", "violated", "share"});
  const auto outcome_cells = [](const SupermodularityCounts& counts) {
    return std::vector<std::string>{fmt::format("{}", counts.cases()), fmt::format("{}", counts.strict),
                                    fmt::format("{}", counts.equal), fmt::format("{}", counts.violated),
                                    percent(counts.share_violated())};
  };
  for (const PatternResult& result : report.patterns) {
    std::vector<std::string> row = {std::string(point_pattern_name(result.pattern))};
    for (std::string& cell : outcome_cells(result.supermodularity)) row.push_back(std::move(cell));
    patterns.add(std::move(row));
  }
  print("\n" + patterns.text());

  Table sizes({"by set size, uniform", "|U|", "cases", "<", "=", "violated", "share"});
  for (const SetSizeResult& result : report.set_sizes) {
    std::vector<std::string> row = {fmt::format("{} vertices", result.vertices), fmt::format("{}", result.set_size)};
    for (std::string& cell : outcome_cells(result.counts)) row.push_back(std::move(cell));
    sizes.add(std::move(row));
  }
  print("\n" + sizes.text());

  if (!counterexamples.empty()) print("\nSmallest counterexamples to supermodularity:\n");
  for (const Counterexample& example : counterexamples) print(counterexample_text(example));
}

}  // namespace

void check_propositions_of_the_paper(const LawOptions& options) {
  if (!options.scales.empty() || !options.distributions.empty()) {
    throw InputError("--propositions has instances of its own; leave out --scales and --distributions");
  }
  PropositionOptions run;
  run.seed = options.seed;
  run.threads = options.threads;
  run.instances = number_of_instances(options).value_or(run.instances);
  run.small_instances = 2 * run.instances;
  const PropositionReport report = check_all_propositions(run);
  std::vector<Counterexample> counterexamples;
  for (const auto& found : {report.smallest, report.smallest_of_two_up}) {
    if (found) counterexamples.push_back(*found);
  }
  const Json document = to_json(report, run, counterexamples);
  if (!options.output.empty()) {
    write_results(options.output, {{"propositions.json", document.dump(1) + "\n"},
                                   {"propositions.csv", claims_csv(report)},
                                   {"counterexamples.svg", counterexamples_svg(counterexamples)},
                                   {"supermodularity.svg", supermodularity_svg(report.set_sizes)}});
  }
  if (!options.prints) return;
  if (options.json) {
    print_json(document);
  } else {
    print_tables(report, counterexamples);
  }
}

}  // namespace puretour::cli
