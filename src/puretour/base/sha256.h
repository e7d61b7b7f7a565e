// SHA-256, to know that a file is the one it claims to be.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace puretour {

/// Feed the message in pieces of any size, then ask once for the digest.
class Sha256 {
 public:
  void update(std::string_view bytes);

  /// 64 lower-case hexadecimal digits. The object is used up by it.
  std::string hex_digest();

 private:
  void take_block(const char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint64_t num_bytes_ = 0;
  std::string pending_;  // less than one block
};

/// The digest of one piece.
std::string sha256_hex(std::string_view bytes);

}  // namespace puretour
