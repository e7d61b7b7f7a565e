// Damaged files, 50,000 of them, made from small valid ones: each is refused by an InputError or read as something
// valid.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/base/text.h"
#include "puretour/tour/npz.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

const std::vector<std::string> kNastyNumbers = {"-1",
                                                "0",
                                                "1",
                                                "2",
                                                "3",
                                                "00",
                                                "-0",
                                                "1e999",
                                                "-1e999",
                                                "1e-400",
                                                "nan",
                                                "inf",
                                                "-inf",
                                                "2147483647",
                                                "2147483648",
                                                "4294967296",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "99999999999999999999999",
                                                "100000001",
                                                "20001",
                                                "0.5",
                                                "1.",
                                                ".5",
                                                ".",
                                                "-",
                                                "+",
                                                "+-1",
                                                "1e",
                                                "1e5",
                                                "0x10",
                                                "1,5",
                                                "",
                                                " ",
                                                "1 2",
                                                std::string(500, '9')};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, std::uint64_t seed) : corpus_(corpus), rng_(seed) {}

  /// A member of the corpus after one to four random changes.
  std::string next() {
    std::string text = corpus_[rng_.below(corpus_.size())];
    const std::uint64_t num_changes = 1 + rng_.below(4);
    for (std::uint64_t i = 0; i < num_changes; ++i) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    constexpr std::size_t kMaxSize = 10000;  // duplication must not run away
    const std::size_t at = rng_.below(text.size() + 1);
    const std::size_t length = std::min<std::size_t>(rng_.below(rng_.below(3) == 0 ? 40 : 4) + 1, text.size() - at);
    switch (rng_.below(9)) {
      case 0:  // flip a bit
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << rng_.below(8)));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:  // insert a byte, often one with a meaning
        text.insert(at, 1, random_byte());
        break;
      case 3:
        if (text.size() < kMaxSize) text.insert(at, text.substr(at, length));
        break;
      case 4: {  // splice with another member
        const std::string& other = corpus_[rng_.below(corpus_.size())];
        text = text.substr(0, at) + other.substr(rng_.below(other.size() + 1));
        break;
      }
      case 5:
        if (rng_.below(4) == 0) text.resize(at);
        break;
      case 6:
        if (at < text.size()) text[at] = random_byte();
        break;
      default:
        replace_number(text, at);
    }
  }

  char random_byte() {
    static constexpr std::string_view kMeaningful = " \n\r\t:,-+.0123456789eEPK(){}'<\xFF";
    return rng_.below(3) == 0 ? static_cast<char>(rng_.below(256)) : kMeaningful[rng_.below(kMeaningful.size())];
  }

  /// Replaces the first run of digits at or behind `at`.
  void replace_number(std::string& text, std::size_t at) {
    const std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    text.replace(begin, end - begin, kNastyNumbers[rng_.below(kNastyNumbers.size())]);
  }

  const std::vector<std::string>& corpus_;
  Rng rng_;
};

void check_mutations(const std::vector<std::string>& corpus, std::uint64_t seed, int count,
                     const std::function<void(std::string_view)>& check) {
  for (const std::string& text : corpus) ASSERT_NO_THROW(check(text)) << quote_input(text);
  Mutator mutator(corpus, seed);
  int num_refused = 0;
  for (int i = 0; i < count; ++i) {
    const std::string text = mutator.next();
    const auto start = std::chrono::steady_clock::now();
    try {
      check(text);
    } catch (const InputError&) {
      ++num_refused;
    } catch (const std::exception& error) {
      FAIL() << "mutation " << i << ": " << error.what() << "\ninput: " << text;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    ASSERT_LT(elapsed.count(), 1.0) << "mutation " << i << "\ninput: " << text;
  }
  // Both outcomes must be frequent, or the mutations test nothing.
  EXPECT_GT(num_refused, count / 10);
  EXPECT_LT(num_refused, count);
}

// Text formats have the larger share: more of their damaged files are still read.
constexpr int kTextMutations = 12'000;
constexpr int kTourMutations = 8'000;
constexpr int kArrayMutations = 6'000;

TEST(Mutations, OfTsplibInstances) {
  const WeightMatrix matrix{3, {0, 12, 13, 12, 0, 23, 13, 23, 0}};
  const std::vector<std::string> corpus = {
      format_tsplib(Instance({{0.25, 1}, {2, 3e-7}, {1e9, 5}, {-6, 7}}, Metric::kEuclidean, "real")),
      format_tsplib(Instance({{16.47, 96.10}, {16.47, 94.44}, {20.09, 92.54}}, Metric::kGeo, "geo")),
      format_tsplib(Instance(matrix, {{1, 2}, {3, 4}, {5, 6}}, "explicit")),
      "NAME : a b\r\nTYPE : TSP\r\nCOMMENT : x\r\nDIMENSION : 3\r\nEDGE_WEIGHT_TYPE : EXPLICIT\r\n"
      "EDGE_WEIGHT_FORMAT : FULL_MATRIX\r\nDISPLAY_DATA_TYPE : NO_DISPLAY\r\nEDGE_WEIGHT_SECTION\r\n0 1 2\r\n1 0 3\r\n"
      "2 3 0\r\nEOF\r\n",
      "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2 3",
      "DIMENSION: 2\nEDGE_WEIGHT_TYPE: ATT\nEDGE_WEIGHT_FORMAT: FUNCTION\nFIXED_EDGES_SECTION\n1 2\n-1\n"
      "NODE_COORD_SECTION\n2 1 1\n1 0 0\n"};
  check_mutations(corpus, 1, kTextMutations, check_tsplib);
}

TEST(Mutations, OfTsplibTours) {
  const std::vector<std::string> corpus = {format_tsplib_tour(Tour(std::vector<NodeId>{0, 3, 1, 4, 2}), "t", 17),
                                           "TOUR_SECTION\n3 1\n2 4 -1\nEOF\n",
                                           "TYPE : TOUR\r\nDIMENSION : 2\r\nTOUR_SECTION\r\n1\r\n2\r\n-1\r\n-1\r\n"};
  check_mutations(corpus, 2, kTourMutations, check_tsplib_tour);
}

TEST(Mutations, OfLines) {
  const std::vector<std::string> corpus = {"0.5 0.25 1 2 3e-5 4 output 1 3 2 1\n", "0 1 2 3 4 5 6 7",
                                           "0.5,0.25 1,2 3,4 output 2 1 3", "7 7 output 1 1"};
  check_mutations(corpus, 3, kTextMutations, check_line);
}

const std::vector<Sample> kSamples = {{Instance({{0, 1}, {2, 3}, {4, 5}}), Tour(std::vector<NodeId>{2, 0, 1})},
                                      {Instance({{0.5, 1}, {2, 3}, {4, 5}}), Tour::identity(3)}};

std::vector<std::string> npy_corpus() {
  std::string fortran = format_npy_samples(kSamples);
  fortran.replace(fortran.find("False"), 5, "True ");
  return {format_npy_samples(kSamples), format_npy_samples({kSamples.data(), 1}, true), fortran,
          format_npy(std::vector<std::int64_t>{1, 2, 3, 4}, std::vector<std::size_t>{2, 2})};
}

TEST(Mutations, OfArrays) {
  check_mutations(npy_corpus(), 4, kArrayMutations, check_npy);
}

TEST(Mutations, OfArchives) {
  check_mutations({format_npz_samples(kSamples), format_npz_samples({kSamples.data(), 1}, true)}, 5, kArrayMutations,
                  check_npz);
}

// Damage inside an archive is found by its checksum; this damages the arrays before they are packed.
TEST(Mutations, OfPackedArrays) {
  const std::vector<std::string> tours = {
      format_npy(std::vector<std::int64_t>{2, 0, 1, 0, 1, 2}, std::vector<std::size_t>{2, 3})};
  check_mutations(tours, 6, kArrayMutations, [](std::string_view bytes) {
    check_npz(format_npz(
        std::vector<NpzMember>{{"points.npy", format_npy_samples(kSamples)}, {"tours.npy", std::string(bytes)}}));
  });
}

}  // namespace
}  // namespace puretour
