// Files that appear whole or not at all.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <ostream>
#include <string>

namespace puretour {

/// Writes to PATH.tmp.<pid>, and renames to PATH on commit(); without commit nothing is left behind and an older PATH
/// stays untouched. The path "-" means standard output, which receives the content on commit().
class OutputFile {
 public:
  /// Throws InputError if the file cannot be created.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return *stream_; }

  /// Flushes, checks for errors (disk full) and renames. Throws InputError and leaves nothing if that fails.
  void commit();

 private:
  std::string path_;
  std::string temporary_path_;
  std::unique_ptr<std::ostream> stream_;
  bool committed_ = false;
};

/// Writes `content` to `path` atomically ("-": standard output).
void write_file(const std::string& path, const std::string& content);

/// The whole content of a file ("-": standard input). Throws InputError if it cannot be read or is a directory.
std::string read_file(const std::string& path);

}  // namespace puretour
