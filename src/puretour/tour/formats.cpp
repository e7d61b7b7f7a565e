// SPDX-License-Identifier: MIT
#include "puretour/tour/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/text.h"
#include "puretour/tour/array_samples.h"
#include "puretour/tour/text_scanner.h"
#include "puretour/tour/tsplib.h"

namespace puretour {
namespace {

struct NamedFormat {
  std::string_view name;
  FileFormat format;
};

constexpr std::array<NamedFormat, 4> kNames = {{{"tsplib", FileFormat::kTsplib},
                                                {"lines", FileFormat::kLines},
                                                {"npy", FileFormat::kNpy},
                                                {"npz", FileFormat::kNpz}}};
constexpr std::array<NamedFormat, 5> kExtensions = {{{".tsp", FileFormat::kTsplib},
                                                     {".txt", FileFormat::kLines},
                                                     {".lines", FileFormat::kLines},
                                                     {".npy", FileFormat::kNpy},
                                                     {".npz", FileFormat::kNpz}}};
constexpr const char* kFormatList = "tsplib (.tsp), lines (.txt, .lines), npy (.npy), npz (.npz)";

std::string source_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::vector<Sample> parse_samples(std::string_view content, const std::string& source, FileFormat format) {
  switch (format) {
    case FileFormat::kTsplib: {
      std::vector<Sample> samples;
      samples.push_back({parse_tsplib(content, source), std::nullopt});
      return samples;
    }
    case FileFormat::kNpy:
      return parse_npy_samples(content, source);
    case FileFormat::kNpz:
      return parse_npz_samples(content, source);
    case FileFormat::kLines:
      break;
  }
  throw InternalError("parse_samples: lines are read one by one");
}

std::unique_ptr<std::istream> open_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(fmt::format("{}: is a directory; give a file name", path));
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) throw InputError(fmt::format("{}: cannot read it: {}", path, std::strerror(errno)));
  return file;
}

std::string read_whole(std::istream& stream, const std::string& source) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string content;
  while (stream) {
    const std::size_t size_before = content.size();
    content.resize(size_before + kPiece);
    stream.read(content.data() + size_before, kPiece);
    content.resize(size_before + static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) throw InputError(fmt::format("{}: reading failed", source));
  return content;
}

void check_tours_can_be_held(FileFormat format, std::span<const Sample> samples) {
  if (format == FileFormat::kLines || format == FileFormat::kNpz) return;
  if (std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return s.tour.has_value(); })) {
    throw InputError(fmt::format("the format {} holds no tours; use lines or npz, or leave the tours out",
                                 file_format_name(format)));
  }
}

/// Errors do not name the file: the caller knows it.
void write_content(std::ostream& stream, FileFormat format, std::span<const Sample> samples, bool single_precision) {
  switch (format) {
    case FileFormat::kTsplib:
      if (samples.size() != 1) {
        throw InputError(
            fmt::format("a TSPLIB file holds one instance, not {}; use lines, npy or npz for many", samples.size()));
      }
      stream << format_tsplib(samples[0].instance);
      return;
    case FileFormat::kLines: {
      std::string line;
      for (const Sample& sample : samples) {
        line.clear();
        append_sample_line(line, sample);
        stream << line;
      }
      return;
    }
    case FileFormat::kNpy:
      stream << format_npy_samples(samples, single_precision);
      return;
    case FileFormat::kNpz:
      stream << format_npz_samples(samples, single_precision);
      return;
  }
  throw InternalError("write_content: unknown format");
}

}  // namespace

std::string_view file_format_name(FileFormat format) {
  for (const NamedFormat& entry : kNames) {
    if (entry.format == format) return entry.name;
  }
  throw InternalError("file_format_name: unknown format");
}

FileFormat parse_file_format(std::string_view name) {
  for (const NamedFormat& entry : kNames) {
    if (entry.name == name) return entry.format;
  }
  throw InputError(fmt::format("unknown file format {}; known are {}", quote_input(name), kFormatList));
}

std::optional<FileFormat> file_format_of_path(std::string_view path) {
  std::string lower(path);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const NamedFormat& entry : kExtensions) {
    if (lower.ends_with(entry.name)) return entry.format;
  }
  return std::nullopt;
}

FileFormat file_format_of_content(std::string_view content, const std::string& source) {
  if (content.starts_with("\x93NUMPY")) return FileFormat::kNpy;
  if (content.starts_with("PK\x03\x04")) return FileFormat::kNpz;
  TextScanner scanner(content, source);
  if (scanner.at_text_end()) scanner.fail("the file is empty");
  if (scanner.at_number()) return FileFormat::kLines;
  const std::string_view token = scanner.peek_token();
  // A TSPLIB file begins with a keyword, possibly after a byte order mark or a '#' comment.
  if (token.starts_with("\xEF\xBB\xBF") || token.starts_with('#')) return FileFormat::kTsplib;
  const bool is_keyword =
      std::all_of(token.begin(), token.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || c == ':'; });
  if (is_keyword) return FileFormat::kTsplib;
  scanner.fail(fmt::format("begins with {}: no format that is known; name it if it is one of {}", quote_input(token),
                           kFormatList));
}

SampleReader::SampleReader(const std::string& path, std::optional<FileFormat> format) {
  const std::string source = source_name(path);
  if (path.ends_with(".tour") && !format) {
    throw InputError(
        fmt::format("{}: a tour file holds no instance; give the .tsp file, and this one as its tour", path));
  }
  if (!format) format = file_format_of_path(path);
  if (path != "-") owned_stream_ = open_file(path);
  std::istream& stream = path == "-" ? std::cin : *owned_stream_;
  // A number at the beginning is enough to know lines, and these can then be read one by one even from a pipe.
  if (!format) {
    const auto first = stream.peek();
    const char c = std::istream::traits_type::to_char_type(first);
    if (first != std::istream::traits_type::eof() && TextScanner({&c, 1}, source).at_number()) {
      format = FileFormat::kLines;
    }
  }
  if (format == FileFormat::kLines) {
    format_ = *format;
    lines_.emplace(stream, source);
    return;
  }
  std::string content = read_whole(stream, source);
  format_ = format ? *format : file_format_of_content(content, source);
  if (format_ == FileFormat::kLines) {
    owned_stream_ = std::make_unique<std::istringstream>(std::move(content));
    lines_.emplace(*owned_stream_, source);
  } else {
    samples_ = parse_samples(content, source, format_);
  }
}

SampleReader::~SampleReader() = default;

std::optional<Sample> SampleReader::next() {
  if (lines_) return lines_->next();
  if (num_given_ == samples_.size()) return std::nullopt;
  return std::move(samples_[num_given_++]);
}

std::vector<Sample> read_samples(const std::string& path, std::optional<FileFormat> format) {
  SampleReader reader(path, format);
  std::vector<Sample> samples;
  while (std::optional<Sample> sample = reader.next()) samples.push_back(*std::move(sample));
  if (samples.empty()) throw InputError(fmt::format("{}:1: the file is empty; expected instances", source_name(path)));
  return samples;
}

void write_samples(const std::string& path, std::optional<FileFormat> format, std::span<const Sample> samples,
                   const WriteOptions& options) {
  if (!format) format = file_format_of_path(path);
  if (!format) {
    throw InputError(fmt::format("{}: the name does not tell the format; name one of {}", path, kFormatList));
  }
  if (samples.empty()) throw InputError(fmt::format("{}: there are no instances to write", path));
  OutputFile file(path);
  try {
    check_tours_can_be_held(*format, samples);
    write_content(file.stream(), *format, samples, options.single_precision);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", path, error.what()));
  }
  file.commit();
}

Tour read_tour(const std::string& path, std::optional<std::size_t> expected_nodes) {
  return parse_tsplib_tour(read_file(path), source_name(path), expected_nodes);
}

void write_tour(const std::string& path, const Tour& tour, std::string_view name, std::optional<double> length) {
  write_file(path, format_tsplib_tour(tour, name, length));
}

}  // namespace puretour
