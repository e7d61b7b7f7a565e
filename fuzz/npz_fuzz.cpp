// Fuzzes the parser of NumPy archives with points and tours.
// SPDX-License-Identifier: MIT
#include "puretour/tour/npz.h"
#include "tour/format_checks.h"

// A changed array in an archive fails its checksum. So the first byte says how far to help: 0 packs the rest as the
// tours of six points, which reaches the code behind the checksum; any other byte takes the rest as an archive.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 0) {
      const std::vector<puretour::Sample> points(2, {puretour::Instance({{0, 1}, {2, 3}, {4, 5}}), std::nullopt});
      puretour::check_npz(puretour::format_npz(std::vector<puretour::NpzMember>{
          {"points.npy", puretour::format_npy_samples(points)}, {"tours.npy", std::string(rest)}}));
    } else {
      puretour::check_npz(rest);
    }
  } catch (const puretour::InputError&) {
  }
  return 0;
}
