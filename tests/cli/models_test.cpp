// SPDX-License-Identifier: MIT
#include "cli/command_line.h"
#include "models/model_checks.h"

namespace puretour::test {
namespace {

class Models : public CommandLine {
 protected:
  /// The call must end with code 3 and one line that contains `message`.
  void expect_unusable(const std::vector<std::string>& arguments, const std::string& message) const {
    const CommandResult result = puretour(arguments);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
};

TEST_F(Models, AreListedAndShown) {
  make_folder("models");
  write("models/b.safetensors", format_checkpoint(tiny_checkpoint()));
  write("models/a.safetensors", "not one");
  write("models/notes.txt", "hello");
  const auto list = json({"models", "list", "models", "--json"});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_NE(list[0]["error"].get<std::string>().find("no safetensors file"), std::string::npos);
  EXPECT_EQ(list[1]["architecture"], "am");
  EXPECT_NE(output({"models", "list", "models"}).find("unusable"), std::string::npos);
  const auto shown = json({"models", "show", "models/b.safetensors", "--json"});
  EXPECT_EQ(shown["config"]["embedding_dim"], 2);
  EXPECT_EQ(shown["notes"]["training"], "none");
  EXPECT_EQ(shown["tensors"][0]["name"], "W_placeholder");
  EXPECT_EQ(shown["parameters"], num_parameters(tiny_checkpoint().config));
  const std::string text = output({"models", "show", "models/b.safetensors"});
  EXPECT_NE(text.find("tanh_clip: 10.0"), std::string::npos) << text;
  EXPECT_NE(text.find("project_out.weight"), std::string::npos) << text;
}

TEST_F(Models, AreVerified) {
  std::string bytes = format_checkpoint(tiny_checkpoint());
  write("good.safetensors", bytes);
  bytes.back() ^= 1;
  write("bad.safetensors", bytes);
  EXPECT_NE(output({"models", "verify", "good.safetensors"}).find("ok   good.safetensors  am"), std::string::npos);
  expect_unusable({"models", "verify", "good.safetensors", "bad.safetensors"}, "bad.safetensors: the checksum");
  expect_unusable({"models", "show", "bad.safetensors"}, "the checksum does not fit");
  const CommandResult both = puretour({"models", "verify", "bad.safetensors", "good.safetensors"});
  EXPECT_NE(both.out.find("BAD  bad.safetensors"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("ok   good.safetensors"), std::string::npos) << both.out;
}

TEST_F(Models, AreImported) {
  if (!peer_files_are_there()) GTEST_SKIP() << "no published weights beside the checkout";
  EXPECT_EQ(output({"models", "import", "--format", "kool", peer_file("am_tsp50.pt"), "-o", "am.safetensors"}), "");
  const auto shown = json({"models", "show", "am.safetensors", "--json"});
  EXPECT_EQ(shown["parameters"], 708'608);
  EXPECT_EQ(shown["notes"]["imported_sha256"], "10e0e882f17a15ae44da04d9d8939ce599d3cf133c0593649a066608ff51ab43");
  EXPECT_NE(output({"models", "verify", "am.safetensors"}).find("708608 parameters"), std::string::npos);
}

TEST_F(Models, RefusesWhatItCannotDo) {
  write("x.pt", "hello");
  make_folder("empty");
  expect_refused({"models"}, "subcommand is required");
  expect_refused({"models", "import", "x.pt", "-o", "y"}, "--format is required");
  expect_refused({"models", "import", "x.pt", "--format", "magic", "-o", "y"}, "magic not in {kool}");
  expect_refused({"models", "show", "missing"}, "missing");
  expect_refused({"models", "list", "empty"}, "no .safetensors file");
  expect_unusable({"models", "import", "x.pt", "--format", "kool", "-o", "y"}, "no safetensors file");
  EXPECT_FALSE(exists("y"));
}

}  // namespace
}  // namespace puretour::test
