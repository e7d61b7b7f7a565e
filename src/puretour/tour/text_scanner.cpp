// SPDX-License-Identifier: MIT
#include "puretour/tour/text_scanner.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

bool is_usable(double value) {
  return std::isfinite(value);
}

bool is_usable(std::int64_t) {
  return true;
}

// std::from_chars plus an optional leading '+', which C programs accept and some write. Returns the end of the number,
// or null if there is none that can be used.
template <typename Number>
const char* read_number(const char* begin, const char* end, Number& value) {
  if (begin != end && *begin == '+') {
    ++begin;
    if (begin != end && *begin == '-') return nullptr;
  }
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && is_usable(value) ? stop : nullptr;
}

template <typename Number>
bool parse_whole(std::string_view token, Number& value) {
  const char* end = token.data() + token.size();
  return read_number(token.data(), end, value) == end && !token.empty();
}

}  // namespace

bool parse_number(std::string_view token, double& value) {
  return parse_whole(token, value);
}

bool parse_integer(std::string_view token, std::int64_t& value) {
  return parse_whole(token, value);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && TextScanner::is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && TextScanner::is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view TextScanner::peek_token() const {
  const char* stop = at_;
  while (stop != end_ && *stop != '\n' && !is_blank(*stop)) ++stop;
  return {at_, static_cast<std::size_t>(stop - at_)};
}

std::string_view TextScanner::take_token() {
  const std::string_view token = peek_token();
  at_ += token.size();
  return token;
}

std::string_view TextScanner::take_line() {
  const std::string_view rest(at_, bytes_left());
  const std::string_view line = rest.substr(0, rest.find('\n'));
  at_ += line.size();
  if (at_ != end_) {
    ++at_;
    ++line_;
  }
  return trimmed(line);
}

template <typename Number>
Number TextScanner::take(const char* what, const char* expected) {
  Number value = 0;
  if (!at_line_end()) {
    const char* stop = read_number(at_, end_, value);
    if (stop != nullptr && (stop == end_ || *stop == '\n' || is_blank(*stop))) {
      at_ = stop;
      return value;
    }
  }
  fail_number(what, expected);
}

double TextScanner::take_number(const char* what) {
  return take<double>(what, "a finite number");
}

std::int64_t TextScanner::take_integer(const char* what) {
  return take<std::int64_t>(what, "a whole number");
}

void TextScanner::fail_number(const char* what, const char* expected) const {
  const std::string_view token = peek_token();
  if (token.empty()) fail(fmt::format("{} is missing: expected {}, but the line ends", what, expected));
  fail(fmt::format("{} is {}, not {}", what, quote_input(token), expected));
}

void TextScanner::fail(std::string_view message) const {
  // At the end of a text, line_ counts one line that is not there if the last one is terminated.
  const bool beyond_last_line = at_ == end_ && at_ != begin_ && at_[-1] == '\n';
  fail_at(line_ - (beyond_last_line ? 1 : 0), message);
}

void TextScanner::fail_at(std::size_t line, std::string_view message) const {
  throw InputError(fmt::format("{}:{}: {}", source_, line, message));
}

}  // namespace puretour
