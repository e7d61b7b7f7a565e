// SPDX-License-Identifier: MIT
#include "puretour/evaluate/record_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/files.h"

namespace puretour {

namespace fs = std::filesystem;

RecordFile::RecordFile(std::string path, const std::string& header,
                       const std::function<void(std::string_view, std::size_t)>& read)
    : path_(std::move(path)) {
  const fs::path folder = fs::path(path_).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(fmt::format("{}: cannot make this folder: {}", folder.string(), error.message()));
  if (!fs::exists(path_)) {
    write_file(path_, header + "\n");
    return;
  }
  const std::string text = read_file(path_);
  std::size_t begin = text.find('\n');
  if (begin == std::string::npos || text.compare(0, begin, header) != 0) {
    throw InputError(fmt::format("{}: holds results of another run ({}), not of this one ({}); use another folder",
                                 path_, text.substr(0, begin), header));
  }
  std::size_t line = 1;
  std::size_t whole_lines = ++begin;
  for (std::size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
    read(std::string_view(text).substr(begin, end - begin), ++line);
    begin = end + 1;
    whole_lines = begin;
  }
  if (whole_lines < text.size()) write_file(path_, text.substr(0, whole_lines));
}

void RecordFile::append(const std::string& record) {
  const std::lock_guard lock(mutex_);
  std::ofstream file(path_, std::ios::app);
  file << record << '\n' << std::flush;
  if (!file) throw InputError(fmt::format("{}: cannot write it; is the disk full?", path_));
}

}  // namespace puretour
