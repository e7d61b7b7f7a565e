// The Purity Law: the table, the curves, the metrics, and the propositions.
// SPDX-License-Identifier: MIT

import { lineCharts, Panel, Series } from "./charts";
import { Distribution, Law, LawType, Paper, Propositions } from "./document";
import { fixed, html, paragraph, thousands } from "./dom";
import { Cell, details, figure, section, table, warning } from "./section";

const kDistributions: Distribution[] = ["uniform", "clustered", "explosion", "implosion"];

function shares(histogram: number[]): number[] {
  const all = histogram.reduce((a, b) => a + b, 0);
  return histogram.map((count) => count / all);
}

// Small, middle and large, so that curves can be told apart.
function scalesToDraw(law: Law): number[] {
  const all = [...new Set(law.types.map((type) => type.scale))].sort((a, b) => a - b);
  if (all.length <= 4) return all;
  return [0, 1, 2, 3].map((i) => all[Math.round((i * (all.length - 1)) / 3)]);
}

function curves(law: Law): HTMLElement {
  const scales = scalesToDraw(law);
  const panels: Panel[] = kDistributions.map((distribution) => ({
    title: distribution,
    series: law.types
      .filter((type) => type.distribution === distribution && scales.includes(type.scale))
      .map((type) => ({
        name: `${type.scale} nodes`,
        style: scales.indexOf(type.scale),
        points: shares(type.histogram).map((share, order): [number, number] => [order, share]).filter((point) => point[1] > 0),
      })),
  }));
  const percent = (value: number): string => `${Number((100 * value).toPrecision(2))} %`;
  return lineCharts(panels, { label: "purity order" }, { label: "", logarithmic: true, most: 1, format: percent }, { width: 250, height: 220 });
}

function fits(law: Law, paper: Paper): HTMLElement {
  const of = (distribution: Distribution, which: "alpha" | "beta"): Series[] => {
    const types = law.types.filter((type) => type.distribution === distribution && type.fit);
    const ours: Series = {
      name: "ours, with 95 % interval",
      style: 0,
      points: types.map((type) => [type.scale, type.fit![which]]),
      band: types.map((type) => (which === "alpha" ? type.alpha_interval : type.beta_interval) ?? [type.fit![which], type.fit![which]]),
    };
    const theirs: Series = {
      name: "paper",
      style: 1,
      hollow: true,
      marksOnly: true,
      points: paper.law.filter((fit) => fit.distribution === distribution).map((fit) => [fit.scale, fit[which]]),
    };
    return [ours, theirs];
  };
  const draw = (which: "alpha" | "beta"): HTMLElement =>
    lineCharts(
      kDistributions.map((distribution) => ({ title: `${which === "alpha" ? "α" : "β"}, ${distribution}`, series: of(distribution, which) })),
      { label: "nodes", logarithmic: true },
      { label: "" },
      { width: 250, height: 210, noLegend: which === "beta" },
    );
  return html("div", {}, draw("alpha"), draw("beta"));
}

function metrics(law: Law): HTMLElement {
  const series = (value: (type: LawType) => number | null | undefined): Series[] =>
    kDistributions.map((distribution, style) => ({
      name: distribution,
      style,
      points: law.types
        .filter((type) => type.distribution === distribution)
        .flatMap((type): [number, number][] => {
          const y = value(type);
          return y === null || y === undefined ? [] : [[type.scale, y]];
        }),
    }));
  const panels: Panel[] = [
    { title: "Prop-0, %", series: series((type) => type.prop_0 !== undefined ? 100 * type.prop_0 : null) },
    { title: "APO(all)", series: series((type) => type.apo_all) },
    { title: "APO(non-0)", series: series((type) => type.apo_non_0) },
  ];
  return lineCharts(panels, { label: "nodes", logarithmic: true }, { label: "" }, { width: 330, height: 230, ownY: true });
}

function lawTable(law: Law, paper: Paper): HTMLElement {
  const scales = [...new Set(law.types.map((type) => type.scale))].sort((a, b) => a - b);
  const columns = kDistributions.flatMap((distribution) => ["α", "β", "error"].map((title) => ({ title, group: distribution })));
  const rows = scales.map((scale) => ({
    title: String(scale),
    cells: kDistributions.flatMap((distribution): Cell[] => {
      const ours = law.types.find((type) => type.scale === scale && type.distribution === distribution);
      const theirs = paper.law.find((fit) => fit.scale === scale && fit.distribution === distribution);
      if (!ours?.fit) return [0, 1, 2].map(() => ({ text: "–", missing: true }));
      const tip = (interval: [number, number] | undefined, z: number | undefined): string =>
        `95 % interval ${interval ? `${fixed(interval[0], 4)} to ${fixed(interval[1], 4)}` : "unknown"}` +
        (z !== undefined ? `\n${fixed(z, 1)} standard errors from the paper` : "") + `\n${ours.instances} tours`;
      return [
        { text: fixed(ours.fit.alpha, 4), below: fixed(theirs?.alpha, 4), tip: tip(ours.alpha_interval, ours.z_alpha) },
        { text: fixed(ours.fit.beta, 3), below: fixed(theirs?.beta, 3), tip: tip(ours.beta_interval, ours.z_beta) },
        { text: ours.fit.fit_error.toExponential(1), below: theirs?.fit_error.toExponential(1) },
      ];
    }),
  }));
  return table(columns, rows);
}

export function lawSection(law: Law | null, propositions: Propositions | null, paper: Paper): HTMLElement {
  if (!law) {
    return section("law", "The Purity Law", "There is no law experiment in this report. Add its folder: `puretour law -o law`, then `puretour report law …`.");
  }
  const within = `${law.types_within_3_standard_errors} of ${law.types_compared} types`;
  return section(
    "law",
    "The Purity Law",
    `The *purity order* of an edge is the number of nodes inside the circle whose diameter it is. In (near-)optimal tours the share of ` +
      `edges of order *k* falls like α\u00a0exp(−β\u00a0*k*), with nearly the same α and β for every size and distribution. ` +
      `Here: ${thousands(law.instances)} instances of ${law.types.length} types, solved by ${law.solver.toUpperCase()}.`,
    figure(
      "Share of tour edges by purity order",
      curves(law),
      "Logarithmic: a straight line is an exponential law. The first two or three orders hold nearly all edges and decide the fit; what follows is rarer than one edge in a hundred.",
    ),
    figure(
      "Purity of optimal tours over the scale",
      metrics(law),
      "The paper states Prop-0 of about 92 %, a mean order of about 0.1 over all edges, and 1.15 to 1.2 over the impure ones.",
    ),
    figure(
      "Fitted α and β, ours and the paper's",
      fits(law, paper),
      `Bands are 95 % bootstrap intervals over the instances. ${within} lie within 3 standard errors of the paper's α and β.`,
    ),
    details(
      "The table of all fits",
      html("div", {}, paragraph("First line ours, second line the paper's. Point at a value for its interval.", "note"), lawTable(law, paper)),
    ),
    propositions ? propositionTable(propositions) : null,
  );
}

function propositionTable(propositions: Propositions): HTMLElement {
  const rows = Object.values(propositions.claims).map((claim) => ({
    title: claim.claim,
    cells: [
      { text: thousands(claim.cases) },
      { text: thousands(claim.violations) },
      { text: claim.verdict === "FAILS" ? "fails" : claim.verdict, best: claim.verdict === "FAILS" },
    ],
  }));
  const smallest = propositions.smallest_counterexamples[0];
  const example = smallest
    ? ` The smallest counterexample has ${smallest.points.length} vertices: ${smallest.points.map((p) => `(${p[0]}, ${p[1]})`).join(", ")}; there ` +
      `φ(U+v₁) + φ(U+v₂) = ${smallest.phi_u_v1} + ${smallest.phi_u_v2}, but φ(U+v₁+v₂) + φ(U) = ${smallest.phi_u_v1_v2} + ${smallest.phi_u}.`
    : "";
  return html(
    "div",
    {},
    html("h3", {}, "The paper's propositions, checked case by case"),
    table([{ title: "cases" }, { title: "violations" }, { title: "verdict" }], rows),
    warning(
      `Availability is not supermodular: the claim fails in ${fixed((100 * propositions.claims.supermodularity.violations) / propositions.claims.supermodularity.cases, 1)} % of random cases.` +
        `${example} PUPO does not rely on it.`,
    ),
  );
}
