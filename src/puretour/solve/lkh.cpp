// SPDX-License-Identifier: MIT
#include "puretour/solve/lkh.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/text.h"
#include "puretour/solve/initial_tour.h"
#include "puretour/tour/formats.h"
#include "puretour/tour/tsplib.h"

namespace puretour {
namespace {

// A directory that disappears with its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "puretour_lkh_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw InputError(fmt::format("cannot create a temporary directory: {}", std::strerror(errno)));
    }
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// LKH wants whole-number costs: unrounded instances are scaled so that rounding does not matter.
Instance for_lkh(const Instance& instance) {
  if (instance.metric() != Metric::kEuclidean) return instance;
  const Box box = bounding_box(instance.points());
  const double side = std::max(box.width(), box.height());
  const double scale = side > 0 ? 1e7 / side : 1;
  std::vector<Point> points(instance.points().begin(), instance.points().end());
  for (Point& p : points) p = {(p.x - box.low.x) * scale, (p.y - box.low.y) * scale};
  return Instance(std::move(points), Metric::kEuc2d, "puretour").with_fixed_edges(instance.fixed_edges());
}

// Runs the program with its output in a file; ends it at the deadline. Returns the wait status.
int run(const std::string& binary, const std::string& argument, const std::string& log, const Deadline& deadline) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string program = binary;
  std::string parameter = argument;
  std::array<char*, 3> arguments = {program.data(), parameter.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, binary.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw InputError(
        fmt::format("{}: cannot start it: {}; name the program with --lkh-binary", binary, std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (deadline.expired()) {
      kill(child, SIGTERM);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto line_end = text.rfind('\n');
  return line_end == std::string::npos ? text : text.substr(line_end + 1);
}

}  // namespace

SolveResult solve_with_lkh(const Instance& instance, const SolveOptions& options, const std::string& binary) {
  const auto start = std::chrono::steady_clock::now();
  check_initial_tour(instance, options);
  const TemporaryDirectory directory;
  write_file(directory.file("problem.tsp"), format_tsplib(for_lkh(instance)));
  std::string parameters =
      fmt::format("PROBLEM_FILE = {}\nOUTPUT_TOUR_FILE = {}\nSEED = {}\nRUNS = 1\nTRACE_LEVEL = 0\n",
                  directory.file("problem.tsp"), directory.file("best.tour"), options.seed % 1000000 + 1);
  const double limit = options.deadline.seconds_left();
  if (std::isfinite(limit)) parameters += fmt::format("TIME_LIMIT = {:.3f}\n", limit);
  if (options.initial) {
    write_file(directory.file("initial.tour"), format_tsplib_tour(*options.initial, "initial", std::nullopt));
    parameters += fmt::format("INITIAL_TOUR_FILE = {}\n", directory.file("initial.tour"));
  }
  write_file(directory.file("run.par"), parameters);
  const int status = run(binary, directory.file("run.par"), directory.file("log.txt"), options.deadline);
  SolveResult result;
  result.method = "lkh";
  if (std::filesystem::exists(directory.file("best.tour"))) {
    result.tour = read_tour(directory.file("best.tour"), instance.size());
    check_contains_fixed_edges(result.tour.order(), instance.fixed_edges(), "the tour of " + binary);
  } else if (options.initial) {
    result.tour = *options.initial;  // stopped before it had a tour of its own
  } else {
    throw InputError(fmt::format("{}: left no tour (wait status {}); its last words: {}", binary, status,
                                 quote_input(last_line(read_file(directory.file("log.txt"))))));
  }
  result.length = tour_length(instance, result.tour);
  if (options.initial && tour_length(instance, *options.initial) < result.length) {
    result.tour = *options.initial;
    result.length = tour_length(instance, result.tour);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace puretour
