// The program puretour-train, which `puretour train` becomes: see train.cpp for why it is one of its own.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <sstream>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/cli/common.h"
#include "puretour/cli/stop_signals.h"
#include "puretour/report/learning_curves.h"
#include "puretour/train/memory.h"
#include "puretour/train/training_run.h"

namespace puretour::cli {
namespace {

constexpr const char* kFooter =
    R"(Without --config, what no option names is as in the paper's recipe for the model, the number of nodes and the method.
A folder that holds the run already is gone on with: after Ctrl-C, a kill or a crash run it again (-o FOLDER is
enough), and the run ends with the same weights, bit by bit, as if it had never stopped.

Several processes train together, each with its share of the batch; normalisations over the batch see the share only:
  for r in 0 1; do puretour train -o runs/am --processes 2 --rank $r --rendezvous localhost:29500 & done

Examples:
  puretour train --config experiments/smoke.toml -o runs/smoke
  puretour train --config experiments/am50-teacher.toml -o runs/am50-teacher
  puretour train --model am --nodes 50 --method pupo --initial-weights runs/am50-teacher/model.safetensors -o runs/am50
  puretour train --plot runs/am50-vanilla runs/am50-pupo -o curves.svg
  puretour solve cities.tsp --model runs/smoke/model.safetensors)";

struct Options {
  std::string config;
  std::string output;
  std::map<std::string, std::string> fields;  // as given on the command line
  train::RunOptions run;
  std::uint64_t stop_after = 0;
  std::vector<std::string> plot;
  std::string against = "instances";
  bool print_config = false;
};

std::string option_name(const std::string& key) {
  std::string name = "--" + key;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// mpirun and its kin tell each process its number.
std::string environment_number(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return {};
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--config", options.config, "Recipe to begin with: lines of \"key = value\"");
  app.add_option("-o,--output", options.output, "Folder of the run; with --plot the SVG to write");
  for (const train::RecipeField& field : train::recipe_fields()) {
    app.add_option(option_name(field.key), options.fields[field.key], field.help)
        ->type_name("")
        ->take_last()
        ->group("Recipe");
  }
  options.run.train.threads = 0;
  add_threads_option(app, options.run.train.threads);
  add_isa_option(app);
  app.add_option("--device", options.run.train.device, "cpu, cuda or cuda:N")->capture_default_str();
  add_whole_number(app, "--checkpoint-steps", options.run.checkpoint_steps, "Steps between checkpoints", 1);
  app.add_option("--checkpoint-minutes", options.run.checkpoint_minutes,
                 "Minutes between checkpoints, if that is sooner")
      ->check(positive_number())
      ->capture_default_str();
  app.add_option("--stop-after", options.stop_after, "Pause after this step of the run")
      ->check(whole_number(1, ~0ULL >> 1));
  app.add_flag("--print-config", options.print_config, "Print the whole recipe and end");
  auto* plot = app.add_option("--plot", options.plot, "Draw the learning curves of these runs as SVG (-o FILE)");
  app.add_option("--against", options.against, "plot: against instances (seen) or minutes (of training)")
      ->check(CLI::IsMember({"instances", "minutes"}))
      ->capture_default_str()
      ->needs(plot);
  app.add_flag("-q,--quiet", options.run.quiet, "No progress line");
  add_whole_number(app, "--processes,--nodes-total", options.run.train.place.count, "Processes that train together", 1);
  add_whole_number(app, "--rank", options.run.train.place.rank, "Number of this process, from 0", 0);
  app.add_option("--rendezvous", options.run.train.place.rendezvous,
                 "Where processes meet: HOST:PORT of number 0, or file:PATH");
  if (const std::string count = environment_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
      !count.empty()) {
    options.run.train.place.count = std::atoi(count.c_str());
    options.run.train.place.rank =
        std::atoi(environment_number({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}).c_str());
  }
}

train::Recipe resolve_recipe(const Options& options) {
  const auto given = [&](const char* key) -> const std::string& { return options.fields.at(key); };
  const std::string of_folder = options.output.empty() ? "" : options.output + "/recipe.toml";
  train::Recipe recipe;
  if (!options.config.empty()) {
    recipe = train::parse_recipe(read_file(options.config), options.config);
  } else if (given("model").empty() && !of_folder.empty() && std::filesystem::exists(of_folder)) {
    recipe = train::parse_recipe(read_file(of_folder), of_folder);
  } else {
    if (given("model").empty()) throw InputError("train: say what to train, by --model or --config");
    // The three that decide the rest.
    for (const train::RecipeField& field : train::recipe_fields()) {
      if (field.key != "model" && field.key != "nodes" && field.key != "method") continue;
      if (!given(field.key.c_str()).empty()) set_field(recipe, field, given(field.key.c_str()), option_name(field.key));
    }
    recipe = train::paper_recipe(recipe.model, recipe.nodes, recipe.method);
  }
  for (const train::RecipeField& field : train::recipe_fields()) {
    const std::string& text = options.fields.at(field.key);
    if (!text.empty()) set_field(recipe, field, text, option_name(field.key));
  }
  train::check_recipe(recipe);
  return recipe;
}

void plot(const Options& options) {
  std::vector<LearningCurve> curves;
  for (const std::string& run : options.plot) {
    const std::string log = (std::filesystem::path(run) / "log.jsonl").string();
    std::filesystem::path folder(run);
    if (!folder.has_filename()) folder = folder.parent_path();
    curves.push_back(parse_learning_curve(read_file(log), folder.filename().string(), log));
    const std::string timing = (std::filesystem::path(run) / "timing.jsonl").string();
    if (options.against == "minutes") add_minutes(curves.back(), read_file(timing), timing);
  }
  const std::string svg = options.against == "minutes" ? learning_times_svg(curves) : learning_curves_svg(curves);
  write_file(options.output.empty() ? "-" : options.output, svg);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Train a network: by a teacher (imitation of best completions), or by REINFORCE with or without purity weights",
      "puretour train"};
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kFooter);
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      std::ostringstream text;
      app.exit(error, text, text);
      print(text.str());
      return 0;
    }
    fmt::print(stderr, "puretour: {}\nSay \"puretour train --help\" for what is possible.\n", error.what());
    return 2;
  }
  if (!options.plot.empty()) {
    plot(options);
    return 0;
  }
  const train::Recipe recipe = resolve_recipe(options);
  if (options.print_config) {
    print(recipe_text(recipe));
    return 0;
  }
  if (options.output.empty()) throw InputError("train: say where to keep the run, by -o FOLDER");
  options.run.folder = options.output;
  if (options.stop_after > 0) options.run.stop_after = options.stop_after;
  options.run.stop_requested = &catch_stop_signals();
  const train::RunEnd end = run_training(recipe, options.run);
  if (!options.run.quiet) {
    fmt::print(stderr, "puretour: {}; the network is {}/model.safetensors\n",
               end == train::RunEnd::kFinished ? "finished" : "stopped, run it again to resume", options.output);
  }
  return 0;
}

}  // namespace
}  // namespace puretour::cli

int main(int argc, char** argv) {
  puretour::train::keep_freed_memory();
  try {
    return puretour::cli::run(argc, argv);
  } catch (const puretour::Error& error) {
    fmt::print(stderr, "puretour: {}\n", error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "puretour: out of memory; try a smaller batch\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "puretour: internal error: {}\n", error.what());
    return 1;
  }
}
