// SPDX-License-Identifier: MIT
#include "puretour/tour/npz.h"

#include <gtest/gtest.h>

#include "puretour/base/files.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

std::string numpy_file(const std::string& name) {
  return read_file(std::string(PURETOUR_TEST_DATA) + "/numpy/" + name);
}

void put_number(std::string& bytes, std::size_t offset, std::uint64_t value, std::size_t num_bytes) {
  for (std::size_t i = 0; i < num_bytes; ++i) bytes[offset + i] = static_cast<char>(value >> (8 * i));
}

const std::string kArchive = format_npz(std::vector<NpzMember>{{"a.npy", "hello"}, {"b.npy", ""}});
// Its layout: two local headers with names, then the directory.
constexpr std::size_t kFirstData = 30 + 5;
constexpr std::size_t kDirectory = kFirstData + 5 + 30 + 5;
constexpr std::size_t kEnd = kDirectory + 2 * (46 + 5);

TEST(Npz, MembersSurviveWriting) {
  const NpzReader reader(kArchive, "x");
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"a.npy", "b.npy"}));
  EXPECT_EQ(reader.read("a.npy"), "hello");
  EXPECT_EQ(reader.read("b.npy"), "");
  EXPECT_FALSE(reader.contains("c.npy"));
  EXPECT_TRUE(NpzReader(format_npz({}), "x").names().empty());
}

TEST(Npz, ReadsWhatNumPyWrote) {
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    const std::string bytes = numpy_file(name);
    const NpzReader reader(bytes, name);
    EXPECT_TRUE(reader.contains("points.npy")) << name;
    EXPECT_EQ(parse_npy(reader.read("points.npy"), name).shape, (std::vector<std::size_t>{3, 5, 2})) << name;
  }
  const std::string stored = numpy_file("stored.npz");
  EXPECT_EQ(NpzReader(stored, "x").read("points.npy"), numpy_file("points_f8.npy"));
}

TEST(Npz, AnArchiveMayHaveAComment) {
  std::string bytes = kArchive + "made by hand";
  put_number(bytes, kEnd + 20, 12, 2);
  EXPECT_EQ(NpzReader(bytes, "x").read("a.npy"), "hello");
}

TEST(Npz, ReadsZip64Records) {
  // The first entry with all three values in a zip64 field, and a zip64 end record with its locator.
  std::string directory = kArchive.substr(kDirectory, 46 + 5);
  for (const std::size_t field : {20, 24, 42}) put_number(directory, field, 0xFFFFFFFF, 4);
  put_number(directory, 30, 4 + 24, 2);
  std::string extra(4 + 24, '\0');
  put_number(extra, 0, 0x0001, 2);
  put_number(extra, 2, 24, 2);
  put_number(extra, 4, 5, 8);
  put_number(extra, 12, 5, 8);
  put_number(extra, 20, 0, 8);
  std::string zip64_end(56, '\0');
  put_number(zip64_end, 0, 0x06064B50, 4);
  put_number(zip64_end, 24, 1, 8);
  put_number(zip64_end, 32, 1, 8);
  put_number(zip64_end, 48, kDirectory, 8);
  std::string locator(20, '\0');
  put_number(locator, 0, 0x07064B50, 4);
  put_number(locator, 8, kDirectory + directory.size() + extra.size(), 8);
  std::string end = kArchive.substr(kEnd);
  put_number(end, 8, 0xFFFF, 2);
  put_number(end, 10, 0xFFFF, 2);
  put_number(end, 16, 0xFFFFFFFF, 4);
  const std::string bytes = kArchive.substr(0, kDirectory) + directory + extra + zip64_end + locator + end;
  EXPECT_EQ(NpzReader(bytes, "x").read("a.npy"), "hello");

  const std::string without_locator = kArchive.substr(0, kDirectory) + directory + extra + end;
  EXPECT_EQ(input_error([&] { NpzReader(without_locator, "x"); }).substr(0, 10), "x:byte 154");
}

TEST(Npz, ErrorsNameTheByteAndTheProblem) {
  const auto damaged = [](std::size_t offset, std::uint64_t value, std::size_t num_bytes) {
    std::string bytes = kArchive;
    put_number(bytes, offset, value, num_bytes);
    return bytes;
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "f.npz:byte 0: the file is empty"},
      {"NAME: x", "f.npz:byte 0: begins with 'NAME', not as a .npz archive"},
      {"PK", "f.npz:byte 2: no end of the archive's directory: the file is cut off"},
      {kArchive.substr(0, kArchive.size() - 1), "f.npz:byte 198: no end of the archive's directory"},
      {kArchive + "x", "f.npz:byte 200: no end of the archive's directory"},
      {damaged(kEnd + 4, 1, 2), "f.npz:byte 177: archives of several parts are not supported"},
      {damaged(kEnd + 8, 3, 2), "f.npz:byte 177: archives of several parts are not supported"},
      {damaged(kEnd + 8, 0x00030003, 4), "f.npz:byte 177: entry 3 of 3 of the directory is damaged"},
      {damaged(kEnd + 16, 5000, 4), "f.npz:byte 177: the directory should be at byte 5000"},
      {damaged(kEnd + 16, 0xFFFFFFFF, 4), "f.npz:byte 177: the zip64 directory is missing"},
      {damaged(kDirectory, 0, 4), "f.npz:byte 75: entry 1 of 2 of the directory is damaged"},
      {damaged(kDirectory + 28, 6000, 2), "f.npz:byte 75: entry 1 of 2 of the directory is damaged"},
      {damaged(kDirectory + 51 + 46, 'a', 1), "f.npz:byte 126: second member 'a.npy' in the archive"},
      {damaged(kDirectory + 8, 1, 2), "f.npz:byte 75: 'a.npy' is encrypted"},
      {damaged(kDirectory + 10, 12, 2), "f.npz:byte 75: 'a.npy' is compressed by method 12; use numpy.savez"},
      {damaged(kDirectory + 10, 8, 2), "f.npz:byte 0: 'a.npy' is damaged: its compressed data does not give 5 bytes"},
      {damaged(kDirectory + 42, 7, 4), "f.npz:byte 75: 'a.npy' is not where the directory says (byte 7)"},
      {damaged(kDirectory + 20, 4000, 4), "f.npz:byte 0: 'a.npy' should have 4000 bytes, more than the archive has"},
      {damaged(kDirectory + 24, 4, 4), "f.npz:byte 75: 'a.npy' is stored in 5 bytes but should have 4"},
      {damaged(kFirstData, 'H', 1), "f.npz:byte 35: 'a.npy' is damaged: its checksum is"},
  };
  for (const auto& [bytes, message] : cases) {
    const std::string seen = input_error([&, input = bytes] { (void)NpzReader(input, "f.npz").read("a.npy"); });
    EXPECT_TRUE(seen.starts_with(message)) << "expected: " << message << "\nmessage: " << seen;
  }
  EXPECT_EQ(input_error([] { (void)NpzReader(kArchive, "f.npz").read("c.npy"); }),
            "f.npz:byte 0: no member 'c.npy' in the archive");
}

TEST(Npz, AFalseSizeTakesNoMemory) {
  const std::string original = numpy_file("compressed.npz");
  // The directory entry of points.npy: the first one.
  const std::size_t entry = original.find("PK\x01\x02");
  std::string bytes = original;
  put_number(bytes, entry + 24, 0xFFFFFFF0, 4);
  EXPECT_NE(input_error([&] { (void)NpzReader(bytes, "x").read("points.npy"); }).find("cannot have 4294967280 bytes"),
            std::string::npos);
  for (const int wrong : {247, 249}) {
    put_number(bytes, entry + 24, static_cast<std::uint64_t>(wrong), 4);
    EXPECT_NE(input_error([&] { (void)NpzReader(bytes, "x").read("points.npy"); }).find("is damaged"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace puretour
