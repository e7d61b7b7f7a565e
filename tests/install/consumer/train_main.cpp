// The smallest program that uses the part of an installed PureTour that needs LibTorch: one step of training.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "puretour/train/trainer.h"

int main() {
  auto recipe = puretour::train::paper_recipe("invit", 8, "pupo");
  recipe.embedding_dim = 8;
  recipe.num_heads = 2;
  recipe.feed_forward_dim = 8;
  recipe.batch = 2;
  recipe.baseline_instances = 2;
  puretour::train::Trainer trainer(recipe, {});
  trainer.step();
  const auto points = torch::rand({1, 8, 2});
  const auto tour = torch::arange(8).view({1, 1, 8});
  std::printf("step %d, %d log-probabilities\n", static_cast<int>(trainer.state().step),
              static_cast<int>(trainer.network().score(points, tour).size(2)));
}
