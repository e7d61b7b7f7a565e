// SPDX-License-Identifier: MIT
#include "puretour/base/build_info.h"

#include <fstream>

#include "puretour/base/commit.h"  // generated: PURETOUR_COMMIT

namespace puretour {

BuildInfo build_info() {
#if defined(__clang__)
  const std::string compiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
  const std::string compiler = "GCC " __VERSION__;
#else
  const std::string compiler = "unknown";
#endif
  return {PURETOUR_VERSION, PURETOUR_COMMIT, PURETOUR_BUILD_TYPE, compiler};
}

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace puretour
