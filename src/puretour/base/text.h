// Numbers and names in text: the same characters in every locale.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace puretour {

/// The text in single quotes for an error message: at most 40 characters inside (cut with "..."), and everything but
/// printable ASCII as \xNN, so that a binary file cannot garble a terminal.
std::string quote_input(std::string_view text);

/// Appends the shortest decimal that reads back as the same number. Whole numbers below 10^15 are written without an
/// exponent, because several programs read such fields as integers.
void append_number(std::string& out, double value);
void append_number(std::string& out, std::int64_t value);

}  // namespace puretour
