// SPDX-License-Identifier: MIT
#include "puretour/nn/device.h"

#include <fmt/format.h>

#include <charconv>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour::nn {

torch::Device parse_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  int index = 0;
  const std::string prefix = "cuda:";
  const char* end = name.data() + name.size();
  bool understood = name == "cuda";
  if (name.starts_with(prefix)) {
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, index);
    understood = error == std::errc() && stop == end && index >= 0 && index < 128;
  }
  if (!understood) {
    throw InputError(fmt::format("unknown device {}; choose cpu, cuda or cuda:N", quote_input(name)));
  }
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (index >= count) {
    throw InputError(fmt::format(
        "device {}: this program sees {} CUDA devices; use --device cpu, or a LibTorch with CUDA", name, count));
  }
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

}  // namespace puretour::nn
