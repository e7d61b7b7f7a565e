// What the tests of all verbs share: the real program in an empty folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "puretour/base/files.h"
#include "support/run_command.h"

namespace puretour::test {

class CommandLine : public testing::Test {
 protected:
  CommandLine() : folder_(std::filesystem::temp_directory_path() / fmt::format("puretour_cli_test.{}", getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~CommandLine() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] CommandResult puretour(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), PURETOUR_COMMAND);
    return run_command(arguments, input, folder_);
  }

  /// A line for the shell, in which `puretour` is the program.
  [[nodiscard]] CommandResult shell(const std::string& line) const {
    const std::string path = std::filesystem::path(PURETOUR_COMMAND).parent_path().string();
    return run_command({"/bin/sh", "-c", fmt::format("PATH='{}':$PATH; {}", path, line)}, "", folder_);
  }

  /// The standard output of a call that must succeed without a word on standard error.
  std::string output(const std::vector<std::string>& arguments, const std::string& input = "") const {
    const CommandResult result = puretour(arguments, input);
    EXPECT_EQ(result.exit_code, 0) << fmt::format("{}\n", fmt::join(arguments, " ")) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  [[nodiscard]] nlohmann::json json(const std::vector<std::string>& arguments, const std::string& input = "") const {
    return nlohmann::json::parse(output(arguments, input));
  }

  /// The call must end with code 2 and one line that contains `message` (and perhaps the hint at the help), print
  /// nothing else, and leave every file as it was.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& message,
                      const std::string& input = "") const {
    SCOPED_TRACE(fmt::format("puretour {}", fmt::join(arguments, " ")));
    const auto before = files();
    const CommandResult result = puretour(arguments, input);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("puretour: ")) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_TRUE(result.err.ends_with('\n')) << result.err;
    const std::string rest = result.err.substr(std::min(result.err.find('\n') + 1, result.err.size()));
    const bool is_hint = rest.starts_with("Say \"puretour ") && std::count(rest.begin(), rest.end(), '\n') == 1;
    EXPECT_TRUE(rest.empty() || is_hint) << result.err;
    EXPECT_EQ(files(), before);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& content) const { write_file(path(name), content); }
  [[nodiscard]] std::string read(const std::string& name) const { return read_file(path(name)); }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  /// Name and content of everything in the folder.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      result[name] = entry.is_directory() ? "(folder)" : read(name);
    }
    return result;
  }

  void make_folder(const std::string& name) const { std::filesystem::create_directory(folder_ / name); }

  // The example of five nodes that is worked out by hand in tests/purity/pupo_test.cpp, with its tour.
  static constexpr const char* kHandPoints = "0 0 4 0 2 1 2 -3 7 1";
  static constexpr const char* kHandLine = "0 0 4 0 2 1 2 -3 7 1 output 1 3 2 5 4 1\n";
  static constexpr const char* kHandTsp =
      "NAME: hand\nTYPE: TSP\nDIMENSION: 5\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
      "1 0 0\n2 4 0\n3 2 1\n4 2 -3\n5 7 1\nEOF\n";
  static constexpr const char* kHandTour =
      "NAME: hand\nTYPE: TOUR\nDIMENSION: 5\nTOUR_SECTION\n1\n3\n2\n5\n4\n-1\nEOF\n";
  static constexpr const char* kExplicitTsp =
      "NAME: weights\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
      "EDGE_WEIGHT_SECTION\n0 1 2\n1 0 3\n2 3 0\nEOF\n";

 private:
  std::filesystem::path folder_;
};

}  // namespace puretour::test
