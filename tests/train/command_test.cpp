// `puretour train` as users run it: killed, shared among processes, misused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "cli/command_line.h"
#include "puretour/report/learning_curves.h"
#include "puretour/train/training_state.h"

namespace puretour::test {
namespace {

const std::string kTiny =
    "--nodes 8 --embedding-dim 8 --num-heads 2 --num-layers 1 --feed-forward-dim 12 --num-action-layers 1 "
    "--action-view 4 --state-views 5,6 --epochs 3 --steps 4 --batch 6 --baseline-instances 10 "
    "--validation-instances 3 --log-steps 2 --learning-rate 0.01 --threads 1 -q ";

class Train : public CommandLine {
 protected:
  void train(const std::string& arguments) const {
    const CommandResult result = shell("puretour train " + kTiny + arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  [[nodiscard]] train::TrainingState last_state(const std::string& run) const {
    return *train::newest_state(path(run));
  }

  /// Trains where no file can grow beyond `bytes`: a write fails as it does on a full disk, in the middle.
  [[nodiscard]] CommandResult train_with_little_space(const std::string& arguments, std::uintmax_t bytes) const {
    return shell(fmt::format("trap '' XFSZ; exec prlimit --fsize={} puretour train {} {}", bytes, kTiny, arguments));
  }

  [[nodiscard]] std::uintmax_t size(const std::string& file) const { return std::filesystem::file_size(path(file)); }

  /// Name and content of the checkpoints of a run; there is nothing half written beside them.
  [[nodiscard]] std::map<std::string, std::string> checkpoints(const std::string& run) const {
    std::map<std::string, std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path(run))) {
      const std::string name = entry.path().filename().string();
      EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
      if (name.ends_with(".safetensors")) result[name] = read_file(entry.path().string());
    }
    return result;
  }

  void expect_same_run(const std::string& run, const std::string& expected) const {
    for (const char* name : {"log.jsonl", "model.safetensors", "validation.txt", "recipe.toml"}) {
      EXPECT_EQ(read_file(path(fmt::format("{}/{}", run, name))), read_file(path(fmt::format("{}/{}", expected, name))))
          << name;
    }
    EXPECT_EQ(last_state(run), last_state(expected));
  }
};

TEST_F(Train, KillsLeaveNoTrace) {
  const std::string arguments = "--model invit --method pupo --copies 2 --epochs 8 --checkpoint-steps 1 ";
  train(arguments + "-o whole");
  // Later and later, at moments that nothing in the program knows; in the end it may finish.
  int kills = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const CommandResult result = shell(
        fmt::format("timeout -s KILL {} puretour train {} {} -o killed", 0.15 + 0.11 * attempt, kTiny, arguments));
    if (result.exit_code == 0) break;
    ++kills;
  }
  train(arguments + "-o killed");
  EXPECT_GT(kills, 0);
  expect_same_run("killed", "whole");
}

TEST_F(Train, AFullDiskKeepsTheCheckpointsAndTheRunGoesOn) {
  const std::string arguments = "--model am --method pupo --checkpoint-steps 2 ";
  train(arguments + "-o whole");
  train(arguments + "-o full --stop-after 5");
  const auto before = checkpoints("full");
  ASSERT_EQ(before.size(), 3U);  // after steps 4 and 5, and the network
  // The network is the first to be written, the state is longer: each can be the one that does not fit.
  const std::uintmax_t network_size = size("full/model.safetensors");
  const std::uintmax_t state_size = size("full/state-000000000005.safetensors");
  ASSERT_GT(network_size, size("full/recipe.toml") + 100);
  ASSERT_GT(state_size, network_size + 2000);
  for (const std::uintmax_t bytes : {network_size - 100, network_size + 1000}) {
    const CommandResult result = train_with_little_space(arguments + "-o full", bytes);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find("safetensors: could not write everything: File too large"), std::string::npos)
        << result.err;
    auto after = checkpoints("full");
    EXPECT_EQ(after["state-000000000004.safetensors"], before.at("state-000000000004.safetensors"));
    EXPECT_EQ(after["state-000000000005.safetensors"], before.at("state-000000000005.safetensors"));
    EXPECT_EQ(after.size(), 3U);
    // The network that is there is a whole one.
    EXPECT_EQ(puretour({"models", "verify", "full/model.safetensors"}).exit_code, 0);
  }
  train(arguments + "-o full");
  expect_same_run("full", "whole");
}

TEST_F(Train, ALogThatCannotGrowEndsTheRunAndLosesNothing) {
  const std::string arguments = "--model am --epochs 10 --log-steps 1 --checkpoint-steps 1000 ";
  train(arguments + "-o whole");
  train(arguments + "-o full --stop-after 30");
  const auto before = checkpoints("full");
  const std::uintmax_t space = size("full/log.jsonl") + 100;  // less than a line
  ASSERT_GT(space, size("full/recipe.toml"));
  const CommandResult result = train_with_little_space(arguments + "-o full", space);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find(".jsonl: cannot be written; is the disk full?"), std::string::npos) << result.err;
  EXPECT_EQ(checkpoints("full"), before);
  train(arguments + "-o full");
  expect_same_run("full", "whole");
}

TEST_F(Train, ARunIsNotFinishedBeforeItsNetworkIsWritten) {
  train("--model am -o whole");
  train("--model am -o run --stop-after 11");
  std::filesystem::remove(path("run/model.safetensors"));
  make_folder("run/model.safetensors");  // in its way
  const CommandResult result = shell("puretour train " + kTiny + "--model am -o run");
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("model.safetensors: is a directory"), std::string::npos) << result.err;
  std::filesystem::remove(path("run/model.safetensors"));
  train("--model am -o run");
  expect_same_run("run", "whole");
}

TEST_F(Train, ASignalKeepsTheWorkAndTheSameCommandGoesOn) {
  const std::string arguments = "--model am --epochs 100000 --checkpoint-steps 1000000 -o run";
  const CommandResult result =
      shell("puretour train " + kTiny + arguments +
            " & job=$!; for i in $(seq 600); do [ -s run/timing.jsonl ] && break; sleep 0.1; done; "
            "kill -INT $job; kill -TERM $job; wait $job");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::uint64_t step = last_state("run").step;
  EXPECT_GE(step, 2U);
  EXPECT_EQ(shell(fmt::format("puretour train -o run -q --stop-after {}", step + 3)).exit_code, 0);
  EXPECT_EQ(last_state("run").step, step + 3);
}

TEST_F(Train, ProcessesTogetherComputeWhatOneDoes) {
  const std::string arguments = "--model invit --method pupo --copies 2 --stop-after 1 ";
  train(arguments + "-o one");
  for (const int count : {2, 3}) {
    std::string line;
    for (int rank = 0; rank < count; ++rank) {
      line += fmt::format("puretour train {} {} -o run{} --processes {} --rank {} --rendezvous file:$PWD/meet{} & ",
                          kTiny, arguments, count, count, rank, count);
    }
    const CommandResult result = shell(line + "wait");
    ASSERT_EQ(result.err, "");
    const auto one = last_state("one");
    const auto many = last_state(fmt::format("run{}", count));
    EXPECT_EQ(one.step, many.step);
    // After one step the first moments are a tenth of the gradient. (Weights would not do: Adam makes steps of one size
    // of gradients that are nothing but rounding.)
    double difference = 0;
    double size = 0;
    for (const auto& [name, tensor] : one.moments) {
      if (!name.starts_with("m.")) continue;
      for (std::size_t i = 0; i < tensor.values.size(); ++i) {
        const auto d = static_cast<double>(tensor.values[i] - many.moments.at(name).values[i]);
        difference += d * d;
        size += static_cast<double>(tensor.values[i]) * static_cast<double>(tensor.values[i]);
      }
    }
    EXPECT_GT(size, 0);
    EXPECT_LT(std::sqrt(difference / size), 1e-5) << count;
  }
}

TEST_F(Train, ALostProcessEndsTheOthersWithAWord) {
  const std::string common =
      "puretour train " + kTiny + "--model am --epochs 100000 -o run --processes 2 --rendezvous file:$PWD/meet ";
  const CommandResult result =
      shell(common + "--rank 1 & other=$!; " + common +
            "--rank 0 & job=$!; for i in $(seq 600); do [ -s run/timing.jsonl ] && break; sleep 0.1; done; "
            "kill -KILL $other; wait $job");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("process 0 has lost another one"), std::string::npos) << result.err;
}

TEST_F(Train, DrawsLearningCurves) {
  train("--model am -o a");
  train("--model am --method pupo -o b");
  const std::string svg = output({"train", "--plot", "a", "b/"});
  EXPECT_TRUE(svg.starts_with("<svg") || svg.starts_with("<?xml")) << svg.substr(0, 40);
  EXPECT_NE(svg.find(">b<"), std::string::npos);
  const LearningCurve curve = parse_learning_curve(read_file(path("a/log.jsonl")), "a", "a/log.jsonl");
  EXPECT_EQ(curve.instances, (std::vector<double>{0, 24, 48, 72}));
  EXPECT_NE(output({"train", "--plot", "a", "b", "--against", "minutes"}).find("minutes of training"),
            std::string::npos);
  expect_refused({"train", "--plot", "a", "--against", "days"}, "days");
}

TEST_F(Train, TheNetworkSolves) {
  train("--model am -o a");
  output({"generate", "-n", "12", "-o", "c.tsp"});
  EXPECT_EQ(json({"solve", "c.tsp", "--model", "a/model.safetensors", "--json"})[0]["method"], "am greedy");
}

TEST_F(Train, SaysWhatIsWrong) {
  expect_refused({"train"}, "say what to train, by --model or --config");
  expect_refused({"train", "--model", "am"}, "say where to keep the run");
  expect_refused({"train", "--model", "lstm", "-o", "x"}, "--model: model is 'lstm', but must be one of");
  expect_refused({"train", "--model", "am", "--batch", "0", "-o", "x"}, "--batch: batch is '0'");
  expect_refused({"train", "--model", "am", "--device", "cuda", "-o", "x"}, "CUDA devices; use --device cpu");
  expect_refused({"train", "--model", "am", "--device", "tpu", "-o", "x"}, "unknown device 'tpu'");
  expect_refused({"train", "--config", "missing.toml", "-o", "x"}, "missing.toml");
  expect_refused({"train", "--modle", "am"}, "--modle");
  expect_refused({"train", "--plot", "nowhere"}, "nowhere");
  expect_refused({"train", "--model", "am", "--processes", "2", "--rank", "2", "-o", "x"}, "--rank is 2");
  expect_refused({"train", "--model", "am", "--processes", "2", "--rendezvous", "x", "-o", "x"}, "HOST:PORT");
}

}  // namespace
}  // namespace puretour::test
