// Data sets as text, one instance per line: "x1 y1 x2 y2 ... output 1 5 ... 1".
// SPDX-License-Identifier: MIT
#pragma once

#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "puretour/tour/sample.h"

namespace puretour {

/// The sample in one line: coordinates, then optionally the word "output" and the tour, 1-based, with or without a
/// repeat of its first node at the end. Points may also be given as "x,y x,y ...". The metric is kEuclidean.
/// Throws InputError "SOURCE:LINE: ...".
Sample parse_sample_line(std::string_view line, const std::string& source, std::size_t line_number = 1);

/// Appends the line of a sample, ended by '\n'; the first node of the tour is repeated at its end, as all programs of
/// the field write it. Only coordinates are kept, see require_planar_points.
void append_sample_line(std::string& out, const Sample& sample);

/// Reads a text of samples line by line, so that its size is not limited by memory. Blank lines are passed over.
class LineReader {
 public:
  /// `stream` must outlive the reader; `source` is its name in messages.
  LineReader(std::istream& stream, std::string source) : stream_(stream), source_(std::move(source)) {}

  /// The next sample, or nothing at the end. Throws InputError "SOURCE:LINE: ...".
  std::optional<Sample> next();

 private:
  std::istream& stream_;
  std::string source_;
  std::string line_;
  std::size_t line_number_ = 0;
};

/// The points of an instance whose file format keeps coordinates only. The rounding rule of EUC_2D and its kin, and the
/// weights of an EXPLICIT instance with display points, are lost. Throws InputError without points or nodes, with
/// fixed edges, and for GEO, whose degrees and minutes are no coordinates of the plane.
std::span<const Point> require_planar_points(const Instance& instance, std::string_view format_name);

}  // namespace puretour
