// SPDX-License-Identifier: MIT
#include "puretour/tour/npy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "puretour/base/files.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

std::string numpy_file(const std::string& name) {
  return read_file(std::string(PURETOUR_TEST_DATA) + "/numpy/" + name);
}

// The items of tests/data/numpy: point k is (k / 4, k / 2 + 1).
std::vector<double> numpy_points() {
  std::vector<double> values;
  for (int k = 0; k < 15; ++k) values.insert(values.end(), {k * 0.25, k * 0.5 + 1});
  return values;
}

std::string npy_with_header(const std::string& header, const std::string& items) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  return bytes + header + items;
}

std::string header_of(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Npy, ReadsWhatNumPyWrote) {
  for (const char* name : {"points_f8.npy", "points_v2.npy", "points_v3.npy", "points_f4_fortran.npy"}) {
    const std::string bytes = numpy_file(name);
    const NpyArray array = parse_npy(bytes, name);
    EXPECT_EQ(array.shape, (std::vector<std::size_t>{3, 5, 2})) << name;
    EXPECT_EQ(npy_doubles(array), numpy_points()) << name;
  }
  const std::string bytes = numpy_file("points_f4_fortran.npy");
  EXPECT_EQ(parse_npy(bytes, "x").type_name(), "<f4");
  EXPECT_TRUE(parse_npy(bytes, "x").fortran_order);
}

TEST(Npy, WritesTheSameBytesAsNumPy) {
  EXPECT_EQ(format_npy(numpy_points(), std::array<std::size_t, 3>{3, 5, 2}, false), numpy_file("points_f8.npy"));
  std::vector<std::int64_t> tours;
  for (std::int64_t b = 0; b < 3; ++b) {
    for (std::int64_t i = 0; i < 5; ++i) tours.push_back((3 * i + b) % 5);
  }
  EXPECT_EQ(format_npy(tours, std::array<std::size_t, 2>{3, 5}), numpy_file("tours_i8.npy"));
}

TEST(Npy, ReadsEveryIntegerType) {
  const auto read = [](const std::string& type, const std::string& items) {
    const std::string bytes = npy_with_header(header_of(type, "(2,)"), items);
    return npy_integers(parse_npy(bytes, type));
  };
  EXPECT_EQ(read("|i1", bytes_of<std::int8_t>({-128, 127})), (std::vector<std::int64_t>{-128, 127}));
  EXPECT_EQ(read("|u1", bytes_of<std::uint8_t>({0, 255})), (std::vector<std::int64_t>{0, 255}));
  EXPECT_EQ(read("<i2", bytes_of<std::int16_t>({-32768, 7})), (std::vector<std::int64_t>{-32768, 7}));
  EXPECT_EQ(read("<u2", bytes_of<std::uint16_t>({65535, 7})), (std::vector<std::int64_t>{65535, 7}));
  EXPECT_EQ(read("<i4", bytes_of<std::int32_t>({-5, 7})), (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(read("<u4", bytes_of<std::uint32_t>({4294967295U, 7})), (std::vector<std::int64_t>{4294967295, 7}));
  EXPECT_EQ(read("<i8", bytes_of<std::int64_t>({-5, 7})), (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(read("<u8", bytes_of<std::uint64_t>({~0ULL, 7})),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(), 7}));
}

TEST(Npy, HeadersMayBeSpelledDifferently) {
  for (const char* header : {"{'shape':(1,),'fortran_order':True,'descr':'<f4'}",
                             "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1,)}  \n"}) {
    const std::string bytes = npy_with_header(header, bytes_of<float>({1.5F}));
    EXPECT_EQ(npy_doubles(parse_npy(bytes, "x")), std::vector<double>{1.5}) << header;
  }
  const std::string scalar = npy_with_header(header_of("<f4", "()"), bytes_of<float>({1.5F}));
  EXPECT_EQ(npy_doubles(parse_npy(scalar, "x")), std::vector<double>{1.5});
}

TEST(Npy, ValuesSurviveWriting) {
  const std::vector<double> values = {0.1, -0.0, 1e308, std::numeric_limits<double>::denorm_min(), 3, 4};
  const std::string bytes = format_npy(values, std::array<std::size_t, 2>{3, 2}, false);
  EXPECT_EQ(npy_doubles(parse_npy(bytes, "x")), values);
  EXPECT_EQ(parse_npy(bytes, "x").items_offset % 64, 0U);
  const std::string single = format_npy(std::vector<double>{0.1, 0.5}, std::array<std::size_t, 1>{2}, true);
  EXPECT_EQ(npy_doubles(parse_npy(single, "x")), (std::vector<double>{0.1F, 0.5}));
}

TEST(Npy, ErrorsNameTheByteAndTheProblem) {
  const std::string valid = numpy_file("points_f8.npy");
  std::string version_9 = valid;
  version_9[6] = 9;
  const std::pair<std::string, const char*> cases[] = {
      {"", "f.npy:byte 0: the file is empty"},
      {"NAME: x", "f.npy:byte 0: begins with 'NAME: ', not as a .npy array"},
      {valid.substr(0, 7), "f.npy:byte 7: the file is cut off in its header"},
      {valid.substr(0, 9), "f.npy:byte 9: the file is cut off in its header"},
      {valid.substr(0, 100), "f.npy:byte 100: the file is cut off in its header of 118 bytes"},
      {valid.substr(0, 367),
       "f.npy:byte 367: the file is cut off: shape '(3, 5, 2)' of <f8 needs 240 bytes of items, found 239"},
      {valid + "x", "f.npy:byte 368: 1 unexpected bytes after the items of shape '(3, 5, 2)'"},
      {version_9, "f.npy:byte 6: version 9.0 is not supported"},
      {numpy_file("points_big_endian.npy"),
       "f.npy:byte 20: array type '>f8' is not supported; save with .astype('<f8')"},
      {npy_with_header(header_of("<c8", "(1,)"), "12345678"), "f.npy:byte 20: array type '<c8' is not supported"},
      {npy_with_header(header_of("|O", "(1,)"), ""), "f.npy:byte 20: array type '|O' is not supported"},
      {npy_with_header(header_of("<f2", "(1,)"), "12"), "f.npy:byte 20: array type '<f2' is not supported"},
      {npy_with_header(header_of("<i3", "(1,)"), "123"), "f.npy:byte 20: array type '<i3' is not supported"},
      {npy_with_header("{'descr': [('a', '<f8')], }", ""), "f.npy:byte 20: structured arrays are not supported"},
      {npy_with_header("[]", ""), "f.npy:byte 10: expected '{' in the header, found '[]'"},
      {npy_with_header("{}", ""), "f.npy:byte 10: the header lacks one of"},
      {npy_with_header("{'a': 1}", ""), "f.npy:byte 11: unknown key 'a' in the header"},
      {npy_with_header("{'shape': (1,), 'shape': (1,)}", ""), "f.npy:byte 26: second 'shape' in the header"},
      {npy_with_header("{'shape': (x,)}", ""), "f.npy:byte 21: expected a length in the shape, found 'x,)}'"},
      {npy_with_header("{'shape': (-1,)}", ""), "f.npy:byte 21: expected a length in the shape, found '-1,)}'"},
      {npy_with_header("{'fortran_order': 1}", ""), "f.npy:byte 28: expected True or False in the header"},
      {npy_with_header("{'shape': (1,)} x", ""), "f.npy:byte 26: unexpected 'x' after the header"},
      {npy_with_header("{'shape", ""), "f.npy:byte 11: expected a quoted word in the header, found ''shape'"},
      {npy_with_header(header_of("<f8", "(4294967296, 4294967296)"), ""),
       "f.npy:byte 10: the shape '(4294967296, 4294967296)' is too large"},
      {npy_with_header(header_of("<f8", "(2305843009213693952,)"), ""),
       "f.npy:byte 10: the shape '(2305843009213693952,)' is too large"},
      {npy_with_header(header_of("<f8", "(1000000000000,)"), ""), "f.npy:byte 79: the file is cut off: shape"},
  };
  for (const auto& [bytes, message] : cases) {
    const std::string seen = input_error([&, input = bytes] { parse_npy(input, "f.npy"); });
    EXPECT_TRUE(seen.starts_with(message)) << "expected: " << message << "\nmessage: " << seen;
  }
}

}  // namespace
}  // namespace puretour
