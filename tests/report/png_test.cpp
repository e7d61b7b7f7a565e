// SPDX-License-Identifier: MIT
#include "puretour/report/png.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

#include "puretour/base/error.h"
#include "puretour/base/files.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;

class Png : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("puretour-png-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file(path("a.svg"),
               R"(<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="9" height="9"/></svg>)");
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

// Four bytes, the most significant one first.
unsigned big_endian(const std::string& bytes, std::size_t at) {
  unsigned value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

TEST_F(Png, HasTwiceTheSizeOfTheDrawing) {
  if (!svg_to_png(path("a.svg"), path("a.png"))) GTEST_SKIP() << "rsvg-convert is not installed";
  const std::string png = read_file(path("a.png"));
  ASSERT_GT(png.size(), 24U);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_EQ(big_endian(png, 16), 60U);
  EXPECT_EQ(big_endian(png, 20), 40U);
  EXPECT_EQ(num_files(), 2U) << "no temporary file is left";
}

TEST_F(Png, TheProgramMayBeMissing) {
  EXPECT_FALSE(svg_to_png(path("a.svg"), path("a.png"), "puretour-no-such-program"));
  EXPECT_EQ(num_files(), 1U);
}

TEST_F(Png, AFailureLeavesTheOlderPictureAlone) {
  write_file(path("a.png"), "old");
  // Any program that fails, and one that succeeds without making a picture.
  EXPECT_THROW(svg_to_png(path("a.svg"), path("a.png"), "false"), InputError);
  EXPECT_THROW(svg_to_png(path("a.svg"), path("a.png"), "true"), InputError);
  EXPECT_EQ(read_file(path("a.png")), "old");
  EXPECT_EQ(num_files(), 2U);
  if (!svg_to_png(path("a.svg"), path("b.png"))) GTEST_SKIP() << "rsvg-convert is not installed";
  write_file(path("broken.svg"), "<svg");
  EXPECT_THROW(svg_to_png(path("broken.svg"), path("a.png")), InputError);
  EXPECT_EQ(read_file(path("a.png")), "old");
  EXPECT_EQ(num_files(), 4U);
}

}  // namespace
}  // namespace puretour
