// What several verbs share: options with one meaning everywhere, and tables.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "puretour/tour/formats.h"

namespace puretour::cli {

/// --threads N, default 0: one per core.
void add_threads_option(CLI::App& verb, int& threads);

/// --json: one JSON document on standard output instead of a table.
void add_json_flag(CLI::App& verb, bool& json);

/// An option that takes the name of a file format.
void add_format_option(CLI::App& verb, const std::string& flag, std::optional<FileFormat>& format,
                       const std::string& description);

/// Rows of text in aligned columns: the first column to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Header, a rule, the rows; every line ends with a newline.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Prints a JSON document, indented, with a newline. Text that is not UTF-8 (names in old files) is repaired.
void print_json(const nlohmann::ordered_json& document);

/// A name for tables and messages: the instance's own, else "FILE #3".
std::string display_name(const Instance& instance, const std::string& path, std::size_t index, std::size_t count);

}  // namespace puretour::cli
