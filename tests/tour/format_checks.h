// Checks that tests and fuzz targets share: what a parser accepts must survive writing and reading again.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/tour/array_samples.h"
#include "puretour/tour/line_format.h"
#include "puretour/tour/npy.h"
#include "puretour/tour/tsplib.h"

namespace puretour {

inline bool same_instance(const Instance& a, const Instance& b) {
  const auto same_points = [](std::span<const Point> p, std::span<const Point> q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end());
  };
  if (a.size() != b.size() || a.metric() != b.metric() || a.name() != b.name()) return false;
  if (!same_points(a.points(), b.points())) return false;
  if (!std::equal(a.fixed_edges().begin(), a.fixed_edges().end(), b.fixed_edges().begin(), b.fixed_edges().end())) {
    return false;
  }
  if ((a.matrix() == nullptr) != (b.matrix() == nullptr)) return false;
  return a.matrix() == nullptr || a.matrix()->weights == b.matrix()->weights;
}

inline bool same_samples(std::span<const Sample> a, std::span<const Sample> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Sample& s, const Sample& t) {
    return same_instance(s.instance, t.instance) && s.tour == t.tour;
  });
}

/// What went wrong if this is thrown: a parser accepted an input, but writing and reading changed it.
struct RoundTripError : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require_equal(bool equal, const char* what) {
  if (!equal) throw RoundTripError(std::string(what) + " changed by writing and reading again");
}

// Each of these throws InputError for an input that its parser refuses, and RoundTripError as above.

inline void check_tsplib(std::string_view text) {
  const Instance instance = parse_tsplib(text, "input");
  require_equal(same_instance(instance, parse_tsplib(format_tsplib(instance), "output")), "instance");
}

inline void check_tsplib_tour(std::string_view text) {
  const Tour tour = parse_tsplib_tour(text, "input");
  const Tour again = parse_tsplib_tour(format_tsplib_tour(tour, "name", 1.5), "output", tour.size());
  require_equal(tour.normal_form() == again, "tour");
}

inline void check_line(std::string_view text) {
  const Sample sample = parse_sample_line(text, "input");
  std::string line;
  append_sample_line(line, sample);
  require_equal(same_samples({&sample, 1}, std::vector{parse_sample_line(line, "output")}), "line");
}

inline void check_npy(std::string_view bytes) {
  const std::vector<Sample> samples = parse_npy_samples(bytes, "input");
  require_equal(same_samples(samples, parse_npy_samples(format_npy_samples(samples), "output")), "array");
}

inline void check_npz(std::string_view bytes) {
  const std::vector<Sample> samples = parse_npz_samples(bytes, "input");
  require_equal(same_samples(samples, parse_npz_samples(format_npz_samples(samples), "output")), "archive");
}

/// The message of the InputError that `action` throws; "nothing was thrown" if it throws none.
template <typename Action>
std::string input_error(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace puretour
