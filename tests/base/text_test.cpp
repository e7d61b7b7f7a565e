// SPDX-License-Identifier: MIT
#include "puretour/base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace puretour {
namespace {

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

TEST(Text, QuotesAreCutAndEscaped) {
  EXPECT_EQ(quote_input(""), "''");
  EXPECT_EQ(quote_input("berlin52"), "'berlin52'");
  EXPECT_EQ(quote_input(std::string("a\0\n\x7F\xC3", 5)), "'a\\x00\\x0A\\x7F\\xC3'");
  EXPECT_EQ(quote_input(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(quote_input(std::string(41, 'x')), "'" + std::string(37, 'x') + "...'");
  // An escape is never cut in the middle.
  EXPECT_EQ(quote_input(std::string(36, 'x') + "\n\n"), "'" + std::string(36, 'x') + "...'");
  EXPECT_EQ(quote_input(std::string(1000000, '\xFF')).size(), 2U + 36 + 3);
}

TEST(Text, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
}

TEST(Text, WholeNumbersHaveNoExponent) {
  EXPECT_EQ(number_text(1000000), "1000000");
  EXPECT_EQ(number_text(-999999999999999), "-999999999999999");
  EXPECT_EQ(number_text(-0.0), "-0");
  std::string text = "n=";
  append_number(text, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(text, "n=-9223372036854775808");
}

}  // namespace
}  // namespace puretour
