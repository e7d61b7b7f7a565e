// SPDX-License-Identifier: MIT
#include "puretour/base/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace puretour {
namespace {

// The longest result of to_chars here is "-2.2250738585072014e-308".
using NumberBuffer = std::array<char, 32>;

}  // namespace

std::string quote_input(std::string_view text) {
  constexpr std::size_t kMaxLength = 40;
  constexpr std::string_view kCut = "...";
  std::string body;
  std::size_t length_before_cut = 0;  // of the longest prefix that leaves room for kCut
  for (const char c : text) {
    if (body.size() + kCut.size() <= kMaxLength) length_before_cut = body.size();
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      body += c;
    } else {
      body += fmt::format("\\x{:02X}", byte);
    }
    if (body.size() > kMaxLength) {
      body.resize(length_before_cut);
      body += kCut;
      break;
    }
  }
  return "'" + body + "'";
}

void append_number(std::string& out, double value) {
  constexpr double kPlainLimit = 1e15;
  NumberBuffer buffer;
  const bool plain = std::fabs(value) < kPlainLimit && value == std::trunc(value);
  const auto result = plain
                          ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
                          : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), result.ptr);
}

void append_number(std::string& out, std::int64_t value) {
  NumberBuffer buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), result.ptr);
}

}  // namespace puretour
