// SPDX-License-Identifier: MIT
#include "puretour/evaluate/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "puretour/base/rng.h"

namespace puretour {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> gap_of(const EvaluatedSet& set, std::size_t solver, std::size_t item) {
  const auto reference = set.reference_length(item);
  const auto& solved = set.solutions[solver][item];
  if (!reference || !solved || !(*reference > 0)) return {};
  return solved->length / *reference - 1;
}

SummaryRow make_row(const EvaluatedSet& set, std::size_t s, std::size_t solver) {
  SummaryRow row;
  row.set = s;
  row.solver = solver;
  std::vector<double> gaps;
  std::vector<double> ceil_gaps;
  for (std::size_t i = 0; i < set.set.items.size(); ++i) {
    const auto gap = gap_of(set, solver, i);
    if (!gap) continue;
    const SolvedItem& solved = *set.solutions[solver][i];
    gaps.push_back(*gap);
    row.mean_length += solved.length;
    row.mean_seconds += solved.seconds;
    row.orders.add(solved.orders);
    if (solved.ceil_length) ceil_gaps.push_back(*solved.ceil_length / *set.reference_length(i) - 1);
  }
  row.num_items = gaps.size();
  row.gap = bootstrap_mean(gaps);
  if (!gaps.empty()) {
    row.mean_length /= static_cast<double>(gaps.size());
    row.mean_seconds /= static_cast<double>(gaps.size());
  }
  if (!ceil_gaps.empty()) {
    row.ceil_gap = std::accumulate(ceil_gaps.begin(), ceil_gaps.end(), 0.0) / static_cast<double>(ceil_gaps.size());
  }
  return row;
}

// Sets have the same weight, however many instances they have, as in the paper's averages; resampling draws instances
// within each set.
MeanInterval mean_over_sets(const std::vector<std::vector<double>>& differences) {
  constexpr std::size_t kRounds = 2000;
  constexpr std::uint64_t kSeed = 1;
  Rng rng(kSeed);
  MeanInterval result;
  std::vector<double> means(kRounds);
  for (const std::vector<double>& of_set : differences) {
    const double weight = 1.0 / static_cast<double>(of_set.size() * differences.size());
    for (const double value : of_set) result.mean += weight * value;
    for (double& mean : means) {
      for (std::size_t i = 0; i < of_set.size(); ++i) mean += weight * of_set[rng.below(of_set.size())];
    }
  }
  std::sort(means.begin(), means.end());
  result.low = means[kRounds / 40];
  result.high = means[kRounds - 1 - kRounds / 40];
  return result;
}

Json interval_json(const MeanInterval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

void add_purity(Json& entry, const PurityHistogram& orders) {
  if (orders.num_edges() == 0) return;
  const auto positive = orders.mean_positive_order();
  entry["prop_0"] = orders.proportion_zero();
  entry["apo_all"] = orders.mean_order();
  entry["apo_non_0"] = positive ? Json(*positive) : Json();
}

Json set_json(const EvaluatedSet& entry) {
  const EvaluationSet& set = entry.set;
  Json json = {{"name", set.name}, {"kind", set.is_tsplib ? "tsplib" : set.distribution ? "random" : "files"}};
  if (set.distribution) json["distribution"] = std::string(distribution_name(*set.distribution));
  if (set.scale > 0) json["scale"] = set.scale;
  json["description"] = set.description;
  json["items"] = set.items.size();
  double length = 0;
  double seconds = 0;
  double excess = 0;
  std::size_t count = 0;
  std::size_t proven = 0;
  std::size_t published = 0;
  std::map<std::string, std::size_t> methods;
  PurityHistogram orders;
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    if (!entry.references[i]) continue;
    const ReferenceTour& reference = *entry.references[i];
    ++count;
    length += *entry.reference_length(i);
    seconds += reference.seconds;
    if (reference.bound > 0) excess += reference.length / reference.bound - 1;
    proven += reference.bound_is_proven ? 1 : 0;
    published += set.items[i].published ? 1 : 0;
    ++methods[reference.method];
    orders.add(reference.orders);
  }
  Json of_references = {{"items", count}, {"methods", methods}, {"published_lengths", published}};
  if (count > 0) {
    const auto n = static_cast<double>(count);
    of_references["mean_length"] = length / n;
    of_references["mean_seconds"] = seconds / n;
    of_references["mean_gap_to_bound"] = excess / n;
    of_references["proven_bounds"] = proven;
    add_purity(of_references, orders);
  }
  json["references"] = std::move(of_references);
  return json;
}

Json solver_json(const EvaluatedSolver& solver) {
  Json json = {{"name", solver.name}, {"kind", solver.model ? "model" : "classical"}, {"identity", solver.identity}};
  if (!solver.model) return json;
  const ModelCard& card = *solver.model;
  json["architecture"] = card.architecture;
  json["slot"] = card.slot();
  json["method"] = card.method;
  if (card.nodes) json["training_nodes"] = *card.nodes;
  if (card.training_instances) json["training_instances"] = *card.training_instances;
  json["parameters"] = card.parameters;
  json["norm_sum"] = card.norm_sum;
  json["norm_joint"] = card.norm_joint;
  json["sha256"] = card.sha256;
  json["program"] = card.program;
  return json;
}

Json row_json(const SummaryRow& row, std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  Json json = {{"set", sets[row.set].set.name}, {"solver", solvers[row.solver].name}, {"items", row.num_items}};
  if (row.num_items == 0) return json;
  json["gap"] = interval_json(*row.gap);
  json["length"] = row.mean_length;
  json["seconds"] = row.mean_seconds;
  add_purity(json, row.orders);
  if (row.ceil_gap) json["ceil_gap"] = *row.ceil_gap;
  return json;
}

Json pair_json(const MethodPair& pair, std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  return {{"slot", pair.slot},
          {"vanilla", solvers[pair.vanilla].name},
          {"pupo", solvers[pair.pupo].name},
          {"set", pair.set ? Json(sets[*pair.set].set.name) : Json()},
          {"items", pair.num_items},
          {"difference", interval_json(pair.difference)},
          {"shorter", pair.num_shorter},
          {"longer", pair.num_longer}};
}

// The shortest decimals that read back as the same numbers, so that orders are the same in a browser.
Json point_json(const Point& p) {
  return Json::array({p.x, p.y});
}

Json pictures_json(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  Json pictures = Json::array();
  for (const EvaluatedSet& entry : sets) {
    if (entry.set.items.empty() || !is_pictured(entry.set, 0) || !entry.references[0]) continue;
    const Sample sample = entry.set.load(0);
    Json points = Json::array();
    for (const Point& p : sample.instance.points()) points.push_back(point_json(p));
    Json picture = {{"set", entry.set.name},
                    {"item", entry.set.items[0].name},
                    {"points", std::move(points)},
                    {"reference", {{"length", entry.references[0]->length}, {"tour", entry.references[0]->order}}}};
    picture["tours"] = Json::array();
    for (std::size_t k = 0; k < solvers.size(); ++k) {
      const auto& solved = entry.solutions[k][0];
      if (!solved || solved->order.empty()) continue;
      picture["tours"].push_back({{"solver", solvers[k].name}, {"length", solved->length}, {"tour", solved->order}});
    }
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

// Fields with a comma or a quote are quoted.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string purity_fields(const PurityHistogram& orders) {
  if (orders.num_edges() == 0) return ",,";
  const auto positive = orders.mean_positive_order();
  return fmt::format("{:.6f},{:.6f},{}", orders.proportion_zero(), orders.mean_order(),
                     positive ? fmt::format("{:.6f}", *positive) : "");
}

}  // namespace

std::vector<SummaryRow> summarise(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  std::vector<SummaryRow> rows;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (std::size_t k = 0; k < solvers.size(); ++k) rows.push_back(make_row(sets[s], s, k));
  }
  return rows;
}

std::vector<MethodPair> method_pairs(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  std::vector<MethodPair> pairs;
  const auto is_a = [&](std::size_t k, const char* method) {
    return solvers[k].model && solvers[k].model->method == method && !solvers[k].model->slot().empty();
  };
  for (std::size_t v = 0; v < solvers.size(); ++v) {
    for (std::size_t p = 0; p < solvers.size(); ++p) {
      if (!is_a(v, "vanilla") || !is_a(p, "pupo") || solvers[v].model->slot() != solvers[p].model->slot()) continue;
      MethodPair all{solvers[v].model->slot(), v, p, {}, 0, {}, 0, 0};
      std::vector<std::vector<double>> differences;
      for (std::size_t s = 0; s < sets.size(); ++s) {
        MethodPair pair{all.slot, v, p, s, 0, {}, 0, 0};
        std::vector<double> of_set;
        for (std::size_t i = 0; i < sets[s].set.items.size(); ++i) {
          const auto with = gap_of(sets[s], p, i);
          const auto without = gap_of(sets[s], v, i);
          if (!with || !without) continue;
          of_set.push_back(*with - *without);
          if (*with < *without) ++pair.num_shorter;
          if (*with > *without) ++pair.num_longer;
        }
        const auto interval = bootstrap_mean(of_set);
        if (!interval) continue;
        pair.num_items = of_set.size();
        pair.difference = *interval;
        all.num_items += pair.num_items;
        all.num_shorter += pair.num_shorter;
        all.num_longer += pair.num_longer;
        pairs.push_back(std::move(pair));
        differences.push_back(std::move(of_set));
      }
      if (differences.empty()) continue;
      all.difference = mean_over_sets(differences);
      pairs.push_back(std::move(all));
    }
  }
  return pairs;
}

std::string evaluation_json(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers,
                            const EvaluationNotes& notes) {
  Json document = {{"kind", "puretour evaluation 1"},    {"program", notes.program},
                   {"machine", notes.machine},           {"seed", notes.seed},
                   {"threads", notes.threads},           {"decoding", notes.decoding},
                   {"augmentation", notes.augmentation}, {"reference_solver", notes.reference_solver}};
  document["sets"] = Json::array();
  for (const EvaluatedSet& set : sets) document["sets"].push_back(set_json(set));
  document["solvers"] = Json::array();
  for (const EvaluatedSolver& solver : solvers) document["solvers"].push_back(solver_json(solver));
  document["results"] = Json::array();
  for (const SummaryRow& row : summarise(sets, solvers)) document["results"].push_back(row_json(row, sets, solvers));
  document["pairs"] = Json::array();
  for (const MethodPair& pair : method_pairs(sets, solvers))
    document["pairs"].push_back(pair_json(pair, sets, solvers));
  document["pictures"] = pictures_json(sets, solvers);
  return document.dump() + "\n";
}

std::string gaps_markdown(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  std::string text = "| gap, % | instances |";
  std::string rule = "|---|---|";
  for (const EvaluatedSolver& solver : solvers) {
    text += fmt::format(" {} |", solver.name);
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  const std::vector<SummaryRow> rows = summarise(sets, solvers);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    text += fmt::format("| {} | {} |", sets[s].set.name, sets[s].set.items.size());
    for (const SummaryRow& row : rows) {
      if (row.set == s) text += row.gap ? fmt::format(" {:.2f} |", std::max(0.0, 100 * row.gap->mean)) : " - |";
    }
    text += "\n";
  }
  const std::vector<MethodPair> pairs = method_pairs(sets, solvers);
  if (pairs.empty()) return text;
  text += "\n| PUPO - vanilla, points | set | difference | 95 % interval | shorter : longer |\n|---|---|---|---|---|\n";
  for (const MethodPair& pair : pairs) {
    text += fmt::format("| {} | {} | {:+.3f} | {:+.3f} to {:+.3f} | {} : {} |\n", pair.slot,
                        pair.set ? sets[*pair.set].set.name : "all, equal weights", 100 * pair.difference.mean,
                        100 * pair.difference.low, 100 * pair.difference.high, pair.num_shorter, pair.num_longer);
  }
  return text;
}

std::string instances_csv(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  std::string csv =
      "set,item,nodes,solver,length,reference_length,gap,seconds,prop_0,apo_all,apo_non_0,bound,bound_is_proven,"
      "published_length,ceil_length\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.10g}", *value) : std::string();
  };
  for (const EvaluatedSet& entry : sets) {
    for (std::size_t i = 0; i < entry.set.items.size(); ++i) {
      const EvaluationItem& item = entry.set.items[i];
      const auto& reference = entry.references[i];
      const auto reference_length = entry.reference_length(i);
      const auto line = [&](const std::string& solver, double length, double seconds, const PurityHistogram& orders,
                            const std::string& bound, const std::optional<double>& ceil_length) {
        const auto gap = reference_length ? std::optional(length / *reference_length - 1) : std::nullopt;
        csv += fmt::format("{},{},{},{},{:.10g},{},{},{:.6f},{},{},{},{}\n", csv_field(entry.set.name),
                           csv_field(item.name), item.nodes, csv_field(solver), length, number(reference_length),
                           gap ? fmt::format("{:.8f}", *gap) : "", seconds, purity_fields(orders), bound,
                           number(item.published), number(ceil_length));
      };
      if (reference) {
        line(fmt::format("reference ({})", reference->method), reference->length, reference->seconds, reference->orders,
             fmt::format("{:.10g},{}", reference->bound, reference->bound_is_proven ? 1 : 0), {});
      }
      for (std::size_t k = 0; k < solvers.size(); ++k) {
        const auto& solved = entry.solutions[k][i];
        if (solved) line(solvers[k].name, solved->length, solved->seconds, solved->orders, ",", solved->ceil_length);
      }
    }
  }
  return csv;
}

std::string types_csv(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  std::string csv = "set,solver,instances,gap,gap_low,gap_high,length,seconds,prop_0,apo_all,apo_non_0,ceil_gap\n";
  for (const SummaryRow& row : summarise(sets, solvers)) {
    if (row.num_items == 0) continue;
    csv += fmt::format("{},{},{},{:.8f},{:.8f},{:.8f},{:.8g},{:.6f},{},{}\n", csv_field(sets[row.set].set.name),
                       csv_field(solvers[row.solver].name), row.num_items, row.gap->mean, row.gap->low, row.gap->high,
                       row.mean_length, row.mean_seconds, purity_fields(row.orders),
                       row.ceil_gap ? fmt::format("{:.8f}", *row.ceil_gap) : "");
  }
  return csv;
}

}  // namespace puretour
