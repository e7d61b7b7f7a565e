// SPDX-License-Identifier: MIT
#include "puretour/tour/line_format.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/tour/text_scanner.h"

namespace puretour {
namespace {

constexpr std::string_view kTourMark = "output";

/// Points up to "output" or the end of the line.
std::vector<Point> take_points(TextScanner& scanner) {
  std::vector<Point> points;
  const bool has_commas = scanner.peek_token().find(',') != std::string_view::npos;
  while (!scanner.at_line_end() && scanner.peek_token() != kTourMark) {
    if (points.size() == kMaxNodes) scanner.fail(fmt::format("more than {} nodes in one line", kMaxNodes));
    Point point;
    if (has_commas) {
      const std::string_view token = scanner.take_token();
      const std::size_t comma = token.find(',');
      if (comma == std::string_view::npos || !parse_number(token.substr(0, comma), point.x) ||
          !parse_number(token.substr(comma + 1), point.y)) {
        scanner.fail(
            fmt::format("point {} is {}, not two finite numbers 'x,y'", points.size() + 1, quote_input(token)));
      }
    } else {
      point.x = scanner.take_number("a coordinate");
      if (scanner.at_line_end() || scanner.peek_token() == kTourMark) {
        scanner.fail(
            fmt::format("{} coordinates: the y of point {} is missing", 2 * points.size() + 1, points.size() + 1));
      }
      point.y = scanner.take_number("a coordinate");
    }
    points.push_back(point);
  }
  if (points.empty()) scanner.fail("no coordinates; expected 'x1 y1 x2 y2 ...'");
  return points;
}

/// The rest of the line: each of the n nodes once, and possibly the first one again.
Tour take_tour(TextScanner& scanner, std::size_t n) {
  std::vector<NodeId> order;
  std::vector<bool> is_visited(n);
  while (!scanner.at_line_end()) {
    const std::int64_t id = scanner.take_integer("a node of the tour");
    if (id < 1 || static_cast<std::uint64_t>(id) > n) {
      scanner.fail(fmt::format("node {} of the tour is {}; nodes are 1 to {}", order.size() + 1, id, n));
    }
    const auto node = static_cast<NodeId>(id - 1);
    if (order.size() == n) {
      if (node != order.front() || !scanner.at_line_end()) {
        scanner.fail(fmt::format("the tour goes on after all {} nodes; only its first node, {}, may follow", n,
                                 order.front() + 1));
      }
      break;
    }
    if (is_visited[static_cast<std::size_t>(node)]) {
      scanner.fail(fmt::format("node {} appears twice in the tour, the second time at position {} of {}", id,
                               order.size() + 1, n));
    }
    is_visited[static_cast<std::size_t>(node)] = true;
    order.push_back(node);
  }
  if (order.size() < n) scanner.fail(fmt::format("the tour has {} nodes, the instance {}", order.size(), n));
  return Tour(std::move(order));
}

}  // namespace

Sample parse_sample_line(std::string_view line, const std::string& source, std::size_t line_number) {
  TextScanner scanner(line, source, line_number);
  scanner.at_line_end();
  Sample sample;
  std::vector<Point> points = take_points(scanner);
  const std::size_t n = points.size();
  if (!scanner.at_line_end()) {
    scanner.take_token();
    sample.tour = take_tour(scanner, n);
  }
  if (!scanner.at_text_end()) scanner.fail("unexpected second line; give one line");
  sample.instance = Instance(std::move(points));
  return sample;
}

void append_sample_line(std::string& out, const Sample& sample) {
  const char* separator = "";
  for (const Point p : require_planar_points(sample.instance, "one-line text")) {
    out += separator;
    append_number(out, p.x);
    out += ' ';
    append_number(out, p.y);
    separator = " ";
  }
  if (sample.tour) {
    if (sample.tour->size() != sample.instance.size()) {
      throw InputError(fmt::format("tour has {} nodes, the instance {}", sample.tour->size(), sample.instance.size()));
    }
    out += ' ';
    out += kTourMark;
    for (const NodeId node : sample.tour->order()) {
      out += ' ';
      append_number(out, std::int64_t{node} + 1);
    }
    out += ' ';
    append_number(out, std::int64_t{(*sample.tour)[0]} + 1);
  }
  out += '\n';
}

std::optional<Sample> LineReader::next() {
  while (std::getline(stream_, line_)) {
    ++line_number_;
    if (!trimmed(line_).empty()) return parse_sample_line(line_, source_, line_number_);
  }
  if (stream_.bad()) throw InputError(fmt::format("{}:{}: reading failed", source_, line_number_ + 1));
  return std::nullopt;
}

std::span<const Point> require_planar_points(const Instance& instance, std::string_view format_name) {
  if (instance.size() == 0) {
    throw InputError(fmt::format("an instance without nodes cannot be written as {}", format_name));
  }
  const std::string name = instance.name().empty() ? "the instance" : instance.name();
  if (instance.metric() == Metric::kGeo) {
    throw InputError(fmt::format(
        "{} has GEO coordinates (degrees and minutes), which {} cannot hold; write it as tsplib", name, format_name));
  }
  if (!instance.has_points()) {
    throw InputError(fmt::format("{} has weights but no coordinates, and {} holds only coordinates; write it as tsplib",
                                 name, format_name));
  }
  if (!instance.fixed_edges().empty()) {
    throw InputError(
        fmt::format("{} has fixed edges, which {} cannot hold; write it as tsplib, or remove FIXED_EDGES_SECTION", name,
                    format_name));
  }
  return instance.points();
}

}  // namespace puretour
