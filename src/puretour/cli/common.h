// What several verbs share: options with one meaning everywhere, and tables.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "puretour/tour/formats.h"

namespace puretour::cli {

/// Accepts decimal whole numbers of that range only. CLI11 itself would take -1 as the largest unsigned number.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

/// Accepts finite numbers above zero only.
CLI::Validator positive_number();

/// An option for a whole number with a default.
template <typename Number>
CLI::Option* add_whole_number(CLI::App& verb, const std::string& flags, Number& value, const std::string& description,
                              std::uint64_t low, std::uint64_t high = std::numeric_limits<Number>::max()) {
  return verb.add_option(flags, value, description)
      ->check(whole_number(low, high))
      ->type_name("N")
      ->capture_default_str();
}

/// --threads N, default 0: one per core.
void add_threads_option(CLI::App& verb, int& threads);
/// --isa, which has the effect of the environment variable PURETOUR_ISA.
void add_isa_option(CLI::App& verb);

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

/// Prints to standard output. Throws InputError if not everything can be written (disk full).
void print(const std::string& text);

/// Prints a JSON document, indented, with a newline. Text that is not UTF-8 (names in old files) is repaired.
void print_json(const nlohmann::ordered_json& document);

/// The format in which to write `path`: the one asked for with --to, else that of the extension; lines on standard
/// output. Throws InputError.
FileFormat output_format(const std::string& path, std::optional<FileFormat> to);

struct NewFile {
  std::string path;
  std::string content;
};

/// Writes several files ("-": standard output), all or none. Throws InputError, also if two have the same path.
void write_together(std::span<const NewFile> files);

/// Standard input can be read once only. Throws InputError if more than one path is "-".
void check_standard_input_is_used_once(std::span<const std::string> paths);

/// A name for tables and messages: the instance's own without control characters, else "FILE #3".
std::string display_name(const Instance& instance, const std::string& path, std::size_t index, std::size_t count);

}  // namespace puretour::cli
