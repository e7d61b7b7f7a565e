// What this binary is: for `puretour info`, bug reports and the provenance of results.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace puretour {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string commit;      // abbreviated hash, "-dirty" with local changes, or "unknown"
  std::string build_type;  // "Release"
  std::string compiler;    // "GCC 12.2.0"
};

BuildInfo build_info();

/// The CPU's own name ("unknown" where the system does not tell).
std::string cpu_name();

}  // namespace puretour
