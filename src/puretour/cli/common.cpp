// SPDX-License-Identifier: MIT
#include "puretour/cli/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace puretour::cli {

void add_threads_option(CLI::App& verb, int& threads) {
  verb.add_option("--threads", threads, "Threads to use; 0 is one per core. Results do not depend on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

void add_json_flag(CLI::App& verb, bool& json) {
  verb.add_flag("--json", json, "Print one JSON document instead of a table");
}

void add_format_option(CLI::App& verb, const std::string& flag, std::optional<FileFormat>& format,
                       const std::string& description) {
  verb.add_option_function<std::string>(
          flag, [&format](const std::string& name) { format = parse_file_format(name); },
          description + ": tsplib, lines, npy or npz")
      ->type_name("FORMAT");
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows_[r].size(); ++c) {
      line += c == 0 ? fmt::format("{:<{}}", rows_[r][c], widths[c]) : fmt::format("  {:>{}}", rows_[r][c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
    if (r == 0) {
      std::size_t total = 0;
      for (const std::size_t width : widths) total += width + 2;
      text += std::string(total - 2, '-') + '\n';
    }
  }
  return text;
}

void print_json(const nlohmann::ordered_json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string display_name(const Instance& instance, const std::string& path, std::size_t index, std::size_t count) {
  if (!instance.name().empty()) return instance.name();
  const std::string file = path == "-" ? "stdin" : std::filesystem::path(path).filename().string();
  return count > 1 ? fmt::format("{} #{}", file, index + 1) : file;
}

}  // namespace puretour::cli
