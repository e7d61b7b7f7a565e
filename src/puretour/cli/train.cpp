// `puretour train`: hands over to the program puretour-train beside this one.
//
// Training needs LibTorch, hundreds of megabytes that would make every other verb start slowly; and its libraries read
// their settings from the environment while they are loaded, so that these must be there before.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/isa.h"
#include "puretour/cli/verbs.h"

namespace puretour::cli {

void add_train(CLI::App& app) {
  // Only for the list of verbs: run_train comes before.
  app.add_subcommand("train", "Train a network, with or without purity weights (needs LibTorch)");
}

void run_train(char** arguments) {
  constexpr int kKeepWhatIsThere = 0;
  // Debian's OpenBLAS takes CPUs that are newer than itself for very old ones; oneDNN 2.6 crashes in its AMX path where
  // the hypervisor hides a CPUID leaf.
  if (active_isa() >= Isa::kAvx512) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", kKeepWhatIsThere);
  setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", kKeepWhatIsThere);
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "puretour-train";
  if (!std::filesystem::exists(program)) {
    throw InputError(fmt::format("train: {} is not there; build PureTour with LibTorch (-DPURETOUR_WITH_TORCH=ON)",
                                 program.string()));
  }
  execv(program.c_str(), arguments);
  throw InputError(fmt::format("train: cannot start {}: {}", program.string(), std::strerror(errno)));
}

}  // namespace puretour::cli
