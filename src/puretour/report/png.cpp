// SPDX-License-Identifier: MIT
#include "puretour/report/png.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "puretour/base/error.h"

namespace puretour {
namespace {

// A path that begins with a dash would be taken for an option.
std::string as_operand(const std::string& path) {
  return path.starts_with('-') ? "./" + path : path;
}

}  // namespace

bool svg_to_png(const std::string& svg_path, const std::string& png_path, const std::string& program) {
  const std::string temporary = fmt::format("{}.tmp.{}", as_operand(png_path), getpid());
  std::vector<std::string> words = {program, "--zoom=2", "--output=" + temporary, as_operand(svg_path)};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  // Its complaints would stand among ours; what went wrong is told by the wait status.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return false;
  if (error != 0) throw InputError(fmt::format("{}: cannot start it: {}", program, std::strerror(error)));

  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::error_code failure;
  if (status == 0) {
    std::filesystem::rename(temporary, png_path, failure);
    if (!failure) return true;
  }
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  throw InputError(fmt::format("{}: cannot make it from {} with {} (wait status {}{}{}); is the folder writable?",
                               png_path, svg_path, program, status, failure ? ", " : "", failure.message()));
}

}  // namespace puretour
