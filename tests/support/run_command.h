// Runs a program as a user does, and keeps what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace puretour::test {

struct CommandResult {
  int exit_code = 0;  // 128 + number of the signal that ended it, as shells say it
  std::string out;
  std::string err;
};

/// Runs words[0] with the other words as arguments in `folder`. Standard input and output are files, not pipes, so that
/// neither side waits for the other.
inline CommandResult run_command(const std::vector<std::string>& words, const std::string& input,
                                 const std::filesystem::path& folder) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const auto temporary = [] {
    File file(std::tmpfile(), &std::fclose);
    if (!file) throw std::runtime_error("cannot make a temporary file");
    return file;
  };
  const auto content = [](std::FILE* file) {
    std::string text;
    std::rewind(file);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    return text;
  };
  const File in = temporary();
  const File out = temporary();
  const File err = temporary();
  std::fwrite(input.data(), 1, input.size(), in.get());
  std::rewind(in.get());

  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start " + words[0]);
  if (child == 0) {
    constexpr int kNotStarted = 127;
    if (dup2(fileno(in.get()), STDIN_FILENO) < 0 || dup2(fileno(out.get()), STDOUT_FILENO) < 0 ||
        dup2(fileno(err.get()), STDERR_FILENO) < 0 || chdir(folder.c_str()) != 0) {
      _exit(kNotStarted);
    }
    execv(arguments[0], arguments.data());
    _exit(kNotStarted);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("lost " + words[0]);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out.get()), content(err.get())};
}

}  // namespace puretour::test
