// A file of records, one per line, that survives a kill at any moment.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace puretour {

/// The first line says what the records are of; a file with another first line is refused. Records are on disk as soon
/// as append returns. A last line without an end, which a kill leaves, is dropped when the file is opened.
class RecordFile {
 public:
  /// Makes the file and its folder if they are missing; else calls `read` with each record and its line number. Throws
  /// InputError.
  RecordFile(std::string path, const std::string& header,
             const std::function<void(std::string_view record, std::size_t line)>& read);

  /// From any thread. The record holds no line end. Throws InputError if it cannot be written.
  void append(const std::string& record);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::mutex mutex_;
};

}  // namespace puretour
