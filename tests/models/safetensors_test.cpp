// SPDX-License-Identifier: MIT
#include "puretour/models/safetensors.h"

#include <cstdint>

#include "models/model_checks.h"

namespace puretour {
namespace {

using test::expect_model_error;

// A file as other programs write it: header and values, without a checksum.
std::string file_of(const std::string& header, const std::string& values) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + values;
}

Safetensors small_content() {
  Safetensors content;
  content.metadata = {{"who", "me"}, {"why", "a \"test\"\n"}};
  content.tensors["a"] = to_stored({{2, 1}, {1.5F, -2}});
  content.tensors["b.weight"] = to_stored({{}, {3}});
  content.tensors["c"] = {Dtype::kI64, {1}, std::string(8, '\1')};
  content.tensors["d"] = {Dtype::kU8, {3}, "xyz"};
  content.tensors["none"] = to_stored({{0, 4}, {}});
  return content;
}

TEST(Safetensors, AreReadBackAsTheyWereWritten) {
  const Safetensors content = small_content();
  const std::string bytes = format_safetensors(content);
  const Safetensors read = parse_safetensors(bytes, "file");
  EXPECT_TRUE(read.has_checksum);
  EXPECT_EQ(read.metadata, content.metadata);
  EXPECT_EQ(read.tensors, content.tensors);
  EXPECT_EQ(format_safetensors(read), bytes);
}

TEST(Safetensors, AreWrittenAsTheFormatSays) {
  Safetensors content;
  content.tensors["w"] = to_stored({{1, 2}, {1, -1}});
  const std::string bytes = format_safetensors(content);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.substr(8, 40), "{\"__metadata__\":{\"checksum\":\"sha256:" + bytes.substr(8 + 36, 4));
  EXPECT_NE(bytes.find("\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}"), std::string::npos);
  EXPECT_EQ(bytes.substr(8 + length), std::string("\0\0\x80\x3f\0\0\x80\xbf", 8));
}

TEST(Safetensors, OfOtherProgramsAreReadWithoutAChecksum) {
  const Safetensors read =
      parse_safetensors(file_of(R"({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}   )", "abcd"), "file");
  EXPECT_FALSE(read.has_checksum);
  EXPECT_EQ(read.tensors.at("x").bytes, "abcd");
}

TEST(Safetensors, EveryFlippedBitIsFound) {
  const std::string bytes = format_safetensors(small_content());
  int num_without_checksum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      try {
        // Damage to the name of the checksum or of the metadata hides it: then it is missing.
        if (parse_safetensors(damaged, "file").has_checksum) FAIL() << "byte " << i << " bit " << bit;
        ++num_without_checksum;
      } catch (const ModelError&) {
      }
    }
  }
  EXPECT_LE(num_without_checksum, 8 * 20);
}

TEST(Safetensors, EveryTruncationIsFound) {
  const std::string bytes = format_safetensors(small_content());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW((void)parse_safetensors(bytes.substr(0, size), "file"), ModelError) << size;
  }
  EXPECT_THROW((void)parse_safetensors(bytes + '\0', "file"), ModelError);
}

TEST(Safetensors, SayWhatIsWrong) {
  const auto expect = [](const std::string& header, const std::string& values, const std::string& message) {
    expect_model_error([&] { (void)parse_safetensors(file_of(header, values), "f.st"); }, message);
  };
  expect("[]", "", "f.st: the header is no JSON object");
  expect("{", "", "no valid JSON");
  expect(std::string(100000, '['), "", "no valid JSON");
  expect("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", "", "tensor 'a': the entry must have");
  expect(R"({"a":1})", "", "tensor 'a': the entry must have dtype, shape and data_offsets");
  expect(R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", "ab", "dtype 'F16' is not one of");
  expect(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd", "must have dtype, shape");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd", "does not fit into the file");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "abcdefgh", "needs 4 bytes, but has 8");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "abcd", "");
  expect(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "", "does not fit");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcde", "bytes were lost or added");
  expect(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      "abcd", "overlap or leave a gap");
  expect(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      "abcd", "'a' twice");
  expect(R"({"__metadata__":{"a":1}})", "", "metadata 'a': not a text");
  expect(R"({"__metadata__":{"checksum":"sha256:00"}})", "", "the checksum does not fit");
  expect_model_error([] { (void)to_tensor({Dtype::kI64, {1}, std::string(8, 'a')}, "n", "f"); }, "dtype is I64");
}

TEST(Safetensors, RandomDamageIsRefusedOrReadConsistently) {
  const std::string bytes = file_of(
      R"({"x": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}, "y": {"dtype": "U8", "shape": [4], "data_offsets": [8, 12]}})",
      "abcdefghijkl");
  Rng rng(3);
  int num_refused = 0;
  constexpr int kMutations = 20'000;
  for (int i = 0; i < kMutations; ++i) {
    std::string damaged = bytes;
    for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
      const std::size_t at = rng.below(damaged.size());
      static constexpr std::string_view kMeaningful = "{}[]\",:0123456789-.eF ";
      const char byte = rng.below(4) == 0 ? static_cast<char>(rng.below(256)) : kMeaningful[rng.below(22)];
      if (rng.below(3) == 0) {
        damaged.insert(at, 1, byte);
      } else {
        damaged[at] = byte;
      }
    }
    try {
      for (const auto& [name, tensor] : parse_safetensors(damaged, "file").tensors) {
        ASSERT_EQ(tensor.bytes.size(), num_values(tensor.shape) * dtype_size(tensor.dtype));
      }
    } catch (const ModelError&) {
      ++num_refused;
    }
  }
  EXPECT_GT(num_refused, kMutations / 10);
  EXPECT_LT(num_refused, kMutations);
}

}  // namespace
}  // namespace puretour
