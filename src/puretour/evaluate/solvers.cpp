// SPDX-License-Identifier: MIT
#include "puretour/evaluate/solvers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/text.h"
#include "puretour/infer/neural_solver.h"

namespace puretour {

namespace fs = std::filesystem;

std::string augmentation_for(const std::string& augmentation, std::size_t nodes) {
  if (augmentation != "by-size") return augmentation;
  return nodes <= 200 ? "mix:64" : nodes <= 1000 ? "mix:32" : nodes <= 5000 ? "mix:16" : "mix:8";
}

EvaluatedSolver classical_solver(const std::string& name) {
  const std::shared_ptr<const Solver> solver = make_solver(name);
  return {name, "solver " + name, {}, [solver](std::size_t) { return std::shared_ptr<const Solver>(solver); }};
}

EvaluatedSolver network_solver(const std::string& path, const NetworkDecoding& decoding) {
  const std::string bytes = read_file(path);
  const auto checkpoint = std::make_shared<Checkpoint>(parse_checkpoint(bytes, path));
  NeuralSettings settings;
  settings.decoding = Decoding::parse(decoding.decoding);
  settings.precision = kernels::parse_precision(decoding.precision);
  if (decoding.augmentation != "by-size") Augmentation::parse(decoding.augmentation);  // a bad one is found at once
  EvaluatedSolver solver;
  solver.name = fs::path(path).stem().string();
  solver.model = make_model_card(*checkpoint, bytes, solver.name);
  solver.identity = fmt::format("network {}, {}, augmentation {}", solver.model->sha256, settings.decoding.text(),
                                decoding.augmentation);
  if (settings.precision != kernels::Precision::kFloat) solver.identity += ", " + decoding.precision;
  solver.for_nodes = [=](std::size_t nodes) {
    NeuralSettings for_size = settings;
    for_size.augmentation = Augmentation::parse(augmentation_for(decoding.augmentation, nodes));
    return std::shared_ptr<const Solver>(make_neural_solver(*checkpoint, for_size));
  };
  return solver;
}

std::vector<std::string> model_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      if (!fs::exists(path)) throw InputError(fmt::format("{}: there is no such file or folder", quote_input(path)));
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace puretour
