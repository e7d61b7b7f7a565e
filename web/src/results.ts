// The evaluations of a report as one: which network stands where in the paper's tables.
// SPDX-License-Identifier: MIT

import { DataSet, Distribution, Evaluation, Method, Pair, Paper, PaperCell, Picture, Result, Solver } from "./document";

export const kSlots = ["AM-50", "AM-100", "PF-50", "PF-100", "INViT-50", "INViT-100"];
export const kMethods: Method[] = ["vanilla", "pupo"];
export const kDistributions: Distribution[] = ["uniform", "clustered", "explosion", "implosion"];
export const kScales = [100, 1000, 5000, 10000];
export const kTsplibSets = ["tsplib-1-100", "tsplib-101-1000", "tsplib-1001-10000"];

export function methodName(method: string): string {
  return method === "pupo" ? "PUPO" : method;
}

export class Results {
  readonly sets = new Map<string, DataSet>();
  readonly solvers = new Map<string, Solver>();
  readonly pictures: Picture[];
  readonly pairs: Pair[];
  private readonly cells = new Map<string, Result>();

  constructor(readonly evaluations: Evaluation[], private readonly paper: Paper) {
    // Of several results for the same thing the last one counts.
    const pairs = new Map<string, Pair>();
    const pictures = new Map<string, Picture>();
    for (const evaluation of evaluations) {
      for (const set of evaluation.sets) this.sets.set(set.name, set);
      for (const solver of evaluation.solvers) this.solvers.set(solver.name, solver);
      for (const result of evaluation.results) {
        if (result.items > 0) this.cells.set(`${result.set}|${result.solver}`, result);
      }
      const scope = evaluation.sets.every((set) => set.kind === "tsplib") ? "all TSPLIB groups" : "all types";
      for (const pair of evaluation.pairs) {
        pairs.set(`${pair.set ?? scope}|${pair.vanilla}|${pair.pupo}`, { ...pair, scope });
      }
      for (const picture of evaluation.pictures) pictures.set(`${picture.set}|${picture.item}`, picture);
    }
    this.pairs = [...pairs.values()];
    this.pictures = [...pictures.values()];
  }

  // The network that fills a place of the paper's tables; the first one, if there are several.
  modelAt(slot: string, method: Method): Solver | undefined {
    return [...this.solvers.values()].find((solver) => solver.slot === slot && solver.method === method);
  }

  // Solvers that have no place in the paper's tables.
  others(): Solver[] {
    const placed = new Set(kSlots.flatMap((slot) => kMethods.map((method) => this.modelAt(slot, method)?.name)));
    return [...this.solvers.values()].filter((solver) => !placed.has(solver.name));
  }

  cell(set: string, solver: string | undefined): Result | undefined {
    return solver === undefined ? undefined : this.cells.get(`${set}|${solver}`);
  }

  at(set: string, slot: string, method: Method): Result | undefined {
    return this.cell(set, this.modelAt(slot, method)?.name);
  }

  paperAt(distribution: string, scale: number, slot: string, method: Method): PaperCell | undefined {
    const found = this.paper.results.find(
      (result) => result.distribution === distribution && result.scale === scale && result.model === slot,
    );
    return found?.[method];
  }

  pairAt(set: string, slot: string): Pair | undefined {
    return this.pairs.find((pair) => pair.set === set && pair.slot === slot);
  }
}
