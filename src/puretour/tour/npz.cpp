// SPDX-License-Identifier: MIT
#include "puretour/tour/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

// Signatures and fixed sizes of the records of a ZIP file (APPNOTE.TXT of PKWARE, sections 4.3 and 4.5.3).
constexpr std::uint64_t kLocalSignature = 0x04034B50;
constexpr std::uint64_t kEntrySignature = 0x02014B50;
constexpr std::uint64_t kEndSignature = 0x06054B50;
constexpr std::uint64_t kZip64EndSignature = 0x06064B50;
constexpr std::uint64_t kZip64LocatorSignature = 0x07064B50;
constexpr std::uint64_t kLocalBytes = 30;
constexpr std::uint64_t kEntryBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kZip64EndBytes = 56;
constexpr std::uint64_t kZip64LocatorBytes = 20;
constexpr std::uint64_t kZip64ExtraId = 0x0001;
constexpr std::uint64_t kIsInZip64 = 0xFFFFFFFF;  // a 32-bit field whose value is in a zip64 record
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;

std::uint32_t checksum(std::string_view data) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

void append_bytes(std::string& out, std::uint64_t value, int num_bytes) {
  for (int i = 0; i < num_bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

/// Ends an inflation on every path.
class Inflater {
 public:
  Inflater() {
    constexpr int kRawDeflate = -15;  // no zlib header, the largest window
    if (inflateInit2(&stream, kRawDeflate) != Z_OK) throw InternalError("zlib: cannot start to inflate");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

}  // namespace

void NpzReader::fail(std::uint64_t offset, const std::string& message) const {
  throw InputError(fmt::format("{}:byte {}: {}", source_, offset, message));
}

std::uint64_t NpzReader::number(std::uint64_t offset, std::size_t num_bytes) const {
  if (offset > bytes_.size() || bytes_.size() - offset < num_bytes) {
    fail(bytes_.size(), "the archive is cut off or damaged");
  }
  std::uint64_t value = 0;
  for (std::size_t i = num_bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[offset + i]);
  return value;
}

std::uint64_t NpzReader::find_directory_end() const {
  // The end record is followed by a comment of up to 65535 bytes, so it is found from the back.
  constexpr std::uint64_t kMaxComment = 65535;
  for (std::uint64_t comment = 0; comment <= kMaxComment && kEndBytes + comment <= bytes_.size(); ++comment) {
    const std::uint64_t offset = bytes_.size() - comment - kEndBytes;
    if (number(offset, 4) == kEndSignature && number(offset + 20, 2) == comment) return offset;
  }
  fail(bytes_.size(), "no end of the archive's directory: the file is cut off, or not a .npz archive");
}

NpzReader::NpzReader(std::string_view bytes, std::string source) : bytes_(bytes), source_(std::move(source)) {
  if (bytes_.empty()) fail(0, "the file is empty; expected a .npz archive");
  if (!bytes_.starts_with("PK"))
    fail(0, fmt::format("begins with {}, not as a .npz archive", quote_input(bytes_.substr(0, 4))));
  read_directory();
}

void NpzReader::read_directory() {
  const std::uint64_t end = find_directory_end();
  std::uint64_t num_entries = number(end + 10, 2);
  std::uint64_t offset = number(end + 16, 4);
  if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0 || number(end + 8, 2) != num_entries) {
    fail(end, "archives of several parts are not supported");
  }
  if (offset == kIsInZip64 || num_entries == 0xFFFF) {
    if (end < kZip64LocatorBytes || number(end - kZip64LocatorBytes, 4) != kZip64LocatorSignature) {
      fail(end, "the zip64 directory is missing");
    }
    const std::uint64_t zip64_end = number(end - kZip64LocatorBytes + 8, 8);
    if (zip64_end > end || end - zip64_end < kZip64EndBytes || number(zip64_end, 4) != kZip64EndSignature) {
      fail(end, "the zip64 directory is not where it should be");
    }
    num_entries = number(zip64_end + 32, 8);
    offset = number(zip64_end + 48, 8);
  }
  if (offset > end) fail(end, fmt::format("the directory should be at byte {}, beyond its end", offset));
  for (std::uint64_t i = 0; i < num_entries; ++i) {
    if (offset > end || end - offset < kEntryBytes || number(offset, 4) != kEntrySignature) {
      fail(offset, fmt::format("entry {} of {} of the directory is damaged", i + 1, num_entries));
    }
    Entry entry;
    entry.directory_offset = offset;
    entry.flags = static_cast<std::uint16_t>(number(offset + 8, 2));
    entry.method = static_cast<std::uint16_t>(number(offset + 10, 2));
    entry.crc = static_cast<std::uint32_t>(number(offset + 16, 4));
    entry.compressed_size = number(offset + 20, 4);
    entry.size = number(offset + 24, 4);
    entry.local_offset = number(offset + 42, 4);
    const std::uint64_t extra_begin = offset + kEntryBytes + number(offset + 28, 2);
    const std::uint64_t extra_end = extra_begin + number(offset + 30, 2);
    const std::uint64_t entry_end = extra_end + number(offset + 32, 2);
    if (entry_end > end) fail(offset, fmt::format("entry {} of {} of the directory is damaged", i + 1, num_entries));
    const std::string_view name = bytes_.substr(offset + kEntryBytes, extra_begin - offset - kEntryBytes);
    read_zip64_sizes(entry, extra_begin, extra_end);
    if (!entries_.try_emplace(std::string(name), entry).second) {
      fail(offset, fmt::format("second member {} in the archive", quote_input(name)));
    }
    offset = entry_end;
  }
}

void NpzReader::read_zip64_sizes(Entry& entry, std::uint64_t extra_begin, std::uint64_t extra_end) const {
  for (std::uint64_t block = extra_begin; extra_end - block >= 4;) {
    const std::uint64_t block_end = block + 4 + number(block + 2, 2);
    if (block_end > extra_end) fail(block, "an extra field of the directory is damaged");
    if (number(block, 2) == kZip64ExtraId) {
      // Present, in this order, are only the fields that do not fit the entry.
      std::uint64_t field = block + 4;
      for (std::uint64_t* value : {&entry.size, &entry.compressed_size, &entry.local_offset}) {
        if (*value != kIsInZip64) continue;
        if (block_end - field < 8) fail(block, "a zip64 field of the directory is damaged");
        *value = number(field, 8);
        field += 8;
      }
      return;
    }
    block = block_end;
  }
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> result;
  for (const auto& [name, entry] : entries_) result.push_back(name);
  return result;
}

std::string NpzReader::read(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail(0, fmt::format("no member {} in the archive", quote_input(name)));
  const Entry& entry = found->second;
  if ((entry.flags & 1) != 0) {
    fail(entry.directory_offset, fmt::format("{} is encrypted; save it without a password", quote_input(name)));
  }
  if (entry.method != kStored && entry.method != kDeflated) {
    fail(entry.directory_offset, fmt::format("{} is compressed by method {}; use numpy.savez or savez_compressed",
                                             quote_input(name), entry.method));
  }
  // The sizes in the local header may be absent or zip64 (NumPy writes them so); those of the directory always hold.
  const std::uint64_t local = entry.local_offset;
  if (local >= entry.directory_offset || number(local, 4) != kLocalSignature) {
    fail(entry.directory_offset, fmt::format("{} is not where the directory says (byte {})", quote_input(name), local));
  }
  const std::uint64_t data_begin = local + kLocalBytes + number(local + 26, 2) + number(local + 28, 2);
  if (data_begin > entry.directory_offset || entry.directory_offset - data_begin < entry.compressed_size) {
    fail(local, fmt::format("{} should have {} bytes, more than the archive has there", quote_input(name),
                            entry.compressed_size));
  }
  const std::string_view data = bytes_.substr(data_begin, entry.compressed_size);
  if (entry.method == kStored && entry.size != entry.compressed_size) {
    fail(entry.directory_offset, fmt::format("{} is stored in {} bytes but should have {}", quote_input(name),
                                             entry.compressed_size, entry.size));
  }
  std::string content = entry.method == kStored ? std::string(data) : inflated(name, entry, data);
  if (checksum(content) != entry.crc) {
    fail(data_begin, fmt::format("{} is damaged: its checksum is {:08x}, the directory says {:08x}", quote_input(name),
                                 checksum(content), entry.crc));
  }
  return content;
}

std::string NpzReader::inflated(std::string_view name, const Entry& entry, std::string_view data) const {
  // Deflate expands no byte to more than 1032, so this bounds the memory that a false size can claim.
  constexpr std::uint64_t kMaxExpansion = 1032;
  if (entry.size / kMaxExpansion > data.size()) {
    fail(entry.directory_offset, fmt::format("{} cannot have {} bytes: it has only {} when compressed",
                                             quote_input(name), entry.size, data.size()));
  }
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::string content;
  std::size_t input_used = 0;
  int status = Z_OK;
  // zlib counts in 32 bits, so both sides go in pieces. One byte beyond the size shows data that is too long.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (status == Z_OK) {
    const std::size_t input_piece = std::min(kPiece, data.size() - input_used);
    const std::size_t output_piece = std::min<std::uint64_t>(kPiece, entry.size + 1 - content.size());
    const std::size_t output_used = content.size();
    if (output_piece == 0) break;
    content.resize(output_used + output_piece);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(data.data() + input_used));  // NOLINT: zlib only reads it
    stream.avail_in = static_cast<uInt>(input_piece);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + output_used);
    stream.avail_out = static_cast<uInt>(output_piece);
    status = inflate(&stream, Z_NO_FLUSH);
    input_used += input_piece - stream.avail_in;
    content.resize(output_used + output_piece - stream.avail_out);
  }
  if (status != Z_STREAM_END || content.size() != entry.size || input_used != data.size()) {
    fail(entry.local_offset,
         fmt::format("{} is damaged: its compressed data does not give {} bytes", quote_input(name), entry.size));
  }
  return content;
}

std::string format_npz(std::span<const NpzMember> members) {
  std::string archive;
  std::string directory;
  for (const NpzMember& member : members) {
    const std::size_t local_offset = archive.size();
    if (local_offset + kLocalBytes + member.name.size() + member.content.size() >= kIsInZip64) {
      throw InputError(".npz archives beyond 4 GiB are not supported; write single precision, several files, or lines");
    }
    // The fields that the local header and the directory share, from "version needed" to the length of the name.
    std::string shared;
    append_bytes(shared, 20, 2);  // version 2.0
    append_bytes(shared, 0, 2);   // flags
    append_bytes(shared, kStored, 2);
    append_bytes(shared, 0, 2);  // time, and 1980-01-01 as the date: equal arrays give equal files
    append_bytes(shared, 0x0021, 2);
    append_bytes(shared, checksum(member.content), 4);
    append_bytes(shared, member.content.size(), 4);
    append_bytes(shared, member.content.size(), 4);
    append_bytes(shared, member.name.size(), 2);
    append_bytes(shared, 0, 2);  // extra field

    append_bytes(archive, kLocalSignature, 4);
    archive += shared;
    archive += member.name;
    archive += member.content;

    append_bytes(directory, kEntrySignature, 4);
    append_bytes(directory, 20, 2);  // made by version 2.0
    directory += shared;
    directory.append(10, '\0');  // comment length, disk, internal and external attributes
    append_bytes(directory, local_offset, 4);
    directory += member.name;
  }
  const std::size_t directory_offset = archive.size();
  archive += directory;
  append_bytes(archive, kEndSignature, 4);
  append_bytes(archive, 0, 4);  // disks
  append_bytes(archive, members.size(), 2);
  append_bytes(archive, members.size(), 2);
  append_bytes(archive, directory.size(), 4);
  append_bytes(archive, directory_offset, 4);
  append_bytes(archive, 0, 2);  // comment length
  return archive;
}

}  // namespace puretour
