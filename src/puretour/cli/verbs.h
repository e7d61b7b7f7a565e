// The verbs of the command line: one function per verb, each in a file of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

namespace puretour::cli {

// Each adds its sub-command with options, help and an example; the work is done in the callback.
void add_generate(CLI::App& app);
void add_solve(CLI::App& app);
void add_purity(CLI::App& app);
void add_convert(CLI::App& app);
void add_models(CLI::App& app);
void add_info(CLI::App& app);
void add_law(CLI::App& app);
void add_train(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_report(CLI::App& app);
void add_reproduce(CLI::App& app);

/// Becomes the program puretour-train with these arguments, the first of which is the verb. Throws InputError if that
/// is not installed.
void run_train(char** arguments);

}  // namespace puretour::cli
