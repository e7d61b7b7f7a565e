// Reads and writes files of instances and tours in every supported format; see docs/formats.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "puretour/tour/line_format.h"
#include "puretour/tour/sample.h"

namespace puretour {

enum class FileFormat {
  kTsplib,  // one instance in any metric, no tour
  kLines,   // text, one instance per line with or without its tour
  kNpy,     // NumPy array: points of instances of one size
  kNpz,     // NumPy archive: points of instances of one size, with or without tours
};

/// "tsplib", "lines", "npy", "npz".
std::string_view file_format_name(FileFormat format);

/// The format of that name; throws InputError that lists the names.
FileFormat parse_file_format(std::string_view name);

/// By the extension .tsp, .txt, .lines, .npy or .npz, in any case; nothing for another one.
std::optional<FileFormat> file_format_of_path(std::string_view path);

/// By the first bytes; throws InputError if they fit no format.
FileFormat file_format_of_content(std::string_view content, const std::string& source);

/// Gives the samples of a file one by one: lines are read as they are asked for, other formats at once.
class SampleReader {
 public:
  /// "-" is standard input. Without a format the extension decides, or else the content. Throws InputError.
  explicit SampleReader(const std::string& path, std::optional<FileFormat> format = std::nullopt);
  ~SampleReader();
  SampleReader(const SampleReader&) = delete;
  SampleReader& operator=(const SampleReader&) = delete;

  [[nodiscard]] FileFormat format() const { return format_; }

  /// The next sample, or nothing at the end. Throws InputError.
  std::optional<Sample> next();

 private:
  FileFormat format_ = FileFormat::kLines;
  std::unique_ptr<std::istream> owned_stream_;
  std::optional<LineReader> lines_;
  std::vector<Sample> samples_;  // all of a format that is read at once
  std::size_t num_given_ = 0;
};

/// All samples of a file, at least one. Throws InputError as SampleReader does.
std::vector<Sample> read_samples(const std::string& path, std::optional<FileFormat> format = std::nullopt);

struct WriteOptions {
  bool single_precision = false;  // .npy and .npz: points as <f4, rounded
};

/// Writes the samples to `path` ("-": standard output), whole or not at all. Without a format the extension decides.
/// Throws InputError if the format cannot hold them: several instances (tsplib), tours (tsplib, npy), different sizes
/// (npy, npz), no planar coordinates (all but tsplib).
void write_samples(const std::string& path, std::optional<FileFormat> format, std::span<const Sample> samples,
                   const WriteOptions& options = {});

/// A TSPLIB tour file ("-": standard input). Throws InputError, also if it has not `expected_nodes` nodes.
Tour read_tour(const std::string& path, std::optional<std::size_t> expected_nodes = std::nullopt);

/// Writes a TSPLIB tour file ("-": standard output) in normal form, whole or not at all.
void write_tour(const std::string& path, const Tour& tour, std::string_view name,
                std::optional<double> length = std::nullopt);

}  // namespace puretour
