// The report in a real browser.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "cli/command_line.h"
#include "models/model_checks.h"

namespace puretour::test {
namespace {

class Report : public CommandLine {
 protected:
  /// The program, or an empty string.
  static std::string browser() {
    for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
      if (std::filesystem::exists(path)) return path;
    }
    return "";
  }

  /// The document after its scripts have run.
  [[nodiscard]] std::string rendered(const std::string& page) const {
    const CommandResult result =
        run_command({browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", "--user-data-dir=" + path("profile"), "--window-size=1280,4000",
                     "--virtual-time-budget=5000", "--dump-dom", "file://" + path(page)},
                    "", path(""));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  /// What the hooks below found, by key.
  static nlohmann::json findings(const std::string& document) {
    const std::string mark = "<pre id=\"findings\">";
    const std::size_t begin = document.find(mark);
    if (begin == std::string::npos) return nlohmann::json::object();
    return nlohmann::json::parse(
        document.substr(begin + mark.size(), document.find("</pre>", begin) - begin - mark.size()));
  }
};

// Before the page's own script: every error is kept.
constexpr const char* kBefore = R"(<script>
window.errors = [];
window.addEventListener("error", (event) => errors.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
for (const kind of ["error", "warn"]) console[kind] = (...words) => errors.push(words.join(" "));
</script>
<style>)";

// After it: what a reader would do and see. Numbers only, so that nothing needs to be escaped.
constexpr const char* kAfter = R"js(<script>
const found = {};
const count = (query) => document.querySelectorAll(query).length;
found.sections = count("main > section");
found.charts = count("svg.chart");
found.marks = count("svg.chart .mark");
found.heat_cells = count(".heat td");
found.warnings = count(".warning");
found.tiles = count(".tile");
found.gap_rows = document.querySelector("#gaps table.data").querySelectorAll("tbody tr").length;
const leaves = (query) => [...document.querySelectorAll(query)].filter((e) => e.children.length === 0).map((e) => e.textContent);
found.no_model = leaves("#gaps .missing .value").filter((text) => text === "no model").length;
found.nan = leaves("body *:not(script)").filter((text) => /NaN|undefined|Infinity/.test(text)).length;
found.tours = count("svg.tour");
found.edges = count("svg.tour .edges line");
const facts = (n) => [...document.querySelectorAll(".facts")[n].querySelectorAll("dd")].map((e) => parseFloat(e.textContent));
found.network_facts = facts(0);
found.reference_facts = facts(1);
const tour = document.querySelector("svg.tour");
const line = [...tour.querySelectorAll(".edges line")].pop();
const box = line.getBoundingClientRect();
const at = { clientX: (box.left + box.right) / 2, clientY: (box.top + box.bottom) / 2, bubbles: true };
tour.dispatchEvent(new PointerEvent("pointermove", at));
const tip = document.getElementById("tooltip");
found.shown_edge = Number(tour.dataset.shownEdge ?? -1) === Number(line.dataset.edge) ? 1 : 0;
found.circle_radius = Number(tour.querySelector(".focus .cover")?.getAttribute("r") ?? 0);
found.line_length = Math.hypot(line.x2.baseVal.value - line.x1.baseVal.value, line.y2.baseVal.value - line.y1.baseVal.value);
found.inside = tour.querySelectorAll(".focus .inside").length;
found.tip_order = Number(/order (\d+)/.exec(tip.textContent)?.[1] ?? -1);
found.tip_length = Number(/length ([\d.]+)/.exec(tip.textContent)?.[1] ?? -1);
tour.dispatchEvent(new PointerEvent("pointerleave", {}));
found.tip_hidden = tip.hidden ? 1 : 0;
tour.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
found.by_keyboard = tour.querySelectorAll(".focus .cover").length;
const cell = document.querySelector("#gaps td[data-tip]");
cell.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 5, clientY: 5 }));
found.cell_tip = !tip.hidden && tip.textContent.includes("interval") ? 1 : 0;
const paper = () => getComputedStyle(document.body).backgroundColor;
const light = paper();
document.querySelector(".theme").click();
found.theme_changes = paper() !== light ? 1 : 0;
const pick = document.getElementById("pick-instance");
pick.value = "1";
pick.dispatchEvent(new Event("change"));
found.other_edges = count("svg.tour .edges line");
found.errors = errors.length;
document.body.innerHTML = "";
const pre = document.createElement("pre");
pre.id = "findings";
pre.textContent = JSON.stringify(found);
document.body.append(pre);
if (errors.length > 0) document.body.append(errors.join("; "));
</script>
</body>)js";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST_F(Report, WorksInABrowser) {
  if (browser().empty()) GTEST_SKIP() << "chromium is not installed";
  Checkpoint checkpoint = tiny_checkpoint();
  checkpoint.notes["training_recipe"] = "nodes = 50\nmethod = \"vanilla\"\n";
  write("am50.safetensors", format_checkpoint(checkpoint));
  ASSERT_EQ(puretour({"evaluate", "--models", "am50.safetensors", "--solvers", "2opt", "--scales", "100,30",
                      "--distributions", "uniform", "--instances", "1", "-o", "evaluation"})
                .exit_code,
            0);
  ASSERT_EQ(puretour({"law", "--scales", "20,30", "--instances", "4", "-o", "law"}).exit_code, 0);
  ASSERT_EQ(puretour({"law", "--propositions", "--instances", "2", "-o", "propositions"}).exit_code, 0);
  EXPECT_EQ(output({"report", "law", "propositions", "evaluation", "-o", "report.html"}),
            "the report is report.html\n");
  std::string page = read("report.html");
  EXPECT_LT(page.size(), 5'000'000U);
  page = replaced(replaced(page, "<style>", kBefore), "</body>", kAfter);
  write("hooked.html", page);
  const std::string document = rendered("hooked.html");
  const nlohmann::json found = findings(document);
  ASSERT_TRUE(found.contains("errors")) << document.substr(0, 3000);
  EXPECT_EQ(found["errors"], 0) << document.substr(document.find("findings"));
  EXPECT_EQ(found["sections"], 8);
  EXPECT_GE(found["charts"], 4 + 3 + 8 + 1 + 2) << "law curves, metrics, fits, deviations, radar";
  EXPECT_GT(found["marks"], 100);
  EXPECT_EQ(found["heat_cells"], 16 * 6) << "the paper's; we have no pair";
  EXPECT_GE(found["warnings"], 4);
  EXPECT_EQ(found["tiles"], 5);
  EXPECT_EQ(found["gap_rows"], 16);
  EXPECT_EQ(found["no_model"], 16 * 11) << "all places of the gap table but one network's";
  EXPECT_EQ(found["nan"], 0);
  EXPECT_EQ(found["tours"], 2);
  EXPECT_EQ(found["edges"], 2 * 100);
  EXPECT_EQ(found["other_edges"], 2 * 30);
  EXPECT_EQ(found["shown_edge"], 1);
  EXPECT_NEAR(found["circle_radius"].get<double>(), found["line_length"].get<double>() / 2, 0.2);
  EXPECT_GT(found["inside"], 0) << "edges of high order are drawn last";
  EXPECT_EQ(found["tip_order"], found["inside"]);
  EXPECT_GT(found["tip_length"], 0);
  EXPECT_EQ(found["tip_hidden"], 1);
  EXPECT_EQ(found["by_keyboard"], 1);
  EXPECT_EQ(found["cell_tip"], 1);
  EXPECT_EQ(found["theme_changes"], 1);

  // The page counts nodes in circles by itself: the same numbers as the program's, rounded.
  const auto evaluation = nlohmann::json::parse(read("evaluation/evaluate.json"));
  const auto& result = evaluation["results"][0];
  ASSERT_EQ(result["set"], "uniform-100");
  EXPECT_NEAR(found["network_facts"][1].get<double>(), 100 * result["gap"]["mean"].get<double>(), 0.006);
  EXPECT_NEAR(found["network_facts"][2].get<double>(), 100 * result["prop_0"].get<double>(), 0.06);
  EXPECT_NEAR(found["network_facts"][3].get<double>(), result["apo_all"].get<double>(), 0.0006);
  const auto& reference = evaluation["sets"][0]["references"];
  EXPECT_NEAR(found["reference_facts"][2].get<double>(), 100 * reference["prop_0"].get<double>(), 0.06);
  EXPECT_NEAR(found["reference_facts"][3].get<double>(), reference["apo_all"].get<double>(), 0.0006);
}

TEST_F(Report, RefusesWhatItCannotRead) {
  make_folder("empty");
  write("law.json", "{}");
  expect_refused({"report", "-o", "r.html"}, "RESULTS is required");
  expect_refused({"report", "empty"}, "--output is required");
  expect_refused({"report", "empty", "-o", "r.html"}, "holds no results");
  expect_refused({"report", "law.json", "-o", "r.html"}, "no result of puretour law");
}

}  // namespace
}  // namespace puretour::test
