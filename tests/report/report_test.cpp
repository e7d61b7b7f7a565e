// SPDX-License-Identifier: MIT
#include "puretour/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/report/paper_results.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json law_document() {
  return Json::parse(R"({"program":"p","seed":1,"solver":"eax","instances":2,"types_compared":2,
    "types_within_3_standard_errors":1,"types":[
    {"scale":20,"distribution":"uniform","instances":1,"histogram":[90,10],"fit":{"alpha":0.9,"beta":2.0}},
    {"scale":50,"distribution":"uniform","instances":1,"histogram":[280,10,10],"fit":{"alpha":0.92,"beta":2.6}}]})");
}

Json evaluation_document() {
  return Json::parse(R"({"kind":"puretour evaluation 1","program":"p","machine":"m","sets":[{"name":"uniform-100"}],
    "solvers":[{"name":"am","kind":"model"},{"name":"2opt","kind":"classical"}],
    "results":[{"set":"uniform-100","solver":"am","items":3,"gap":{"mean":0.0412,"low":0.03,"high":0.05}},
               {"set":"uniform-100","solver":"2opt","items":3,"gap":{"mean":0.05,"low":0.03,"high":0.05}}],
    "pairs":[{"slot":"AM-50","vanilla":"v","pupo":"p","set":null,"items":9,"shorter":5,"longer":4,
              "difference":{"mean":-0.0123,"low":-0.02,"high":0.001}}],
    "pictures":[{"set":"uniform-100","item":"0","points":[[0,0],[1,0]],"reference":{"length":2,"tour":[0,1]},"tours":[]}]})");
}

// The data in a page.
Json data_of(const std::string& page) {
  const std::string mark = "type=\"application/json\">";
  const std::size_t begin = page.find(mark) + mark.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(PaperResults, AreThoseOfTheTables) {
  // 16 types of 6 networks, without the four of 10,000 nodes on which AM and Pointerformer ran out of memory.
  ASSERT_EQ(paper_results().size(), 16U * 6 - 4 * 4);
  double vanilla = 0;
  double pupo = 0;
  std::size_t better = 0;
  for (const PaperResult& result : paper_results()) {
    vanilla += result.vanilla.gap_percent;
    pupo += result.pupo.gap_percent;
    better += result.pupo.gap_percent < result.vanilla.gap_percent ? 1 : 0;
    // A typing error would break the tie between length and gap: all networks of a type have the same reference, up to
    // the difference between a mean of ratios and a ratio of means.
    const PaperResult* first = nullptr;
    for (const PaperResult& other : paper_results()) {
      if (other.distribution == result.distribution && other.scale == result.scale && first == nullptr) first = &other;
    }
    const auto reference = [](const PaperCell& cell) { return cell.length / (1 + cell.gap_percent / 100); };
    EXPECT_NEAR(reference(result.pupo) / reference(first->vanilla), 1, 0.05) << result.model << " " << result.scale;
    EXPECT_NEAR(reference(result.vanilla) / reference(first->vanilla), 1, 0.05) << result.model << " " << result.scale;
  }
  EXPECT_LT(pupo, vanilla);
  EXPECT_GT(better, 60U);
  EXPECT_EQ(paper_tsplib().size(), 12U);
  EXPECT_EQ(paper_training().size(), 8U);
  EXPECT_EQ(paper_radar().size(), 4U);
}

TEST(Report, TellsTheNumbersThatMatter) {
  ReportInputs inputs;
  inputs.law = law_document().dump();
  inputs.evaluations = {evaluation_document().dump()};
  const std::vector<Headline> found = headlines(inputs);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].value, "0.910, 2.30");
  EXPECT_EQ(found[0].paper, "0.899, 2.38") << "of the same types";
  EXPECT_EQ(found[1].value, "92.5 %");
  EXPECT_EQ(found[2].value, "1 of 2");
  EXPECT_EQ(found[3].value, "4.12 %");
  EXPECT_EQ(found[4].value, "-1.23");
  EXPECT_NE(found[4].note.find("-2.00 to +0.10"), std::string::npos) << found[4].note;
}

TEST(Report, SaysWhereThereIsNoModel) {
  ReportInputs inputs;
  Json evaluation = evaluation_document();
  evaluation["solvers"].erase(0);
  evaluation["results"].erase(0);
  evaluation["pairs"].clear();
  inputs.evaluations = {evaluation.dump()};
  const std::vector<Headline> found = headlines(inputs);
  EXPECT_EQ(found[0].value, "not measured");
  EXPECT_EQ(found[3].value, "no model");
  EXPECT_EQ(found[3].note, "2-opt: 5.0 %");
  EXPECT_EQ(found[4].value, "no model");
}

TEST(Report, IsOnePageThatNeedsNothingElse) {
  ReportInputs inputs;
  inputs.law = law_document().dump();
  Json evaluation = evaluation_document();
  evaluation["machine"] = "</script><!-- an evil name";
  inputs.evaluations = {evaluation.dump()};
  inputs.runs = {{"am50", "model = \"am\"\nnodes = 50\nmethod = \"pupo\"\n",
                  R"({"validation_step":5,"instances":640,"gap":0.2,"prop0":0.8,"apo_all":0.3,"apo_non0":1.2})"
                  "\n",
                  "{\"step\":1,\"instances_per_second\":100}\n{\"step\":5,\"instances_per_second\":200}\n"}};
  const std::string page = report_html(inputs, {"program", "machine", "2026-01-01"});
  EXPECT_LT(page.size(), kMaxReportBytes);
  std::size_t num_scripts = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1))
    ++num_scripts;
  EXPECT_EQ(num_scripts, 2U) << "names cannot end a script";
  for (std::size_t at = page.find("http"); at != std::string::npos; at = page.find("http", at + 1)) {
    EXPECT_EQ(page.substr(at, 26), "http://www.w3.org/2000/svg") << "only a name, nothing to load";
  }
  const Json data = data_of(page);
  EXPECT_EQ(data["evaluations"][0]["machine"], "</script><!-- an evil name");
  EXPECT_EQ(data["paper"]["law"].size(), 84U);
  EXPECT_EQ(data["runs"][0]["slot"], "AM-50");
  EXPECT_NEAR(data["runs"][0]["minutes_per_epoch"].get<double>(), 1280000 / 200.0 / 60, 1e-9);
}

// INViT sees turned copies of every instance, sixteen in the paper: the work of an epoch is that of its copies.
TEST(Report, MinutesOfAnEpochAreThoseOfItsCopies) {
  const auto minutes = [](const std::string& recipe) {
    ReportInputs inputs;
    inputs.runs = {{"invit50", "model = \"invit\"\nnodes = 50\nmethod = \"pupo\"\n" + recipe,
                    R"({"validation_step":5,"instances":640,"gap":0.2,"prop0":0.8,"apo_all":0.3,"apo_non0":1.2})"
                    "\n",
                    "{\"step\":5,\"instances_per_second\":2}\n"}};
    const Json data = data_of(report_html(inputs, {"program", "machine", "2026-01-01"}));
    return data["runs"][0]["minutes_per_epoch"].get<double>();
  };
  EXPECT_NEAR(minutes("copies = 1\n"), 38400 / 2.0 / 60, 1e-9);
  EXPECT_NEAR(minutes("copies = 16\n"), 2400 / 2.0 / 60, 1e-9);
  EXPECT_NEAR(minutes(""), 2400 / 2.0 / 60, 1e-9);
}

TEST(Report, LeavesOutTheLargestToursWhereItWouldBeTooLarge) {
  ReportInputs inputs;
  Json evaluation = evaluation_document();
  Json large = evaluation["pictures"][0];
  for (int i = 0; i < 300000; ++i) large["points"].push_back({i, 0.123456789});
  evaluation["pictures"].push_back(large);
  inputs.evaluations = {evaluation.dump()};
  const std::string page = report_html(inputs, {});
  EXPECT_LT(page.size(), kMaxReportBytes);
  EXPECT_EQ(data_of(page)["evaluations"][0]["pictures"].size(), 1U);
}

TEST(Report, RefusesFilesThatAreSomethingElse) {
  const auto refuses = [](const ReportInputs& inputs) { EXPECT_THROW(report_html(inputs, {}), InputError); };
  refuses({.law = "no json", .propositions = {}, .evaluations = {}, .runs = {}});
  refuses({.law = "{}", .propositions = {}, .evaluations = {}, .runs = {}});
  refuses({.law = {}, .propositions = "{}", .evaluations = {}, .runs = {}});
  refuses({.law = {}, .propositions = {}, .evaluations = {"{}"}, .runs = {}});
  refuses({.law = {}, .propositions = {}, .evaluations = {}, .runs = {{"r", "model = \"am\"\n", "", "{}\n"}}});
  refuses({.law = {}, .propositions = {}, .evaluations = {}, .runs = {{"r", "model = \"am\"\n", "", ""}}});
}

TEST(Report, FindsResultsInFoldersAndTheirFolders) {
  const fs::path folder = fs::temp_directory_path() / ("puretour-report-" + std::to_string(::getpid()));
  fs::create_directories(folder / "out/law");
  fs::create_directories(folder / "out/evaluation");
  fs::create_directories(folder / "empty");
  write_file((folder / "out/law/law.json").string(), law_document().dump());
  write_file((folder / "out/evaluation/evaluate.json").string(), evaluation_document().dump());
  const std::vector<std::string> all = {(folder / "out").string()};
  const ReportInputs inputs = find_report_inputs(all);
  EXPECT_TRUE(inputs.law);
  EXPECT_EQ(inputs.evaluations.size(), 1U);
  const std::vector<std::string> file = {(folder / "out/law/law.json").string()};
  EXPECT_TRUE(find_report_inputs(file).law);
  for (const char* nothing : {"empty", "nowhere"}) {
    const std::vector<std::string> paths = {(folder / nothing).string()};
    EXPECT_THROW(find_report_inputs(paths), InputError);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace puretour
