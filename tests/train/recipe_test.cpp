// SPDX-License-Identifier: MIT
#include "puretour/train/recipe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "puretour/base/error.h"
#include "puretour/base/files.h"

namespace puretour::train {
namespace {

std::string error_of(const std::string& text) {
  try {
    (void)parse_recipe(text, "r.toml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recipe, IsReadBackAsItWasWritten) {
  Recipe recipe = paper_recipe("invit", 100, "pupo");
  recipe.learning_rate = 1.0 / 3;
  recipe.state_views = {20, 30, 41};
  recipe.clamp_weights = true;
  recipe.baseline = "exponential";
  recipe.seed = 9'000'000'000'000'000;
  EXPECT_EQ(parse_recipe(recipe_text(recipe), "text"), recipe);
}

TEST(Recipe, LeavesWhatIsNotNamedAsInThePaper) {
  const Recipe recipe =
      parse_recipe("model = \"pointerformer\"  # a network\nnodes=100\n\nmethod = \"pupo\"\nbatch = 7\n", "r");
  Recipe expected = paper_recipe("pointerformer", 100, "pupo");
  expected.batch = 7;
  EXPECT_EQ(recipe, expected);
  EXPECT_EQ(recipe.tours, 100U);
  EXPECT_EQ(recipe.learning_rate, 1.7e-4);
}

TEST(Recipe, ErrorsSayLineValueAndWhatIsPossible) {
  EXPECT_EQ(error_of("nodes = 50\nnodes = 60\n"), "r.toml:2: nodes is set twice");
  EXPECT_EQ(error_of("\nmodle = \"am\"\n"),
            "r.toml:2: there is no field 'modle'; \"puretour train --help\" lists them");
  EXPECT_EQ(error_of("model = \"lstm\"\n"),
            "r.toml:1: model is '\"lstm\"', but must be one of am, pointerformer, invit");
  EXPECT_EQ(error_of("batch = -3\n"), "r.toml:1: batch is '-3', but must be a whole number from 1 to 1000000");
  EXPECT_EQ(error_of("learning_rate = nan\n"), "r.toml:1: learning_rate is 'nan', but must be a number from 0 to 10");
  EXPECT_EQ(error_of("clamp_weights = yes\n"), "r.toml:1: clamp_weights is 'yes', but must be true or false");
  EXPECT_EQ(error_of("state_views = [35,]\n"),
            "r.toml:1: state_views is '[35,]', but must be whole numbers from 1 to 1000 with commas between them");
  EXPECT_EQ(error_of("just words\n"), "r.toml:1: 'just words' is no line of the kind: key = value");
  EXPECT_EQ(error_of("baseline = \"shared\"\n"),
            "baseline is shared, which compares the tours of an instance, so that tours must be at least 2");
}

const std::filesystem::path kExperiments =
    std::filesystem::path(PURETOUR_TEST_DATA).parent_path().parent_path() / "experiments";

TEST(Recipe, TheCommittedOnesSayEverything) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kExperiments)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string text = read_file(entry.path().string());
    const Recipe recipe = parse_recipe(text, entry.path().string());
    EXPECT_NO_THROW(check_recipe(recipe)) << entry.path();
    EXPECT_EQ(recipe_text(recipe), text) << entry.path() << " is not what --print-config prints of it";
    ++count;
  }
  EXPECT_GE(count, 31U);
}

// The twelve runs of the paper.
TEST(Recipe, TheCommittedOnesAreThoseOfThePaper) {
  const std::filesystem::path& folder = kExperiments;
  const auto rates = [](const std::string& model, std::size_t nodes) {
    if (model == "am") return nodes == 50 ? 1.0e-4 : 1.5e-4;
    if (model == "pointerformer") return nodes == 50 ? 1.0e-4 : 1.7e-4;
    return nodes == 50 ? 1.1e-4 : 1.2e-4;
  };
  for (const std::string model : {"am", "pointerformer", "invit"}) {
    for (const std::size_t nodes : {50U, 100U}) {
      for (const std::string method : {"vanilla", "pupo"}) {
        const std::string path = (folder / (model + std::to_string(nodes) + "-" + method + ".toml")).string();
        const Recipe recipe = parse_recipe(read_file(path), path);
        EXPECT_EQ(recipe, paper_recipe(model, nodes, method)) << path;
        EXPECT_EQ(recipe.learning_rate, method == "pupo" ? rates(model, nodes) : 1e-4) << path;
      }
    }
  }
}

// What follows the teacher differs between the two methods in the weights only.
TEST(Recipe, TheCommittedSecondStagesDifferInTheWeightsOnly) {
  for (const std::string model : {"am", "pointerformer", "invit"}) {
    for (const std::string nodes : {"50", "100"}) {
      const std::string stem = (kExperiments / (model + nodes + "-teacher")).string();
      const Recipe teacher = parse_recipe(read_file(stem + ".toml"), stem);
      EXPECT_EQ(teacher.method, "teacher");
      const Recipe vanilla = parse_recipe(read_file(stem + "-vanilla.toml"), stem);
      Recipe pupo = parse_recipe(read_file(stem + "-pupo.toml"), stem);
      EXPECT_EQ(vanilla.method, "vanilla");
      EXPECT_EQ(vanilla.initial_weights, "runs/" + model + nodes + "-teacher/model.safetensors");
      EXPECT_EQ(pupo.method, "pupo");
      EXPECT_EQ(pupo.weights, "paper");
      pupo.method = vanilla.method;
      pupo.weights = vanilla.weights;
      EXPECT_EQ(pupo, vanilla);
    }
  }
}

}  // namespace
}  // namespace puretour::train
