// `puretour models`: trained networks in files.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/sha256.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"
#include "puretour/models/checkpoint.h"
#include "puretour/models/import.h"

namespace puretour::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string format;
  std::string input;
  std::string output;
  double tanh_clip = AmConfig{}.tanh_clip;
  bool json = false;
};

nlohmann::ordered_json describe(const std::string& path) {
  const std::string bytes = read_file(path);
  const Checkpoint checkpoint = parse_checkpoint(bytes, path);
  return {{"file", path},
          {"architecture", std::string(architecture_name(checkpoint.config))},
          {"parameters", num_parameters(checkpoint.config)},
          {"bytes", bytes.size()},
          {"sha256", sha256_hex(bytes)},
          {"config", nlohmann::ordered_json::parse(model_config_text(checkpoint.config))},
          {"notes", checkpoint.notes}};
}

// The files themselves, and the .safetensors files of folders in the order of their names.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path().string());
    }
    if (found.empty()) throw InputError(fmt::format("{}: there is no .safetensors file in this folder", path));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

void list(const Options& options) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  Table table({"file", "architecture", "parameters", "bytes", "status"});
  for (const std::string& file : files_of(options.paths)) {
    try {
      all.push_back(describe(file));
      table.add({file, all.back()["architecture"], fmt::format("{}", all.back()["parameters"].get<std::size_t>()),
                 fmt::format("{}", all.back()["bytes"].get<std::size_t>()), "ok"});
    } catch (const ModelError& error) {
      // A list goes on; "verify" is the one that fails.
      all.push_back({{"file", file}, {"error", error.what()}});
      table.add({file, "-", "-", fmt::format("{}", std::filesystem::file_size(file)), "unusable"});
    }
  }
  options.json ? print_json(all) : print(table.text());
}

void show(const Options& options) {
  nlohmann::ordered_json entry = describe(options.input);
  const Checkpoint checkpoint = read_checkpoint(options.input);
  entry["tensors"] = nlohmann::ordered_json::array();
  Table table({"tensor", "shape"});
  for (const WeightSpec& spec : weight_specs(checkpoint.config)) {
    entry["tensors"].push_back({{"name", spec.name}, {"shape", spec.shape}});
    table.add({spec.name, shape_text(spec.shape)});
  }
  if (options.json) {
    print_json(entry);
    return;
  }
  std::string text =
      fmt::format("{}: {}, {} parameters, sha256 {}\n", options.input, entry["architecture"].get<std::string>(),
                  entry["parameters"].get<std::size_t>(), entry["sha256"].get<std::string>());
  for (const auto& [key, value] : entry["config"].items()) text += fmt::format("  {}: {}\n", key, value.dump());
  for (const auto& [key, note] : checkpoint.notes) text += fmt::format("  {}: {}\n", key, note);
  print(text + '\n' + table.text());
}

void verify(const Options& options) {
  std::vector<std::string> bad;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& file : files_of(options.paths)) {
    try {
      all.push_back(describe(file));
      text += fmt::format("ok   {}  {}  {} parameters\n", file, all.back()["architecture"].get<std::string>(),
                          all.back()["parameters"].get<std::size_t>());
    } catch (const ModelError& error) {
      bad.emplace_back(error.what());
      all.push_back({{"file", file}, {"error", error.what()}});
      text += fmt::format("BAD  {}\n", error.what());
    }
  }
  options.json ? print_json(all) : print(text);
  if (bad.empty()) return;
  throw ModelError(bad.size() == 1 ? bad[0] : fmt::format("{} of {} files are unusable", bad.size(), all.size()));
}

void import(const Options& options) {
  const Checkpoint checkpoint = import_kool(read_file(options.input), options.input, options.tanh_clip);
  write_file(options.output, format_checkpoint(checkpoint));
}

CLI::App* add_action(CLI::App& verb, const std::string& name, const std::string& description) {
  CLI::App* action = verb.add_subcommand(name, description);
  action->group("Actions");
  return action;
}

}  // namespace

void add_models(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("models", "List, show, verify and import trained networks");
  verb->require_subcommand(1);
  verb->get_formatter()->label("SUBCOMMAND", "ACTION");

  CLI::App* list_action = add_action(*verb, "list", "One line for each checkpoint");
  list_action->add_option("PATH", options->paths, "Checkpoints, or folders of them")->required();
  add_json_flag(*list_action, options->json);
  list_action->callback([options] { list(*options); });

  CLI::App* show_action = add_action(*verb, "show", "Configuration, origin and tensors of a checkpoint");
  show_action->add_option("FILE", options->input, "Checkpoint")->required();
  add_json_flag(*show_action, options->json);
  show_action->callback([options] { show(*options); });

  CLI::App* verify_action = add_action(*verb, "verify", "Check that files are whole, unaltered and usable");
  verify_action->add_option("PATH", options->paths, "Checkpoints, or folders of them")->required();
  add_json_flag(*verify_action, options->json);
  verify_action->callback([options] { verify(*options); });

  CLI::App* import_action = add_action(*verb, "import", "Make a checkpoint from published weights");
  import_action->add_option("FILE", options->input, "File to import; nothing in it is executed")->required();
  import_action
      ->add_option("--format", options->format,
                   "Whose weights: kool (attention-learn-to-route, legacy .pt or .safetensors)")
      ->required()
      ->check(CLI::IsMember({"kool"}));
  import_action->add_option("-o,--output", options->output, "Checkpoint to write (.safetensors)")->required();
  import_action->add_option("--tanh-clip", options->tanh_clip, "Clip of the scores, which the file does not tell")
      ->check(positive_number())
      ->capture_default_str();
  import_action->callback([options] { import(*options); });

  verb->footer(
      "\nCheckpoints are safetensors files with the configuration and a checksum in their metadata; see "
      "docs/models.md.\n"
      "\nExamples:\n  puretour models import --format kool epoch-99.pt -o am.safetensors\n"
      "  puretour models show am.safetensors\n"
      "  puretour models verify models/");
}

}  // namespace puretour::cli
