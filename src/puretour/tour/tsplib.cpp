// SPDX-License-Identifier: MIT
#include "puretour/tour/tsplib.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/tour/sample.h"
#include "puretour/tour/text_scanner.h"

namespace puretour {
namespace {

constexpr std::array kMetrics = {Metric::kEuc2d, Metric::kCeil2d, Metric::kMan2d,    Metric::kMax2d,
                                 Metric::kAtt,   Metric::kGeo,    Metric::kExplicit, Metric::kEuclidean};

// The keywords that a file of a symmetric TSP may use; those of other problems are named in kForeignKeywords.
constexpr std::array<std::string_view, 8> kValueKeywords = {"NAME",
                                                            "TYPE",
                                                            "COMMENT",
                                                            "DIMENSION",
                                                            "EDGE_WEIGHT_TYPE",
                                                            "EDGE_WEIGHT_FORMAT",
                                                            "NODE_COORD_TYPE",
                                                            "DISPLAY_DATA_TYPE"};
constexpr std::array<std::string_view, 4> kSections = {"NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION",
                                                       "DISPLAY_DATA_SECTION", "FIXED_EDGES_SECTION"};
constexpr std::array<std::string_view, 5> kForeignKeywords = {"CAPACITY", "DEPOT_SECTION", "DEMAND_SECTION",
                                                              "EDGE_DATA_FORMAT", "EDGE_DATA_SECTION"};

// Which weights of row i a format lists. Column formats are the row formats of the transposed (equal) matrix.
enum class MatrixPart { kFull, kUpper, kUpperDiagonal, kLower, kLowerDiagonal };

struct MatrixFormat {
  std::string_view name;
  MatrixPart part;
};

constexpr std::array<MatrixFormat, 9> kMatrixFormats = {{{"FULL_MATRIX", MatrixPart::kFull},
                                                         {"UPPER_ROW", MatrixPart::kUpper},
                                                         {"LOWER_ROW", MatrixPart::kLower},
                                                         {"UPPER_DIAG_ROW", MatrixPart::kUpperDiagonal},
                                                         {"LOWER_DIAG_ROW", MatrixPart::kLowerDiagonal},
                                                         {"UPPER_COL", MatrixPart::kLower},
                                                         {"LOWER_COL", MatrixPart::kUpper},
                                                         {"UPPER_DIAG_COL", MatrixPart::kLowerDiagonal},
                                                         {"LOWER_DIAG_COL", MatrixPart::kUpperDiagonal}}};

struct ColumnRange {
  std::size_t begin;
  std::size_t end;
};

ColumnRange listed_columns(MatrixPart part, std::size_t row, std::size_t n) {
  switch (part) {
    case MatrixPart::kFull:
      return {0, n};
    case MatrixPart::kUpper:
      return {row + 1, n};
    case MatrixPart::kUpperDiagonal:
      return {row, n};
    case MatrixPart::kLower:
      return {0, row};
    case MatrixPart::kLowerDiagonal:
      return {0, row + 1};
  }
  throw InternalError("listed_columns: unknown part of a matrix");
}

std::size_t num_listed_weights(MatrixPart part, std::size_t n) {
  switch (part) {
    case MatrixPart::kFull:
      return n * n;
    case MatrixPart::kUpper:
    case MatrixPart::kLower:
      return n * (n - 1) / 2;
    case MatrixPart::kUpperDiagonal:
    case MatrixPart::kLowerDiagonal:
      return n * (n + 1) / 2;
  }
  throw InternalError("num_listed_weights: unknown part of a matrix");
}

std::string supported_metrics() {
  std::vector<std::string_view> names;
  names.reserve(kMetrics.size());
  for (const Metric metric : kMetrics) names.push_back(metric_name(metric));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string supported_matrix_formats() {
  std::vector<std::string_view> names;
  names.reserve(kMatrixFormats.size());
  for (const MatrixFormat& format : kMatrixFormats) names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

template <std::size_t kSize>
bool contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A line "KEYWORD : value", or a section's heading.
struct KeywordLine {
  std::string_view keyword;
  std::string_view value;
  bool has_colon;
  std::size_t line;
};

KeywordLine take_keyword_line(TextScanner& scanner) {
  const std::size_t line_number = scanner.line();
  const std::string_view line = scanner.take_line();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {line, {}, false, line_number};
  return {trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)), true, line_number};
}

/// What .tsp and .tour files have in common: "KEYWORD : value" lines, then sections, then EOF.
class TsplibParser {
 public:
  TsplibParser(std::string_view text, const std::string& source) : scanner(without_byte_order_mark(text), source) {
    if (scanner.at_text_end()) scanner.fail("the file is empty; expected a TSPLIB file (NAME, TYPE, DIMENSION, ...)");
  }

 protected:
  ~TsplibParser() = default;

  struct Value {
    std::string_view text;
    std::size_t line;
  };

  /// Passes blank lines and lines that begin with '#'; false at EOF (checked to be the last line) or the text's end.
  bool next_keyword(KeywordLine& line) {
    do {
      if (scanner.at_text_end()) return false;
      line = take_keyword_line(scanner);
    } while (line.keyword.starts_with('#'));
    if (line.keyword != "EOF") return true;
    if (!scanner.at_text_end()) {
      scanner.fail(fmt::format("unexpected {} after EOF; remove it", quote_input(scanner.peek_token())));
    }
    return false;
  }

  /// Remembers a "KEYWORD : value" line; a second line must agree with the first. COMMENT may be repeated freely.
  void add_value(const KeywordLine& line) {
    if (!line.has_colon) {
      scanner.fail_at(line.line, fmt::format("no ':' after {0}; expected '{0}: value'", line.keyword));
    }
    if (line.keyword == "COMMENT") return;
    const auto [entry, is_new] = values_.try_emplace(line.keyword, Value{line.value, line.line});
    if (!is_new && entry->second.text != line.value) {
      scanner.fail_at(line.line,
                      fmt::format("{} is {} here but {} in line {}; keep one of them", line.keyword,
                                  quote_input(line.value), quote_input(entry->second.text), entry->second.line));
    }
  }

  [[nodiscard]] const Value* find_value(std::string_view keyword) const {
    const auto entry = values_.find(keyword);
    return entry == values_.end() ? nullptr : &entry->second;
  }

  /// The value of DIMENSION, or nothing if there is no such line yet.
  [[nodiscard]] std::optional<std::size_t> dimension() const {
    const Value* value = find_value("DIMENSION");
    if (value == nullptr) return std::nullopt;
    std::int64_t number = 0;
    if (!parse_integer(value->text, number)) {
      scanner.fail_at(value->line, fmt::format("DIMENSION is {}, not a whole number", quote_input(value->text)));
    }
    if (number < 1 || static_cast<std::uint64_t>(number) > kMaxNodes) {
      scanner.fail_at(value->line, fmt::format("DIMENSION is {}; supported are 1 to {} nodes", number, kMaxNodes));
    }
    return static_cast<std::size_t>(number);
  }

  TextScanner scanner;

 private:
  static std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
    if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
    return text;
  }

  std::map<std::string_view, Value> values_;
};

class InstanceParser : private TsplibParser {
 public:
  using TsplibParser::TsplibParser;

  Instance parse() {
    for (KeywordLine line; next_keyword(line);) {
      if (contains(kSections, line.keyword)) {
        read_section(line);
      } else {
        read_value(line);
      }
    }
    if (!dimension()) scanner.fail("DIMENSION is missing; add the line 'DIMENSION: <number of nodes>'");
    const Value* type = find_value("EDGE_WEIGHT_TYPE");
    if (type == nullptr) {
      scanner.fail(fmt::format("EDGE_WEIGHT_TYPE is missing; add one of {}", supported_metrics()));
    }
    const Metric metric = parse_metric(*type);
    const Value* name_value = find_value("NAME");
    std::string name(name_value == nullptr ? std::string_view() : name_value->text);
    if (metric == Metric::kExplicit) {
      if (!has_section("EDGE_WEIGHT_SECTION")) {
        scanner.fail_at(type->line, "EDGE_WEIGHT_TYPE is EXPLICIT, but there is no EDGE_WEIGHT_SECTION");
      }
      return with_fixed_edges(Instance(
          std::move(matrix_), std::move(display_points_.empty() ? points_ : display_points_), std::move(name)));
    }
    check_no_weights(*type);
    if (!has_section("NODE_COORD_SECTION")) {
      scanner.fail_at(type->line,
                      fmt::format("EDGE_WEIGHT_TYPE is {}, but there is no NODE_COORD_SECTION", type->text));
    }
    return with_fixed_edges(Instance(std::move(points_), metric, std::move(name)));
  }

 private:
  void read_value(const KeywordLine& line) {
    if (contains(kForeignKeywords, line.keyword)) {
      scanner.fail_at(line.line, fmt::format("{} is not supported; only symmetric TSP instances are", line.keyword));
    }
    if (line.keyword == "TOUR_SECTION") {
      scanner.fail_at(line.line, "TOUR_SECTION in an instance: this is a tour file; give it as a tour");
    }
    if (!contains(kValueKeywords, line.keyword)) {
      scanner.fail_at(line.line, fmt::format("unknown keyword {}; known are {}, {} and EOF", quote_input(line.keyword),
                                             fmt::join(kValueKeywords, ", "), fmt::join(kSections, ", ")));
    }
    add_value(line);
    const Value value{line.value, line.line};
    if (line.keyword == "TYPE") check_type(value);
    if (line.keyword == "DIMENSION") (void)dimension();
    if (line.keyword == "EDGE_WEIGHT_TYPE") (void)parse_metric(value);
    if (line.keyword == "EDGE_WEIGHT_FORMAT" && value.text != "FUNCTION") (void)parse_matrix_format(value);
    if (line.keyword == "NODE_COORD_TYPE") check_one_of(line, {{"TWOD_COORDS", "NO_COORDS"}});
    if (line.keyword == "DISPLAY_DATA_TYPE") check_one_of(line, {{"COORD_DISPLAY", "TWOD_DISPLAY", "NO_DISPLAY"}});
  }

  void read_section(const KeywordLine& heading) {
    if (!heading.value.empty()) {
      scanner.fail_at(heading.line, fmt::format("unexpected {} after {}; the data begins on the next line",
                                                quote_input(heading.value), heading.keyword));
    }
    if (const auto [entry, is_new] = sections_.try_emplace(heading.keyword, heading.line); !is_new) {
      scanner.fail_at(heading.line, fmt::format("second {}; the first is in line {}", heading.keyword, entry->second));
    }
    const std::optional<std::size_t> n = dimension();
    if (!n) scanner.fail_at(heading.line, fmt::format("no DIMENSION before {}; add it above", heading.keyword));
    if (heading.keyword == "NODE_COORD_SECTION") {
      points_ = read_points(heading.keyword, *n);
    } else if (heading.keyword == "DISPLAY_DATA_SECTION") {
      display_points_ = read_points(heading.keyword, *n);
    } else if (heading.keyword == "EDGE_WEIGHT_SECTION") {
      matrix_ = read_matrix(heading, *n);
    } else {
      read_fixed_edges(*n);
    }
  }

  [[nodiscard]] bool has_section(std::string_view keyword) const { return sections_.contains(keyword); }

  void check_type(const Value& value) const {
    // Three files of TSPLIB say "TSP (M.~Hofmeister)": only the first word counts.
    const std::string_view word = value.text.substr(0, value.text.find_first_of(" \t("));
    if (word == "TOUR") scanner.fail_at(value.line, "TYPE is TOUR: this is a tour file; give it as a tour");
    if (word != "TSP") {
      scanner.fail_at(value.line, fmt::format("TYPE {} is not supported; only TSP is", quote_input(word)));
    }
  }

  void check_one_of(const KeywordLine& line, std::span<const std::string_view> values) const {
    if (std::find(values.begin(), values.end(), line.value) != values.end()) return;
    scanner.fail_at(line.line, fmt::format("{} {} is not supported; supported are {}", line.keyword,
                                           quote_input(line.value), fmt::join(values, ", ")));
  }

  [[nodiscard]] Metric parse_metric(const Value& value) const {
    for (const Metric metric : kMetrics) {
      if (metric_name(metric) == value.text) return metric;
    }
    scanner.fail_at(value.line, fmt::format("EDGE_WEIGHT_TYPE {} is not supported; supported are {}",
                                            quote_input(value.text), supported_metrics()));
  }

  [[nodiscard]] MatrixPart parse_matrix_format(const Value& value) const {
    for (const MatrixFormat& format : kMatrixFormats) {
      if (format.name == value.text) return format.part;
    }
    scanner.fail_at(value.line, fmt::format("EDGE_WEIGHT_FORMAT {} is not supported here; supported are {}",
                                            quote_input(value.text), supported_matrix_formats()));
  }

  void check_no_weights(const Value& type) const {
    if (const auto section = sections_.find("EDGE_WEIGHT_SECTION"); section != sections_.end()) {
      scanner.fail_at(section->second, fmt::format("EDGE_WEIGHT_SECTION contradicts EDGE_WEIGHT_TYPE {} in line {}",
                                                   type.text, type.line));
    }
    const Value* format = find_value("EDGE_WEIGHT_FORMAT");
    if (format != nullptr && format->text != "FUNCTION") {
      scanner.fail_at(format->line, fmt::format("EDGE_WEIGHT_FORMAT {} contradicts EDGE_WEIGHT_TYPE {} in line {}",
                                                format->text, type.text, type.line));
    }
  }

  /// Lines "id x y", in any order of ids.
  std::vector<Point> read_points(std::string_view section, std::size_t n) {
    // A node takes six bytes at least ("1 0 0" and a line end). If DIMENSION claims more nodes than that, the section
    // is bound to end too early, and nodes without a slot need not be kept for that error.
    const std::size_t slots = std::min(n, scanner.bytes_left() / 6 + 1);
    std::vector<Point> points(slots);
    std::vector<bool> is_given(slots);
    std::size_t count = 0;
    for (; !scanner.at_text_end() && scanner.at_number(); ++count) {
      if (count == n) scanner.fail(fmt::format("{} goes on after all {} nodes of DIMENSION", section, n));
      const std::int64_t id = scanner.take_integer("the node number");
      if (id < 1 || static_cast<std::uint64_t>(id) > n) {
        scanner.fail(fmt::format("node number {} is out of range; nodes are 1 to {} (DIMENSION)", id, n));
      }
      const double x = scanner.take_number("the x coordinate");
      const double y = scanner.take_number("the y coordinate");
      if (!scanner.at_line_end()) {
        scanner.fail(fmt::format("unexpected {} after the coordinates of node {}; expected 'number x y'",
                                 quote_input(scanner.peek_token()), id));
      }
      const auto slot = static_cast<std::size_t>(id - 1);
      if (slot >= slots) continue;
      if (is_given[slot]) scanner.fail(fmt::format("node {} appears twice in {}", id, section));
      is_given[slot] = true;
      points[slot] = {x, y};
    }
    if (count < n) scanner.fail(fmt::format("{} ends after {} of {} nodes (DIMENSION)", section, count, n));
    return points;
  }

  WeightMatrix read_matrix(const KeywordLine& heading, std::size_t n) {
    const Value* format = find_value("EDGE_WEIGHT_FORMAT");
    if (format == nullptr) {
      scanner.fail_at(heading.line, fmt::format("no EDGE_WEIGHT_FORMAT before {}; add one of {}", heading.keyword,
                                                supported_matrix_formats()));
    }
    const MatrixPart part = parse_matrix_format(*format);
    if (n > kMaxMatrixNodes) {
      scanner.fail_at(heading.line,
                      fmt::format("a matrix of weights for {} nodes is too large; at most {} nodes are supported", n,
                                  kMaxMatrixNodes));
    }
    const std::size_t count = num_listed_weights(part, n);
    // A weight takes two bytes at least. As for points, a claim beyond that ends in an error and needs no memory.
    const bool may_be_complete = scanner.bytes_left() + 1 >= 2 * count;
    WeightMatrix matrix{n, std::vector<double>(may_be_complete ? n * n : 0)};
    std::size_t num_read = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const ColumnRange columns = listed_columns(part, i, n);
      for (std::size_t j = columns.begin; j < columns.end; ++j, ++num_read) {
        if (scanner.at_text_end() || !scanner.at_number()) {
          scanner.fail(fmt::format("EDGE_WEIGHT_SECTION ends after {} of {} weights ({}, DIMENSION {}){}", num_read,
                                   count, format->text, n, unexpected_token()));
        }
        const double weight = scanner.take_number("the weight");
        if (!may_be_complete) continue;
        double& mirrored = matrix.weights[j * n + i];
        if (part == MatrixPart::kFull && j < i && mirrored != weight) {
          scanner.fail(fmt::format("weight ({}, {}) is {} but ({}, {}) is {}; only symmetric weights are supported",
                                   i + 1, j + 1, weight, j + 1, i + 1, mirrored));
        }
        matrix.weights[i * n + j] = weight;
        if (part != MatrixPart::kFull) mirrored = weight;
      }
    }
    if (!scanner.at_text_end() && scanner.at_number()) {
      scanner.fail(
          fmt::format("EDGE_WEIGHT_SECTION goes on after all {} weights ({}, DIMENSION {})", count, format->text, n));
    }
    return matrix;
  }

  [[nodiscard]] std::string unexpected_token() const {
    const std::string_view token = scanner.peek_token();
    return token.empty() ? std::string() : " at " + quote_input(token);
  }

  [[nodiscard]] Instance with_fixed_edges(Instance instance) const {
    return fixed_edges_.empty() ? std::move(instance) : instance.with_fixed_edges(fixed_edges_);
  }

  /// Pairs of nodes up to -1.
  void read_fixed_edges(std::size_t n) {
    FixedEdges edges(n);
    while (true) {
      if (scanner.at_text_end() || !scanner.at_number()) {
        scanner.fail("FIXED_EDGES_SECTION is not finished; expected pairs of nodes, then -1");
      }
      const std::int64_t first = scanner.take_integer("the node of a fixed edge");
      if (first == -1) break;
      const std::int64_t second = scanner.take_integer("the second node of a fixed edge");
      for (const std::int64_t id : {first, second}) {
        if (id < 1 || static_cast<std::uint64_t>(id) > n) {
          scanner.fail(fmt::format("node number {} is out of range; nodes are 1 to {} (DIMENSION)", id, n));
        }
      }
      const std::string error = edges.add({static_cast<NodeId>(first - 1), static_cast<NodeId>(second - 1)});
      if (!error.empty()) scanner.fail(error);
    }
    fixed_edges_.assign(edges.edges().begin(), edges.edges().end());
  }

  std::map<std::string_view, std::size_t> sections_;  // heading -> its line
  std::vector<Point> points_;
  std::vector<Point> display_points_;
  WeightMatrix matrix_;
  std::vector<FixedEdge> fixed_edges_;
};

class TourParser : private TsplibParser {
 public:
  using TsplibParser::TsplibParser;

  Tour parse(std::optional<std::size_t> expected_nodes) {
    std::optional<Tour> tour;
    for (KeywordLine line; next_keyword(line);) {
      if (line.keyword == "TOUR_SECTION") {
        if (tour) scanner.fail_at(line.line, "second TOUR_SECTION; a file holds one tour");
        check_dimension(expected_nodes);
        tour = read_tour(line, dimension() ? dimension() : expected_nodes);
      } else {
        read_value(line);
      }
    }
    if (!tour) scanner.fail("TOUR_SECTION is missing; expected a TSPLIB tour file");
    check_dimension(expected_nodes);  // again: it may follow the section
    for (const std::optional<std::size_t> n : {dimension(), expected_nodes}) {
      if (n && tour->size() != *n) scanner.fail(fmt::format("the tour has {} nodes, expected {}", tour->size(), *n));
    }
    return *std::move(tour);
  }

 private:
  void read_value(const KeywordLine& line) {
    if (line.keyword != "NAME" && line.keyword != "TYPE" && line.keyword != "COMMENT" && line.keyword != "DIMENSION") {
      scanner.fail_at(line.line, fmt::format("unknown keyword {} in a tour file; known are NAME, TYPE, COMMENT, "
                                             "DIMENSION, TOUR_SECTION and EOF",
                                             quote_input(line.keyword)));
    }
    add_value(line);
    if (line.keyword == "TYPE" && line.value != "TOUR") {
      scanner.fail_at(line.line, fmt::format("TYPE is {}, but a tour file needs TOUR", quote_input(line.value)));
    }
    if (line.keyword == "DIMENSION") (void)dimension();
  }

  void check_dimension(std::optional<std::size_t> expected_nodes) const {
    const std::optional<std::size_t> n = dimension();
    if (n && expected_nodes && *n != *expected_nodes) {
      scanner.fail_at(find_value("DIMENSION")->line,
                      fmt::format("DIMENSION is {}, but the instance has {} nodes", *n, *expected_nodes));
    }
  }

  /// Node numbers up to -1, EOF or the end of the text; `n` is their number if known.
  Tour read_tour(const KeywordLine& heading, std::optional<std::size_t> n) {
    if (!heading.value.empty()) {
      scanner.fail_at(heading.line, fmt::format("unexpected {} after TOUR_SECTION; the nodes begin on the next line",
                                                quote_input(heading.value)));
    }
    const TextScanner start = scanner;
    std::vector<NodeId> order;
    bool has_end_mark = false;
    while (!scanner.at_text_end() && scanner.at_number()) {
      const std::int64_t id = scanner.take_integer("the node number");
      if (id == -1) {
        has_end_mark = true;
        break;
      }
      const std::size_t limit = n.value_or(kMaxNodes);
      if (id < 1 || static_cast<std::uint64_t>(id) > limit) {
        scanner.fail(fmt::format("node number {} is out of range; nodes are 1 to {}", id, limit));
      }
      if (n && order.size() == *n) {
        scanner.fail(fmt::format("the tour goes on after all {} nodes; expected -1 or EOF", *n));
      }
      order.push_back(static_cast<NodeId>(id - 1));
    }
    if (has_end_mark) pass_section_end();
    const bool at_end = scanner.at_text_end();
    if (order.empty() || (n && order.size() < *n)) {
      scanner.fail(fmt::format("the tour ends after {} of {} nodes", order.size(), n ? *n : 1));
    }
    if (at_end && !has_end_mark && !n) {
      scanner.fail(fmt::format("the tour ends after {} nodes without -1 or EOF: the file is cut off", order.size()));
    }
    check_each_node_once(order, start);
    return Tour(std::move(order));
  }

  /// After the -1 of the tour TSPLIB allows one more, for the end of the section.
  void pass_section_end() {
    if (scanner.at_text_end() || !scanner.at_number()) return;
    if (scanner.peek_token() != "-1") {
      scanner.fail(fmt::format("unexpected {} after the end of the tour; a file holds one tour",
                               quote_input(scanner.peek_token())));
    }
    scanner.take_token();
  }

  /// `start` is where the numbers begin: lines are only counted again if there is something to report.
  static void check_each_node_once(std::span<const NodeId> order, const TextScanner& start) {
    std::vector<bool> is_visited(order.size());
    for (std::size_t position = 0; position < order.size(); ++position) {
      const auto node = static_cast<std::size_t>(order[position]);
      if (node < order.size() && !is_visited[node]) {
        is_visited[node] = true;
        continue;
      }
      TextScanner place = start;
      for (std::size_t i = 0; i < position; ++i) {
        place.at_text_end();
        place.take_token();
      }
      place.at_text_end();
      if (node >= order.size()) {
        place.fail(fmt::format("node number {} is out of range; the tour has {} nodes", node + 1, order.size()));
      }
      const auto first = std::find(order.begin(), order.end(), order[position]) - order.begin();
      place.fail(
          fmt::format("node {} appears twice in the tour (positions {} and {})", node + 1, first + 1, position + 1));
    }
  }
};

// A header value is one line without blanks around it.
std::string header_value(std::string_view text) {
  std::string value(text);
  std::replace(value.begin(), value.end(), '\n', ' ');
  return std::string(trimmed(value));
}

void append_header(std::string& out, std::string_view name, std::string_view type) {
  const std::string value = header_value(name);
  if (!value.empty()) out += fmt::format("NAME: {}\n", value);
  out += fmt::format("TYPE: {}\n", type);
}

void append_points(std::string& out, std::string_view section, std::span<const Point> points) {
  out += section;
  out += '\n';
  std::int64_t id = 0;
  for (const Point p : points) {
    append_number(out, ++id);
    out += ' ';
    append_number(out, p.x);
    out += ' ';
    append_number(out, p.y);
    out += '\n';
  }
}

}  // namespace

Instance parse_tsplib(std::string_view text, const std::string& source) {
  return InstanceParser(text, source).parse();
}

Tour parse_tsplib_tour(std::string_view text, const std::string& source, std::optional<std::size_t> expected_nodes) {
  return TourParser(text, source).parse(expected_nodes);
}

std::string format_tsplib(const Instance& instance) {
  const std::size_t n = instance.size();
  if (n == 0) throw InputError("an instance without nodes cannot be written as a TSPLIB file");
  std::string out;
  append_header(out, instance.name(), "TSP");
  out += fmt::format("DIMENSION: {}\nEDGE_WEIGHT_TYPE: {}\n", n, metric_name(instance.metric()));
  const WeightMatrix* matrix = instance.matrix();
  if (matrix == nullptr) {
    append_points(out, "NODE_COORD_SECTION", instance.points());
  } else {
    out += "EDGE_WEIGHT_FORMAT: LOWER_DIAG_ROW\n";
    if (instance.has_points()) out += "DISPLAY_DATA_TYPE: TWOD_DISPLAY\n";
    out += "EDGE_WEIGHT_SECTION\n";
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        append_number(out, matrix->weights[i * n + j]);
        out += j < i ? ' ' : '\n';
      }
    }
    if (instance.has_points()) append_points(out, "DISPLAY_DATA_SECTION", instance.points());
  }
  if (!instance.fixed_edges().empty()) {
    out += "FIXED_EDGES_SECTION\n";
    for (const auto [a, b] : instance.fixed_edges()) out += fmt::format("{} {}\n", a + 1, b + 1);
    out += "-1\n";
  }
  out += "EOF\n";
  return out;
}

std::string format_tsplib_tour(const Tour& tour, std::string_view name, std::optional<double> length) {
  if (tour.size() == 0) throw InputError("a tour without nodes cannot be written as a TSPLIB file");
  std::string out;
  append_header(out, name, "TOUR");
  if (length) {
    out += "COMMENT: Length = ";
    append_number(out, *length);
    out += '\n';
  }
  out += fmt::format("DIMENSION: {}\nTOUR_SECTION\n", tour.size());
  const Tour normal = tour.normal_form();
  for (const NodeId node : normal.order()) {
    append_number(out, std::int64_t{node} + 1);
    out += '\n';
  }
  out += "-1\nEOF\n";
  return out;
}

}  // namespace puretour
