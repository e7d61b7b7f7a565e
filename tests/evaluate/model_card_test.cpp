// SPDX-License-Identifier: MIT
#include "puretour/evaluate/model_card.h"

#include <cmath>

#include "models/model_checks.h"
#include "puretour/base/files.h"
#include "puretour/models/import.h"

namespace puretour {
namespace {

TEST(ModelCard, TellsWhatTheRecipeTells) {
  Checkpoint checkpoint = test::tiny_checkpoint();
  checkpoint.notes["training_recipe"] =
      "model = \"am\"                    # network\nnodes = 50   # of an instance\nmethod = \"pupo\"  # or vanilla\n";
  checkpoint.notes["training_instances"] = "1280000";
  const std::string bytes = format_checkpoint(checkpoint);
  const ModelCard card = make_model_card(checkpoint, bytes, "am50-pupo");
  EXPECT_EQ(card.slot(), "AM-50");
  EXPECT_EQ(card.method, "pupo");
  EXPECT_EQ(card.training_instances, 1280000U);
  EXPECT_EQ(recipe_value("a = 1\nb=\"x y\"", "b"), "x y");
  EXPECT_EQ(recipe_value("a = 1\n", "nodes"), "");
  const ModelCard unknown = make_model_card(test::tiny_checkpoint(), bytes, "x");
  EXPECT_EQ(unknown.slot(), "");
  EXPECT_EQ(unknown.method, "");
}

TEST(ModelCard, HasTheNormsOfThePublishedWeights) {
  if (!test::peer_files_are_there()) GTEST_SKIP() << "no published weights beside the checkout";
  const std::string bytes = read_file(test::peer_file("am_tsp50.pt"));
  const ModelCard card = make_model_card(import_kool(bytes, "am_tsp50.pt", 10), bytes, "am");
  // Computed from the same file by NumPy.
  EXPECT_NEAR(card.norm_sum, 350, 1);
  EXPECT_NEAR(card.norm_joint, 76.4, 0.1);
}

}  // namespace
}  // namespace puretour
