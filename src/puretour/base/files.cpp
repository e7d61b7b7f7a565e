// SPDX-License-Identifier: MIT
#include "puretour/base/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "puretour/base/error.h"

namespace puretour {
namespace {

// `error` is what the system says, 0 if that is not known any more.
[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw InputError(
      fmt::format("{}: could not write everything: {}", path, error != 0 ? std::strerror(error) : "is the disk full?"));
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    stream_ = std::make_unique<std::ostringstream>();
    return;
  }
  if (path_.empty()) throw InputError("output file: the name is empty; give a path, or - for standard output");
  if (std::filesystem::is_directory(path_))
    throw InputError(fmt::format("{}: is a directory; give a file name", path_));
  temporary_path_ = fmt::format("{}.tmp.{}", path_, getpid());
  auto file = std::make_unique<std::ofstream>(temporary_path_, std::ios::binary | std::ios::trunc);
  if (!*file) throw InputError(fmt::format("{}: cannot write there: {}", path_, std::strerror(errno)));
  stream_ = std::move(file);
}

OutputFile::~OutputFile() {
  if (committed_ || temporary_path_.empty()) return;
  stream_.reset();
  std::error_code ignored;
  std::filesystem::remove(temporary_path_, ignored);
}

void OutputFile::commit() {
  if (path_ == "-") {
    std::cout << static_cast<std::ostringstream&>(*stream_).view() << std::flush;
    if (!std::cout) throw InputError("standard output: could not write everything");
    committed_ = true;
    return;
  }
  auto& file = static_cast<std::ofstream&>(*stream_);
  if (!file) fail_to_write(path_, 0);
  errno = 0;
  file.close();
  if (!file) fail_to_write(path_, errno);
  std::error_code error;
  std::filesystem::rename(temporary_path_, path_, error);
  if (error) throw InputError(fmt::format("{}: cannot put the finished file there: {}", path_, error.message()));
  committed_ = true;
}

void write_file(const std::string& path, const std::string& content) {
  OutputFile file(path);
  errno = 0;
  file.stream() << content;
  if (!file.stream()) fail_to_write(path, errno);
  file.commit();
}

std::string read_file(const std::string& path) {
  if (path == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  if (std::filesystem::is_directory(path)) throw InputError(fmt::format("{}: is a directory; give a file name", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot read it: {}", path, std::strerror(errno)));
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) throw InputError(fmt::format("{}: reading failed: {}", path, std::strerror(errno)));
  return std::move(content).str();
}

}  // namespace puretour
