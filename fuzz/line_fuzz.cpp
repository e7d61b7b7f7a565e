// Fuzzes the parser of one-line instances.
// SPDX-License-Identifier: MIT
#include "tour/format_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    puretour::check_line({reinterpret_cast<const char*>(data), size});
  } catch (const puretour::InputError&) {
  }
  return 0;
}
