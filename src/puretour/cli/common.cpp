// SPDX-License-Identifier: MIT
#include "puretour/cli/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <set>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/isa.h"
#include "puretour/base/text.h"

namespace puretour::cli {

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && low <= value && value <= high) return std::string();
        return fmt::format("{} is not a whole number from {} to {}", quote_input(text), low, high);
      },
      "");
}

CLI::Validator positive_number() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && value > 0 && std::isfinite(value)) return std::string();
        return fmt::format("{} is not a number above 0", quote_input(text));
      },
      "");
}

void add_threads_option(CLI::App& verb, int& threads) {
  // More threads than any machine has cores are a slip of the finger, and could exhaust its memory.
  constexpr std::uint64_t kMaxThreads = 1024;
  add_whole_number(verb, "--threads", threads, "Threads to use; 0 is one per core. Results do not depend on it", 0,
                   kMaxThreads);
}

void add_isa_option(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--isa",
          [](const std::string& name) {
            setenv("PURETOUR_ISA", name.c_str(), 1);
            active_isa();  // a bad name is found at once
          },
          fmt::format("Vector instructions; default: the best of {}", known_isas()))
      ->type_name("NAME");
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

void print(const std::string& text) {
  write_file("-", text);
}

void print_json(const nlohmann::ordered_json& document) {
  print(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

FileFormat output_format(const std::string& path, std::optional<FileFormat> to) {
  if (to) return *to;
  if (path == "-") return FileFormat::kLines;
  if (const auto format = file_format_of_path(path)) return *format;
  throw InputError(fmt::format(
      "{}: the name does not end in .tsp, .txt, .lines, .npy or .npz; add --to tsplib, lines, npy or npz", path));
}

void write_together(std::span<const NewFile> files) {
  std::set<std::string> paths;
  for (const NewFile& file : files) {
    if (!paths.insert(file.path).second) {
      throw InputError(fmt::format("{}: two results cannot go to the same place; name another file for one of them",
                                   file.path == "-" ? "standard output" : file.path));
    }
  }
  std::deque<OutputFile> outputs;
  for (const NewFile& file : files) outputs.emplace_back(file.path).stream() << file.content;
  for (OutputFile& output : outputs) output.commit();
}

void check_standard_input_is_used_once(std::span<const std::string> paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    throw InputError("standard input (-) is named more than once, but can be read only once; use files");
  }
}

std::string display_name(const Instance& instance, const std::string& path, std::size_t index, std::size_t count) {
  if (instance.name().empty()) {
    const std::string file = path == "-" ? "stdin" : std::filesystem::path(path).filename().string();
    return count > 1 ? fmt::format("{} #{}", file, index + 1) : file;
  }
  std::string name = instance.name();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return name;
}

}  // namespace puretour::cli
