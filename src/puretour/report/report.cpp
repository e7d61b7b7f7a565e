// SPDX-License-Identifier: MIT
#include "puretour/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/text.h"
#include "puretour/evaluate/model_card.h"
#include "puretour/law/paper_table.h"
#include "puretour/report/learning_curves.h"
#include "puretour/report/page_assets.h"
#include "puretour/report/paper_results.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kNoModel = "no model";

Json parsed(const std::string& text, const char* what) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: this is no JSON ({})", what, error.what()));
  }
}

// Results of `puretour law`; a wrong file is found here, not in somebody's browser.
Json parsed_law(const std::string& text) {
  Json law = parsed(text, "law.json");
  try {
    for (const Json& type : law.at("types")) {
      static_cast<void>(distribution_from_name(type.at("distribution").get<std::string>()));
      static_cast<void>(type.at("scale").get<std::size_t>() + type.at("histogram").size());
      if (!type.at("fit").is_null()) static_cast<void>(type.at("fit").at("alpha").get<double>());
    }
    static_cast<void>(law.at("types_compared").get<std::size_t>());
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("law.json: this is no result of puretour law ({})", error.what()));
  }
  return law;
}

Json parsed_evaluation(const std::string& text) {
  Json evaluation = parsed(text, "evaluate.json");
  try {
    if (evaluation.at("kind") != "puretour evaluation 1") throw InputError("evaluate.json: unknown version");
    for (const char* key : {"sets", "solvers", "results", "pairs", "pictures"}) {
      if (!evaluation.at(key).is_array()) throw InputError(fmt::format("evaluate.json: {} is no list", key));
    }
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("evaluate.json: this is no result of puretour evaluate ({})", error.what()));
  }
  return evaluation;
}

void add_folder(ReportInputs& inputs, const fs::path& folder) {
  const auto file = [&](const char* name) { return (folder / name).string(); };
  if (fs::exists(folder / "law.json")) inputs.law = read_file(file("law.json"));
  if (fs::exists(folder / "propositions.json")) inputs.propositions = read_file(file("propositions.json"));
  if (fs::exists(folder / "evaluate.json")) inputs.evaluations.push_back(read_file(file("evaluate.json")));
  if (fs::exists(folder / "recipe.toml") && fs::exists(folder / "timing.jsonl") && fs::exists(folder / "log.jsonl")) {
    inputs.runs.push_back({folder.filename().string(), read_file(file("recipe.toml")), read_file(file("log.jsonl")),
                           read_file(file("timing.jsonl"))});
  }
}

std::size_t num_inputs(const ReportInputs& inputs) {
  return (inputs.law ? 1 : 0) + (inputs.propositions ? 1 : 0) + inputs.evaluations.size() + inputs.runs.size();
}

// As in the recipes of experiments/.
constexpr std::size_t kCopiesOfInvit = 16;

// Copies of instances in the epoch whose minutes the paper gives.
double copies_of_paper_epoch(const std::string& architecture) {
  if (architecture == "am") return 2500.0 * 512;
  if (architecture == "pointerformer") return 1563.0 * 64;
  return 300.0 * 8 * kCopiesOfInvit;
}

std::optional<std::size_t> number_in_recipe(const TrainingRunFiles& run, std::string_view key) {
  const std::string text = recipe_value(run.recipe, key);
  std::size_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return {};
  return number;
}

// Of an instance of a run.
double copies_of_instance(const TrainingRunFiles& run, const std::string& architecture) {
  const std::size_t usual = architecture == "invit" ? kCopiesOfInvit : 1;
  return static_cast<double>(number_in_recipe(run, "copies").value_or(usual));
}

Json run_json(const TrainingRunFiles& run) {
  ModelCard card;
  card.architecture = recipe_value(run.recipe, "model");
  card.nodes = number_in_recipe(run, "nodes");
  // The last line: the rate of the whole run since it was started or continued.
  const std::size_t end = run.timing.find_last_not_of('\n');
  if (end == std::string::npos) throw InputError(fmt::format("{}/timing.jsonl: is empty", run.name));
  const std::size_t begin = run.timing.rfind('\n', end);
  double rate = 0;
  try {
    rate = Json::parse(run.timing.substr(begin == std::string::npos ? 0 : begin + 1, end - begin))
               .at("instances_per_second");
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}/timing.jsonl: its last line tells no speed ({})", run.name, error.what()));
  }
  const LearningCurve curve = parse_learning_curve(run.log, run.name, run.name + "/log.jsonl");
  std::vector<double> gaps;
  for (const double percent : curve.gap) gaps.push_back(percent / 100);
  return {{"name", run.name},
          {"slot", card.slot()},
          {"method", recipe_value(run.recipe, "method")},
          {"instances_per_second", rate},
          {"minutes_per_epoch",
           copies_of_paper_epoch(card.architecture) / (rate * copies_of_instance(run, card.architecture)) / 60},
          {"instances", curve.instances},
          {"gap", gaps}};
}

Json cell_json(const PaperCell& cell) {
  return {{"gap_percent", cell.gap_percent},     {"length", cell.length},   {"seconds", cell.seconds},
          {"prop0_percent", cell.prop0_percent}, {"apo_all", cell.apo_all}, {"apo_non0", cell.apo_non0}};
}

Json paper_json() {
  Json paper;
  for (const PaperFit& fit : paper_fits()) {
    paper["law"].push_back({{"scale", fit.scale},
                            {"distribution", std::string(distribution_name(fit.distribution))},
                            {"alpha", fit.alpha},
                            {"beta", fit.beta},
                            {"fit_error", fit.fit_error}});
  }
  for (const PaperResult& result : paper_results()) {
    paper["results"].push_back({{"distribution", std::string(distribution_name(result.distribution))},
                                {"scale", result.scale},
                                {"model", std::string(result.model)},
                                {"vanilla", cell_json(result.vanilla)},
                                {"pupo", cell_json(result.pupo)}});
  }
  for (const PaperTsplib& row : paper_tsplib()) {
    paper["tsplib"].push_back(
        {{"model", std::string(row.model)}, {"method", std::string(row.method)}, {"gap_percent", row.gap_percent}});
  }
  for (const PaperTraining& row : paper_training()) {
    paper["training"].push_back({{"model", std::string(row.model)},
                                 {"method", std::string(row.method)},
                                 {"norm", row.norm},
                                 {"minutes_per_epoch", row.minutes_per_epoch}});
  }
  for (const PaperRadar& row : paper_radar()) {
    paper["radar"].push_back(
        {{"model", std::string(row.model)}, {"method", std::string(row.method)}, {"gap_percent", row.gap_percent}});
  }
  return paper;
}

// Only what the page shows: half of the size.
Json slim_law(Json law) {
  for (Json& type : law.at("types")) {
    type.erase("log_fit");
    type.erase("mean_instance_fit_error");
  }
  return law;
}

Json slim_propositions(const Json& propositions) {
  return {{"program", propositions.at("program")},
          {"claims", propositions.at("claims")},
          {"smallest_counterexamples", propositions.at("smallest_counterexamples")}};
}

std::vector<Headline> law_headlines(const std::optional<std::string>& text) {
  if (!text) {
    const std::string none = "not measured";
    return {{"α and β of the law", none, "0.92, 2.63", ""},
            {"pure edges of optimal tours", none, "92 %", ""},
            {"types that agree with the paper", none, "", ""}};
  }
  const Json law = parsed_law(*text);
  double alpha = 0;
  double beta = 0;
  double paper_alpha = 0;
  double paper_beta = 0;
  std::size_t num_fits = 0;
  std::size_t num_paper = 0;
  std::uint64_t pure = 0;
  std::uint64_t edges = 0;
  for (const Json& type : law.at("types")) {
    for (std::size_t k = 0; k < type.at("histogram").size(); ++k) {
      const auto count = type["histogram"][k].get<std::uint64_t>();
      edges += count;
      if (k == 0) pure += count;
    }
    if (type.at("fit").is_null()) continue;
    ++num_fits;
    alpha += type["fit"].at("alpha").get<double>();
    beta += type["fit"].at("beta").get<double>();
    const PaperFit* paper =
        find_paper_fit(type.at("scale"), distribution_from_name(type.at("distribution").get<std::string>()));
    if (paper == nullptr) continue;
    ++num_paper;
    paper_alpha += paper->alpha;
    paper_beta += paper->beta;
  }
  const auto mean = [](double sum, std::size_t count) { return sum / static_cast<double>(count); };
  Headline fit{"α and β of the law", "no fit", "0.92, 2.63", fmt::format("mean of {} types", num_fits)};
  if (num_fits > 0) fit.value = fmt::format("{:.3f}, {:.2f}", mean(alpha, num_fits), mean(beta, num_fits));
  if (num_paper > 0) {
    fit.paper = fmt::format("{:.3f}, {:.2f}", mean(paper_alpha, num_paper), mean(paper_beta, num_paper));
  }
  Headline share{"pure edges of optimal tours", "no tours", "about 92 %", fmt::format("of {} edges", edges)};
  if (edges > 0) share.value = fmt::format("{:.1f} %", 100 * static_cast<double>(pure) / static_cast<double>(edges));
  const Headline agree{"types that agree with the paper",
                       fmt::format("{} of {}", law.at("types_within_3_standard_errors").get<std::size_t>(),
                                   law.at("types_compared").get<std::size_t>()),
                       "", "α and β within 3 standard errors"};
  return {fit, share, agree};
}

// The paper's smallest gap on uniform instances of 100 nodes.
std::string paper_best() {
  const PaperResult* best = nullptr;
  for (const PaperResult& result : paper_results()) {
    if (result.distribution != Distribution::kUniform || result.scale != 100) continue;
    if (best == nullptr || result.vanilla.gap_percent < best->vanilla.gap_percent) best = &result;
  }
  return fmt::format("{:.2f} % ({}, vanilla)", best->vanilla.gap_percent, best->model);
}

Headline best_network(std::span<const Json> evaluations) {
  Headline headline{"best network, uniform 100", kNoModel, paper_best(), ""};
  double least = 0;
  std::map<std::string, double> classical;
  for (const Json& evaluation : evaluations) {
    std::map<std::string, bool> is_model;
    for (const Json& solver : evaluation.at("solvers")) is_model[solver.at("name")] = solver.at("kind") == "model";
    for (const Json& result : evaluation.at("results")) {
      if (result.at("set") != "uniform-100" || !result.contains("gap")) continue;
      const double gap = result["gap"].at("mean");
      const std::string name = result.at("solver");
      if (!is_model[name]) {
        classical[name] = gap;
      } else if (headline.value == kNoModel || gap < least) {
        least = gap;
        headline.value = fmt::format("{:.2f} %", 100 * gap);
        headline.note = fmt::format("{}, {} instances", name, result.at("items").get<std::size_t>());
      }
    }
  }
  if (headline.value == kNoModel && classical.contains("2opt")) {
    headline.note = fmt::format("2-opt: {:.1f} %", 100 * classical["2opt"]);
  }
  return headline;
}

// Mean over all types of the gap with PUPO minus the gap without, in the paper.
std::string paper_change(const std::string& slot) {
  double sum = 0;
  std::size_t count = 0;
  for (const PaperResult& result : paper_results()) {
    if (result.model != slot) continue;
    sum += result.pupo.gap_percent - result.vanilla.gap_percent;
    ++count;
  }
  if (count == 0) return "";
  return fmt::format("{:+.2f} ({})", sum / static_cast<double>(count), slot);
}

// Of every kind of network that was trained with and without PUPO; of several evaluations the largest counts.
Headline pupo_change(std::span<const Json> evaluations) {
  std::map<std::string, Json> pairs;
  for (const Json& evaluation : evaluations) {
    for (const Json& pair : evaluation.at("pairs")) {
      if (!pair.at("set").is_null()) continue;
      Json& largest = pairs[pair.at("slot")];
      if (largest.is_null() || pair.at("items") > largest.at("items")) largest = pair;
    }
  }
  if (pairs.empty()) {
    return {"gap with PUPO minus without, points", kNoModel, paper_change("INViT-100"), "needs two networks of a kind"};
  }
  std::vector<std::string> values;
  std::vector<std::string> changes_of_paper;
  std::vector<std::string> notes;
  for (const auto& [slot, pair] : pairs) {
    const Json& difference = pair.at("difference");
    values.push_back(fmt::format("{:+.2f}", 100 * difference.at("mean").get<double>()));
    changes_of_paper.push_back(paper_change(slot));
    notes.push_back(fmt::format("{}, 95 %: {:+.2f} to {:+.2f}", slot, 100 * difference.at("low").get<double>(),
                                100 * difference.at("high").get<double>()));
  }
  return {"gap with PUPO minus without, points", fmt::format("{}", fmt::join(values, ", ")),
          fmt::format("{}", fmt::join(changes_of_paper, ", ")), fmt::format("{}", fmt::join(notes, "; "))};
}

std::vector<Json> parsed_evaluations(const ReportInputs& inputs) {
  std::vector<Json> evaluations;
  for (const std::string& text : inputs.evaluations) evaluations.push_back(parsed_evaluation(text));
  return evaluations;
}

// JSON inside HTML must not end the element that holds it.
std::string embedded(const Json& document) {
  const std::string text = document.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '<' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '!'))
      result.replace(result.size() - 1, 1, "\\u003c");
  }
  return result;
}

// Leaves out the picture with the most nodes. False if there is none.
bool drop_largest_picture(Json& evaluations) {
  Json* owner = nullptr;
  std::size_t largest = 0;
  std::size_t at = 0;
  for (Json& evaluation : evaluations) {
    Json& pictures = evaluation["pictures"];
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      const std::size_t size = pictures[i].at("points").size();
      if (owner != nullptr && size <= largest) continue;
      owner = &pictures;
      largest = size;
      at = i;
    }
  }
  if (owner == nullptr) return false;
  owner->erase(at);
  return true;
}

std::string page_of(const Json& document) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>PureTour report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n"
      "<noscript>This report draws its tables and figures with a script that is part of the page; please allow it to "
      "run.</noscript>\n<script id=\"report-data\" type=\"application/json\">{}</script>\n<script>\n{}</script>\n"
      "</body>\n</html>\n",
      page_style(), embedded(document), page_script());
}

}  // namespace

ReportInputs find_report_inputs(std::span<const std::string> paths) {
  ReportInputs inputs;
  for (const std::string& path : paths) {
    ReportInputs found;
    if (fs::is_directory(path)) {
      std::vector<fs::path> folders = {path};
      for (const auto& entry : fs::directory_iterator(path)) {
        if (entry.is_directory()) folders.push_back(entry.path());
      }
      std::sort(folders.begin() + 1, folders.end());
      for (const fs::path& folder : folders) add_folder(found, folder);
    } else {
      const std::string name = fs::path(path).filename().string();
      if (name == "law.json") found.law = read_file(path);
      if (name == "propositions.json") found.propositions = read_file(path);
      if (name == "evaluate.json") found.evaluations.push_back(read_file(path));
    }
    if (num_inputs(found) == 0) {
      throw InputError(
          fmt::format("{}: holds no results; give folders of puretour law, evaluate or train (law.json, "
                      "propositions.json, evaluate.json, or recipe.toml with its logs)",
                      quote_input(path)));
    }
    if (found.law) inputs.law = std::move(found.law);
    if (found.propositions) inputs.propositions = std::move(found.propositions);
    std::move(found.evaluations.begin(), found.evaluations.end(), std::back_inserter(inputs.evaluations));
    std::move(found.runs.begin(), found.runs.end(), std::back_inserter(inputs.runs));
  }
  return inputs;
}

std::vector<Headline> headlines(const ReportInputs& inputs) {
  const std::vector<Json> evaluations = parsed_evaluations(inputs);
  std::vector<Headline> result = law_headlines(inputs.law);
  result.push_back(best_network(evaluations));
  result.push_back(pupo_change(evaluations));
  return result;
}

std::string report_html(const ReportInputs& inputs, const ReportNotes& notes) {
  Json document = {{"program", notes.program}, {"created", notes.created}, {"machine", notes.machine}};
  document["headlines"] = Json::array();
  for (const Headline& headline : headlines(inputs)) {
    document["headlines"].push_back(
        {{"label", headline.label}, {"value", headline.value}, {"paper", headline.paper}, {"note", headline.note}});
  }
  document["paper"] = paper_json();
  document["law"] = inputs.law ? slim_law(parsed_law(*inputs.law)) : Json();
  document["propositions"] = Json();
  if (inputs.propositions) {
    try {
      document["propositions"] = slim_propositions(parsed(*inputs.propositions, "propositions.json"));
    } catch (const nlohmann::json::exception& error) {
      throw InputError(
          fmt::format("propositions.json: this is no result of puretour law --propositions ({})", error.what()));
    }
  }
  document["evaluations"] = parsed_evaluations(inputs);
  document["runs"] = Json::array();
  for (const TrainingRunFiles& run : inputs.runs) document["runs"].push_back(run_json(run));
  std::string page = page_of(document);
  while (page.size() > kMaxReportBytes) {
    if (!drop_largest_picture(document["evaluations"])) {
      throw InputError(fmt::format("the report would have {} bytes, more than {}; give fewer results", page.size(),
                                   kMaxReportBytes));
    }
    page = page_of(document);
  }
  return page;
}

}  // namespace puretour
