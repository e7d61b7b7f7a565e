// The paper's tables and figures about networks, beside our numbers.
// SPDX-License-Identifier: MIT

import { Bar, deviationBars, heatMap, HeatCell, legend, lineCharts, radar, RadarShape } from "./charts";
import { Method, Paper, PaperCell, Result, TrainingRun } from "./document";
import { fixed, html, paragraph, seconds, signed, thousands } from "./dom";
import { kDistributions, kMethods, kScales, kSlots, kTsplibSets, methodName, Results } from "./results";
import { Cell, Column, details, figure, note, section, table, warning } from "./section";

const kNoModel = "no model";
const kNoPair = "no model: there is no pair of networks to compare";

interface Type {
  distribution: string;
  scale: number;
  set: string;
}

const kTypes: Type[] = kDistributions.flatMap((distribution) => kScales.map((scale) => ({ distribution, scale, set: `${distribution}-${scale}` })));

function typeName(type: Type): string {
  return `${type.distribution} ${thousands(type.scale)}`;
}

// "uniform-10000" and "tsplib-101-1000" for people.
function setName(name: string): string {
  const number = (text: string): string => thousands(Number(text));
  const random = /^([a-z]+)-(\d+)$/.exec(name);
  if (random) return `${random[1]} ${number(random[2])}`;
  const tsplib = /^tsplib-(\d+)-(\d+)$/.exec(name);
  return tsplib ? `TSPLIB ${number(tsplib[1])}–${number(tsplib[2])}` : name;
}

const kMethodColumns: Column[] = kSlots.flatMap((slot) => kMethods.map((method) => ({ title: methodName(method), group: slot })));

function intervalTip(result: Result): string {
  if (!result.gap) return "";
  return `95 % interval ${fixed(100 * result.gap.low, 2)} to ${fixed(100 * result.gap.high, 2)} %\n${result.items} instances`;
}

// A table of all types with all places of the paper. `better` says which of two values is to be marked.
function slotTable(
  results: Results,
  ours: (result: Result) => number | null | undefined,
  theirs: (cell: PaperCell) => number,
  text: (value: number) => string,
  better: "smaller" | "larger" | "none",
  tip: (result: Result) => string,
  slots = kSlots,
): HTMLElement {
  const wins = (a: number | null | undefined, b: number | null | undefined): boolean => {
    if (better === "none" || a === null || a === undefined || b === null || b === undefined) return false;
    return better === "smaller" ? a < b : a > b;
  };
  const rows = kTypes.map((type) => ({
    title: typeName(type),
    begins: type.scale === kScales[0],
    cells: slots.flatMap((slot) =>
      kMethods.map((method): Cell => {
        const other: Method = method === "pupo" ? "vanilla" : "pupo";
        const value = (m: Method): number | null | undefined => {
          const result = results.at(type.set, slot, m);
          return result && ours(result);
        };
        const paper = (m: Method): number | undefined => {
          const cell = results.paperAt(type.distribution, type.scale, slot, m);
          return cell && theirs(cell);
        };
        const result = results.at(type.set, slot, method);
        const mine = value(method);
        const printed = paper(method);
        const hasModel = results.modelAt(slot, method) !== undefined;
        return {
          text: mine === null || mine === undefined ? (hasModel ? "not run" : kNoModel) : text(mine),
          missing: mine === null || mine === undefined,
          best: wins(mine, value(other)),
          below: printed === undefined ? "OOM" : text(printed),
          bestBelow: wins(printed, paper(other)),
          tip: result ? tip(result) : undefined,
        };
      }),
    ),
  }));
  return table(kMethodColumns.filter((column) => slots.includes(column.group ?? "")), rows);
}

function classicalTable(results: Results, value: (result: Result) => string, tip: (result: Result) => string): HTMLElement | null {
  const others = results.others();
  if (others.length === 0) return null;
  const sets = [...results.sets.values()];
  const rows = sets.map((set, s) => ({
    title: setName(set.name),
    begins: s > 0 && set.scale !== sets[s - 1].scale,
    cells: others.map((solver): Cell => {
      const result = results.cell(set.name, solver.name);
      return result ? { text: value(result), tip: tip(result) } : { text: "–", missing: true };
    }),
  }));
  return table(others.map((solver) => ({ title: solver.name })), rows);
}

function referenceNote(results: Results): HTMLElement {
  const sets = [...results.sets.values()].filter((set) => set.references.mean_length !== undefined);
  const rows = sets.map((set) => ({
    title: setName(set.name),
    cells: [
      { text: String(set.references.items) },
      { text: Object.keys(set.references.methods).join(", ") },
      { text: fixed(set.references.mean_length, set.kind === "tsplib" ? 0 : 3) },
      { text: `${fixed(100 * (set.references.mean_gap_to_bound ?? 0), 2)} %` },
      { text: seconds(set.references.mean_seconds) },
      { text: `${fixed(100 * (set.references.prop_0 ?? 0), 1)} %` },
    ],
  }));
  return table(
    [{ title: "tours" }, { title: "method" }, { title: "mean length" }, { title: "above bound, at most" }, { title: "seconds" }, { title: "Prop-0" }],
    rows,
  );
}

function pairVerdicts(results: Results): HTMLElement {
  if (results.pairs.length === 0) {
    return note("There are no two networks of one kind, one trained with PUPO and one without, so that nothing can be said about PUPO from our own runs yet.");
  }
  const rows = results.pairs.map((pair) => {
    const { mean, low, high } = pair.difference;
    const verdict = high < 0 ? "PUPO better" : low > 0 ? "PUPO worse" : "undecided";
    return {
      title: `${pair.slot}, ${pair.set === null ? pair.scope : setName(pair.set)}`,
      begins: pair.set === null,
      cells: [
        { text: String(pair.items) },
        { text: signed(100 * mean, 2), best: pair.set === null },
        { text: `${signed(100 * low, 2)} to ${signed(100 * high, 2)}` },
        { text: `${pair.shorter} : ${pair.longer}` },
        { text: verdict, best: verdict === "PUPO better" },
      ],
    };
  });
  return table([{ title: "instances" }, { title: "gap, PUPO − vanilla, points" }, { title: "95 % interval" }, { title: "shorter : longer" }, { title: "verdict" }], rows);
}

function improvement(vanilla: number | undefined, pupo: number | undefined): number | null {
  if (vanilla === undefined || pupo === undefined || !(vanilla > 0)) return null;
  return (100 * (vanilla - pupo)) / vanilla;
}

function improvementMaps(results: Results): HTMLElement {
  const make = (value: (type: Type, slot: string) => { change: number | null; why: string }): HTMLElement => {
    const cells = kTypes.map((type) =>
      kSlots.map((slot): HeatCell => {
        const { change, why } = value(type, slot);
        return change === null
          ? { value: null, text: "·", tip: `${slot}, ${typeName(type)}: ${why}` }
          : { value: change, text: signed(change, 1), tip: `${slot}, ${typeName(type)}: gap ${change >= 0 ? "smaller" : "larger"} by ${fixed(Math.abs(change), 1)} % of itself` };
      }),
    );
    return heatMap(kTypes.map(typeName), kSlots, cells, 20);
  };
  const paper = make((type, slot) => ({
    change: improvement(
      results.paperAt(type.distribution, type.scale, slot, "vanilla")?.gap_percent,
      results.paperAt(type.distribution, type.scale, slot, "pupo")?.gap_percent,
    ),
    why: "out of memory in the paper",
  }));
  const change = (type: Type, slot: string): number | null =>
    improvement(results.at(type.set, slot, "vanilla")?.gap?.mean, results.at(type.set, slot, "pupo")?.gap?.mean);
  const hasPair = kTypes.some((type) => kSlots.some((slot) => change(type, slot) !== null));
  const ours = hasPair ? make((type, slot) => ({ change: change(type, slot), why: kNoModel })) : note(kNoPair);
  return html("div", { class: "two" }, html("div", {}, html("h4", {}, "ours"), ours), html("div", {}, html("h4", {}, "paper"), paper));
}

export function gapSection(results: Results): HTMLElement {
  const uniform = results.sets.get("uniform-10000")?.references.mean_length;
  const evaluation = results.evaluations[0];
  const how = evaluation
    ? ` Ours: ${evaluation.decoding} decoding, augmentation ${evaluation.augmentation}, seed ${evaluation.seed}.`
    : "";
  const classical = classicalTable(results, (result) => `${fixed(100 * (result.gap?.mean ?? NaN), 2)} %`, intervalTip);
  return section(
    "gaps",
    "Optimality gaps",
    `How much longer the tours are than the reference tours, in percent: mean over the instances of a type.${how}`,
    figure(
      "Gap by type and network, %",
      slotTable(results, (r) => r.gap && 100 * r.gap.mean, (c) => c.gap_percent, (v) => fixed(v, 2), "smaller", intervalTip),
      "First line ours, second line the paper's; the better one of vanilla and PUPO is bold. OOM: out of memory in the paper.",
    ),
    warning(
      "The paper's gaps at 10\u202f000 nodes are measured from tours that are not near-optimal. Its lengths and gaps imply references of 73.3 for uniform instances; " +
        `a random uniform optimum of that size is near 71.9${uniform ? ` (our references here: ${fixed(uniform, 2)})` : ""}. Measured from there its gaps would be about 2 points larger.`,
    ),
    html("h3", {}, "Did PUPO help?"),
    pairVerdicts(results),
    results.pairs.length > 0
      ? note("Differences are taken instance by instance, intervals are by bootstrap over the instances. With five instances an interval is a rough guess.")
      : null,
    figure(
      "Relative improvement of the gap by PUPO, %",
      improvementMaps(results),
      "(vanilla − PUPO) / vanilla. Blue: PUPO has the smaller gap; orange: the larger one.",
    ),
    classical ? figure("Classical solvers and other networks on the same instances", classical, "What a network has to beat. Mean gap; point at a value for its interval.") : null,
    results.sets.size > 0
      ? details("The reference tours and what vouches for them", html("div", {}, paragraph("A Held-Karp bound certifies how far above the optimum a tour can be; the bound itself lies 0.6 to 0.9 % below the optimum.", "note"), referenceNote(results)))
      : null,
  );
}

export function tsplibSection(results: Results, paper: Paper): HTMLElement {
  const columns: Column[] = ["1–100 nodes", "101–1000", "1001–10\u202f000"].map((title) => ({ title }));
  const value = (slot: string, method: Method, g: number): number | undefined => results.at(kTsplibSets[g], slot, method)?.gap?.mean;
  const printed = (slot: string, method: Method, g: number): number | undefined =>
    paper.tsplib.find((row) => row.model === slot && row.method === method)?.gap_percent[g];
  const rows = kSlots.flatMap((slot) =>
    kMethods.map((method) => ({
      title: `${slot}, ${methodName(method)}`,
      begins: method === "vanilla",
      cells: kTsplibSets.map((set, g): Cell => {
        const other: Method = method === "pupo" ? "vanilla" : "pupo";
        const result = results.at(set, slot, method);
        const mine = value(slot, method, g);
        const theirs = printed(slot, method, g);
        const smaller = (a: number | undefined, b: number | undefined): boolean => a !== undefined && b !== undefined && a < b;
        return {
          text: mine === undefined ? (results.modelAt(slot, method) ? "not run" : kNoModel) : fixed(100 * mine, 2),
          missing: mine === undefined,
          best: smaller(mine, value(slot, other, g)),
          below: fixed(theirs, 2),
          bestBelow: smaller(theirs, printed(slot, other, g)),
          tip: result ? `${intervalTip(result)}\nlengths rounded up once, as the original does: ${fixed(100 * (result.ceil_gap ?? NaN), 2)} %` : undefined,
        };
      }),
    })),
  );
  return section(
    "tsplib",
    "TSPLIB",
    "Gaps to the optimum on real instances, in percent, with TSPLIB's rounded distances. First line ours, second line the paper's.",
    table(columns, rows),
    note(
      "The paper's last group ends at 5000 nodes. Its lengths are sums of unrounded distances, rounded up once, compared with optima of rounded distances: not TSPLIB's rule, and noticeable where edges are short (the best tour of eil51 would have a gap of 0.7 %). Point at a value of ours to see it by that rule.",
    ),
  );
}

function deviations(results: Results): HTMLElement {
  const chart = (who: string, time: (type: Type, slot: string, method: Method) => number | undefined): HTMLElement => {
    const bars: Bar[] = kTypes.flatMap((type) =>
      kSlots.flatMap((slot, style): Bar[] => {
        const vanilla = time(type, slot, "vanilla");
        const pupo = time(type, slot, "pupo");
        if (vanilla === undefined || pupo === undefined) return [];
        const value = 100 * (pupo / vanilla - 1);
        return [{ group: typeName(type), style, value, tip: `${slot}, ${typeName(type)}, ${who}: ${signed(value, 1)} %` }];
      }),
    );
    const content = bars.length > 0 ? deviationBars(kTypes.map(typeName), bars, "time of PUPO against vanilla, %") : note(kNoPair);
    return html("div", {}, html("h4", {}, who), content);
  };
  return html(
    "div",
    { class: "figure-body" },
    legend(kSlots.map((name, style) => ({ name, style, marksOnly: true }))),
    html(
      "div",
      { class: "two" },
      chart("ours", (type, slot, method) => results.at(type.set, slot, method)?.seconds),
      chart("paper", (type, slot, method) => results.paperAt(type.distribution, type.scale, slot, method)?.seconds),
    ),
  );
}

export function timeSection(results: Results): HTMLElement {
  const machine = results.evaluations[0];
  const classical = classicalTable(results, (result) => seconds(result.seconds), (result) => `${result.items} instances`);
  return section(
    "time",
    "Solving time",
    `Seconds for an instance. The paper used an RTX 3090; ours ${machine ? `is one thread of ${machine.machine}, with ${machine.threads} instances at a time` : "are CPU times"}. PUPO changes training only, so that solving times should not differ.`,
    figure("Seconds by type and network", slotTable(results, (r) => r.seconds, (c) => c.seconds, seconds, "none", (r) => `${r.items} instances`), "First line ours, second line the paper's."),
    figure("Deviation of solving times, PUPO against vanilla", deviations(results), "Both build tours in the same way, so that deviations are noise of the measurement."),
    classical ? details("Seconds of classical solvers and other networks", classical) : null,
  );
}

export function puritySection(results: Results): HTMLElement {
  const apo = (title: string, ours: (r: Result) => number | null | undefined, theirs: (c: PaperCell) => number): HTMLElement =>
    figure(title, slotTable(results, ours, theirs, (v) => fixed(v, 2), "smaller", (r) => `${r.items} instances`), "");
  const implied = (cell: PaperCell): number => 100 * (1 - cell.apo_all / cell.apo_non0);
  const columns = kMethodColumns;
  const rows = kTypes.map((type) => ({
    title: typeName(type),
    begins: type.scale === kScales[0],
    cells: kSlots.flatMap((slot) =>
      kMethods.map((method): Cell => {
        const cell = results.paperAt(type.distribution, type.scale, slot, method);
        return cell
          ? { text: fixed(cell.prop0_percent, 1), below: fixed(implied(cell), 1), tip: `printed ${cell.prop0_percent} %\nAPO(all) ${cell.apo_all} and APO(non-0) ${cell.apo_non0} imply ${fixed(implied(cell), 1)} %` }
          : { text: "OOM", missing: true };
      }),
    ),
  }));
  const classical = classicalTable(
    results,
    (result) => `${fixed(100 * (result.prop_0 ?? NaN), 1)} % · ${fixed(result.apo_all, 2)}`,
    (result) => `Prop-0 ${fixed(100 * (result.prop_0 ?? NaN), 2)} %\nAPO(all) ${fixed(result.apo_all, 4)}\nAPO(non-0) ${fixed(result.apo_non_0, 4)}`,
  );
  return section(
    "purity",
    "Purity of the tours",
    "A network that generalises well should build tours as pure as optimal ones: Prop-0 near 92 %, mean order near 0.1. First line ours, second line the paper's; the purer one of vanilla and PUPO is bold.",
    apo("Mean purity order of all edges, APO(all)", (r) => r.apo_all, (c) => c.apo_all),
    details("Mean order of the impure edges, APO(non-0)", apo("APO(non-0)", (r) => r.apo_non_0, (c) => c.apo_non0)),
    figure(
      "Share of pure edges, Prop-0, %",
      slotTable(results, (r) => (r.prop_0 === undefined ? undefined : 100 * r.prop_0), implied, (v) => fixed(v, 1), "larger", (r) => `${r.items} instances`),
      "The paper's line is not what it prints, but what its other two columns imply: Prop-0 = 1 − APO(all) / APO(non-0).",
    ),
    warning(
      "The paper's Prop-0 column contradicts its own APO columns: the three are tied by an identity, and at 5000 nodes the printed values are about half of what it demands. The column can not be reproduced; APO(all) and APO(non-0) can.",
    ),
    details("Prop-0 as the paper prints it, and as its other columns imply", table(columns, rows)),
    classical ? figure("Purity of classical solvers and other networks: Prop-0 · APO(all)", classical, "") : null,
  );
}

export function trainingSection(results: Results, paper: Paper, runs: TrainingRun[]): HTMLElement {
  const slots = [...new Set([...paper.training.map((row) => row.model), ...[...results.solvers.values()].map((s) => s.slot ?? "").filter((slot) => kSlots.includes(slot))])].sort(
    (a, b) => kSlots.indexOf(a) - kSlots.indexOf(b),
  );
  const theirs = (slot: string, method: Method) => paper.training.find((row) => row.model === slot && row.method === method);
  const run = (slot: string, method: Method) => runs.find((candidate) => candidate.slot === slot && candidate.method === method);
  const rows = slots.map((slot) => {
    const minutes = (method: Method): number | undefined => run(slot, method)?.minutes_per_epoch;
    const ratio = (v: number | undefined, p: number | undefined): string => (v === undefined || p === undefined ? "–" : `${fixed(p / v, 2)} ×`);
    const norm = (method: Method): Cell => {
      const model = results.modelAt(slot, method);
      return {
        text: model?.norm_joint === undefined ? kNoModel : fixed(model.norm_joint, 2),
        missing: model?.norm_joint === undefined,
        below: fixed(theirs(slot, method)?.norm, 2),
        tip: model?.norm_sum === undefined ? undefined : `sum of the norms of the matrices: ${fixed(model.norm_sum, 1)}`,
      };
    };
    const minute = (method: Method): Cell => {
      const mine = minutes(method);
      return { text: mine === undefined ? "no run" : fixed(mine, 1), missing: mine === undefined, below: fixed(theirs(slot, method)?.minutes_per_epoch, 2) };
    };
    return {
      title: slot,
      cells: [
        norm("vanilla"),
        norm("pupo"),
        minute("vanilla"),
        minute("pupo"),
        {
          text: ratio(minutes("vanilla"), minutes("pupo")),
          missing: minutes("vanilla") === undefined || minutes("pupo") === undefined,
          below: ratio(theirs(slot, "vanilla")?.minutes_per_epoch, theirs(slot, "pupo")?.minutes_per_epoch),
        },
      ],
    };
  });
  const columns: Column[] = [
    { title: "vanilla", group: "norm of the weights" },
    { title: "PUPO", group: "norm of the weights" },
    { title: "vanilla", group: "minutes per epoch" },
    { title: "PUPO", group: "minutes per epoch" },
    { title: "PUPO / vanilla", group: "overhead" },
  ];
  const curves = runs.filter((r) => r.instances.length > 1).slice(0, 8);
  const seen = [...results.solvers.values()].filter((solver) => solver.kind === "model");
  return section(
    "training",
    "Training: norms and cost",
    "First line ours, second line the paper's. Norms are the Frobenius norm of all weight matrices together.",
    table(columns, rows),
    note(
      "The paper calls its figure the sum of the norms. On public weights of the same network that sum is about 350, and the joint norm 76: its figures can only be joint norms, so these are compared. " +
        "Minutes per epoch are for the paper's epoch on a machine without a GPU; the paper's are of an RTX 3090.",
    ),
    seen.length > 0
      ? details(
          "The networks of this report",
          table(
            [{ title: "network" }, { title: "method" }, { title: "instances seen" }, { title: "parameters" }, { title: "joint norm" }, { title: "sum of norms" }],
            seen.map((solver) => ({
              title: solver.name,
              cells: [
                { text: solver.slot || (solver.architecture ?? "") },
                { text: solver.method ? methodName(solver.method) : "unknown" },
                { text: solver.training_instances === undefined ? "–" : thousands(solver.training_instances) },
                { text: solver.parameters === undefined ? "–" : thousands(solver.parameters) },
                { text: fixed(solver.norm_joint, 2) },
                { text: fixed(solver.norm_sum, 1) },
              ],
            })),
          ),
        )
      : null,
    curves.length > 0
      ? figure(
          "Learning curves",
          lineCharts(
            [{ title: "gap of greedy tours in validation, %", series: curves.map((r, style) => ({ name: r.name, style, points: r.instances.map((x, i): [number, number] => [x, 100 * r.gap[i]]).filter((p) => p[0] > 0) })) }],
            { label: "training instances seen", logarithmic: true },
            { label: "", logarithmic: true },
            { width: 700, height: 300 },
          ),
          "",
        )
      : null,
  );
}

function radarValues(results: Results, slot: string, method: Method): (number | null)[] {
  const mean = (types: Type[]): number | null => {
    const gaps = types.map((type) => results.at(type.set, slot, method)?.gap?.mean).filter((gap): gap is number => gap !== undefined);
    return gaps.length === 0 ? null : (100 * gaps.reduce((a, b) => a + b, 0)) / gaps.length;
  };
  const tsplib = kTsplibSets.map((set) => results.at(set, slot, method)?.gap?.mean).filter((gap): gap is number => gap !== undefined);
  return [
    ...kScales.map((scale) => mean(kTypes.filter((type) => type.scale === scale))),
    ...kDistributions.map((distribution) => mean(kTypes.filter((type) => type.distribution === distribution))),
    tsplib.length === 0 ? null : (100 * tsplib.reduce((a, b) => a + b, 0)) / tsplib.length,
  ];
}

export function radarSection(results: Results, paper: Paper): HTMLElement {
  const axes = ["100", "1000", "5000", "10\u202f000", "uniform", "clustered", "explosion", "implosion", "TSPLIB"];
  const charts = html("div", { class: "panels radars" });
  let hasOurs = false;
  for (const slot of kSlots) {
    const shapes: RadarShape[] = kMethods.map((method, style) => ({ name: methodName(method), style, values: radarValues(results, slot, method) }));
    if (shapes.some((shape) => shape.values.filter((value) => value !== null).length >= 3)) {
      charts.append(radar(`${slot}, ours`, axes, shapes));
      hasOurs = true;
    }
  }
  for (const model of ["AM-100", "INViT-100"]) {
    const shapes = paper.radar
      .filter((row) => row.model === model)
      .map((row): RadarShape => ({ name: methodName(row.method), style: row.method === "pupo" ? 1 : 0, values: row.gap_percent }));
    charts.append(radar(`${model}, paper`, axes, shapes));
  }
  return section(
    "radar",
    "All gaps at a glance",
    `Mean gap at each scale, on each distribution and on TSPLIB; the scale is logarithmic, and a smaller shape is better.${hasOurs ? "" : " We have no networks in the paper's places yet, so only the paper's are drawn."}`,
    html("div", { class: "figure-body" }, legend([{ name: "vanilla", style: 0 }, { name: "PUPO", style: 1 }]), charts),
    warning("The paper's chart gives AM-100 gaps of 100 % and 86 % at 10\u202f000 nodes, where its own table says out of memory."),
  );
}
