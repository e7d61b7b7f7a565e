// Builds the report from the data in the page.
// SPDX-License-Identifier: MIT

import { ReportDocument } from "./document";
import { html, paragraph, watchTips } from "./dom";
import { lawSection } from "./law";
import { gapSection, puritySection, radarSection, timeSection, trainingSection, tsplibSection } from "./networks";
import { Results } from "./results";
import { section } from "./section";
import { tourExplorer } from "./tours";

const kNavigation: [string, string][] = [
  ["law", "Law"],
  ["tours", "Tours"],
  ["gaps", "Gaps"],
  ["tsplib", "TSPLIB"],
  ["time", "Time"],
  ["purity", "Purity"],
  ["training", "Training"],
  ["radar", "Radar"],
];

// As the system has it, until the reader chooses otherwise.
function watchTheme(): HTMLElement {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = (): void => {
    root.dataset.theme = dark.matches ? "dark" : "light";
  };
  follow();
  dark.addEventListener("change", follow);
  const button = html("button", { type: "button", class: "theme", "aria-label": "change between light and dark" }, "◐");
  button.addEventListener("click", () => {
    dark.removeEventListener("change", follow);
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
  return button;
}

// Hyphens of numbers as minus signs.
function typeset(text: string): string {
  return text.replace(/(^|\s)-(?=\d)/g, "$1−");
}

function header(data: ReportDocument): HTMLElement {
  const tiles = html("div", { class: "tiles" });
  for (const headline of data.headlines) {
    tiles.append(
      html(
        "div",
        { class: "tile" },
        html("div", { class: "tile-label" }, headline.label),
        html("div", { class: "tile-value" }, typeset(headline.value)),
        html("div", { class: "tile-paper" }, headline.paper ? `paper: ${typeset(headline.paper)}` : ""),
        html("div", { class: "tile-note" }, typeset(headline.note)),
      ),
    );
  }
  return html(
    "header",
    {},
    html("div", { class: "bar-top" }, html("nav", { "aria-label": "sections" }, ...kNavigation.map(([id, name]) => html("a", { href: `#${id}` }, name))), watchTheme()),
    html("p", { class: "eyebrow" }, "PureTour report"),
    html("h1", {}, "The Purity Law, measured again"),
    paragraph(
      "Every table and figure of “Purity Law for Generalizable Neural TSP Solvers” beside numbers of our own, and what in the paper does not hold, said where it matters.",
      "lead",
    ),
    tiles,
  );
}

function footer(data: ReportDocument): HTMLElement {
  const sources = [data.law?.program, ...data.evaluations.map((evaluation) => evaluation.program)].filter(Boolean).join("; ");
  return html(
    "footer",
    {},
    paragraph(`Made by ${data.program} on ${data.machine}, ${data.created}. Results by ${sources || "nobody yet"}. Say \`puretour reproduce --full\` to make all of it again.`),
  );
}

// What is folded away on the screen belongs on paper.
function unfoldForPrinting(): void {
  let folded: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details")].filter((element) => !element.open);
    for (const element of folded) element.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const element of folded) element.open = false;
  });
}

function build(): void {
  const source = document.getElementById("report-data")?.textContent ?? "null";
  const data = JSON.parse(source) as ReportDocument;
  const results = new Results(data.evaluations, data.paper);
  const pictures = results.pictures.filter((picture) => picture.tours.length > 0);
  document.body.replaceChildren(
    header(data),
    html(
      "main",
      {},
      lawSection(data.law, data.propositions, data.paper),
      section(
        "tours",
        "Tours to look at",
        pictures.length > 0
          ? "The first instance of each type. Point at an edge (or use the arrow keys) to see its length, its order and its covering circle with the nodes inside."
          : "No evaluation in this report has tours to show: `puretour evaluate --solvers 2opt -o out` makes some.",
        pictures.length > 0 ? tourExplorer(pictures, results.solvers) : null,
      ),
      gapSection(results),
      tsplibSection(results, data.paper),
      timeSection(results),
      puritySection(results),
      trainingSection(results, data.paper, data.runs),
      radarSection(results, data.paper),
    ),
    footer(data),
  );
  watchTips();
  unfoldForPrinting();
  document.documentElement.dataset.ready = "yes";
}

build();
