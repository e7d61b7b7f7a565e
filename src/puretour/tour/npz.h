// Archives of .npy arrays (.npz), in memory: the part of the ZIP format that NumPy reads and writes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace puretour {

/// A file inside an archive.
struct NpzMember {
  std::string name;     // "points.npy"
  std::string content;  // the bytes of the .npy file
};

/// The table of contents of an archive. The bytes must outlive it.
class NpzReader {
 public:
  /// Throws InputError "SOURCE:byte OFFSET: ..." if the archive is damaged, split, or names a member twice.
  NpzReader(std::string_view bytes, std::string source);

  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }

  /// The content of a member, stored or deflated, with its checksum verified. Throws InputError if the member does not
  /// exist, is encrypted, compressed in another way or damaged. Memory grows with the data, not with a claimed size.
  [[nodiscard]] std::string read(std::string_view name) const;

 private:
  struct Entry {
    std::uint64_t directory_offset;  // of the entry itself, for messages
    std::uint64_t local_offset;
    std::uint64_t compressed_size;
    std::uint64_t size;
    std::uint32_t crc;
    std::uint16_t flags;
    std::uint16_t method;
  };

  [[noreturn]] void fail(std::uint64_t offset, const std::string& message) const;
  [[nodiscard]] std::uint64_t number(std::uint64_t offset, std::size_t num_bytes) const;
  [[nodiscard]] std::uint64_t find_directory_end() const;
  void read_directory();
  void read_zip64_sizes(Entry& entry, std::uint64_t extra_begin, std::uint64_t extra_end) const;
  [[nodiscard]] std::string inflated(std::string_view name, const Entry& entry, std::string_view data) const;

  std::string_view bytes_;
  std::string source_;
  std::map<std::string, Entry, std::less<>> entries_;  // by name
};

/// The bytes of an archive of uncompressed members. Throws InputError beyond 4 GiB, the limit of plain ZIP.
std::string format_npz(std::span<const NpzMember> members);

}  // namespace puretour
