// Walks through the text of an input file, counts lines, and reports errors as "SOURCE:LINE: ...".
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace puretour {

/// Blanks are the white space inside a line: space, tab, carriage return (so CRLF files need no care), \v and \f.
class TextScanner {
 public:
  /// `text` and `source` must outlive the scanner; `first_line` is the number of the first line of `text`.
  TextScanner(std::string_view text, const std::string& source, std::size_t first_line = 1)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), line_(first_line), source_(source) {}

  [[nodiscard]] std::size_t bytes_left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] std::size_t line() const { return line_; }

  /// Passes blanks; true if the line (or the text) ends there.
  bool at_line_end() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
    return at_ == end_ || *at_ == '\n';
  }

  /// Passes blanks and line ends; true if the text ends there.
  bool at_text_end() {
    for (; at_ != end_; ++at_) {
      if (*at_ == '\n') {
        ++line_;
      } else if (!is_blank(*at_)) {
        return false;
      }
    }
    return true;
  }

  /// True if the next character can begin a number: 0-9 + - and the decimal point.
  [[nodiscard]] bool at_number() const {
    return at_ != end_ && ((*at_ >= '0' && *at_ <= '9') || *at_ == '-' || *at_ == '+' || *at_ == '.');
  }

  /// The characters up to the next white space, which may be none; they are not passed.
  [[nodiscard]] std::string_view peek_token() const;
  std::string_view take_token();

  /// The rest of the line without blanks around it; passes the line end.
  std::string_view take_line();

  /// A number of this line, followed by white space or the end. `what` names it in the error that says otherwise:
  /// missing, not a number, not finite or outside the range of the type.
  double take_number(const char* what);
  std::int64_t take_integer(const char* what);

  /// Throws InputError with the place in front of the message.
  [[noreturn]] void fail(std::string_view message) const;
  [[noreturn]] void fail_at(std::size_t line, std::string_view message) const;

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

 private:
  template <typename Number>
  Number take(const char* what, const char* expected);
  [[noreturn]] void fail_number(const char* what, const char* expected) const;

  const char* begin_;
  const char* at_;
  const char* end_;
  std::size_t line_;
  const std::string& source_;
};

/// A number that makes up the whole of `token`; false if it does not, or is not finite.
bool parse_number(std::string_view token, double& value);
bool parse_integer(std::string_view token, std::int64_t& value);

/// `text` without blanks at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace puretour
