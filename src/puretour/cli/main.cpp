// The puretour command: finds the verb, runs it, and turns errors into one line and an exit code.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <exception>
#include <new>
#include <sstream>
#include <string_view>

#include "puretour/base/build_info.h"
#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  puretour generate --distribution clustered --nodes 200 --count 10 -o cities.txt
  puretour solve berlin52.tsp -o berlin52.tour
  puretour solve cities.txt --model am.safetensors --decode sample:100
  puretour purity berlin52.tsp --tour berlin52.tour --svg berlin52.svg
  puretour convert cities.txt cities.npz
  puretour law --scales 20,50 --instances 4 -o law
  puretour evaluate --models models --solvers greedy,2opt --data uniform-50:8 -o evaluation
  puretour report law evaluation -o report.html
  puretour reproduce --quick
  puretour train --config experiments/smoke.toml -o runs/smoke
  puretour models import --format kool epoch-99.pt -o am.safetensors
  puretour info berlin52.tsp

Files: TSPLIB .tsp and .tour, one instance per line .txt, NumPy .npy and .npz; - is standard input or output.
Exit codes: 0 done, 1 internal error, 2 bad input or option, 3 unusable model file,
  4 lost connection between training processes, 5 training that broke down.
Say "puretour VERB --help" for the options of a verb.)";

// What is wrong with the arguments, in one line.
std::string explain(const CLI::ParseError& error, const CLI::App& app, const CLI::App* verb) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const std::string first = app.remaining(true).front();
  if (first.starts_with('-')) return fmt::format("unknown option {}", puretour::quote_input(first));
  if (verb != nullptr) return fmt::format("unexpected argument {}", puretour::quote_input(first));
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands({})) names.push_back(known->get_name());
  return fmt::format("unknown verb {}; choose one of: {}", puretour::quote_input(first), fmt::join(names, ", "));
}

int run(int argc, char** argv) {
  if (argc >= 2 && std::string_view(argv[1]) == "train") puretour::cli::run_train(argv + 1);
  CLI::App app{"PureTour: the Purity Law of travelling-salesman tours. Measure it, train with it, solve with it.",
               "puretour"};
  app.set_version_flag("--version", puretour::build_info().version);
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  app.group("Verbs");  // the sub-commands inherit it
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.set_help_flag("-h,--help", "Print this help and exit");
  puretour::cli::add_generate(app);
  puretour::cli::add_solve(app);
  puretour::cli::add_purity(app);
  puretour::cli::add_convert(app);
  puretour::cli::add_law(app);
  puretour::cli::add_train(app);
  puretour::cli::add_evaluate(app);
  puretour::cli::add_report(app);
  puretour::cli::add_reproduce(app);
  puretour::cli::add_models(app);
  puretour::cli::add_info(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      puretour::cli::print(text.str());
      return 0;
    }
    const auto verbs = app.get_subcommands();
    const CLI::App* verb = verbs.empty() ? nullptr : verbs.front();
    fmt::print(stderr, "puretour: {}\nSay \"puretour {}--help\" for what is possible.\n", explain(error, app, verb),
               verb == nullptr ? "" : verb->get_name() + " ");
    return 2;
  }
  if (app.get_subcommands().empty()) puretour::cli::print(app.help());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const puretour::Error& error) {
    fmt::print(stderr, "puretour: {}\n", error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "puretour: out of memory; try a smaller input or fewer threads\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "puretour: internal error: {}\n", error.what());
    return 1;
  }
}
