// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "puretour/base/build_info.h"

int main() {
  fmt::print("puretour {}\n", puretour::build_info().version);
}
