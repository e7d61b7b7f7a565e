// What the report is made of: the JSON that report/report_document.cpp writes into the page.
// SPDX-License-Identifier: MIT

export type Distribution = "uniform" | "clustered" | "explosion" | "implosion";
export type Method = "vanilla" | "pupo";

export interface Interval {
  mean: number;
  low: number;
  high: number;
}

export interface PaperCell {
  gap_percent: number;
  length: number;
  seconds: number;
  prop0_percent: number;
  apo_all: number;
  apo_non0: number;
}

export interface PaperResult {
  distribution: Distribution;
  scale: number;
  model: string;
  vanilla: PaperCell;
  pupo: PaperCell;
}

export interface Paper {
  law: { scale: number; distribution: Distribution; alpha: number; beta: number; fit_error: number }[];
  results: PaperResult[];
  tsplib: { model: string; method: Method; gap_percent: number[] }[];
  training: { model: string; method: Method; norm: number; minutes_per_epoch: number }[];
  radar: { model: string; method: Method; gap_percent: number[] }[];
}

export interface LawType {
  scale: number;
  distribution: Distribution;
  instances: number;
  fit: { alpha: number; beta: number; fit_error: number; r_squared: number } | null;
  alpha_interval?: [number, number];
  beta_interval?: [number, number];
  z_alpha?: number;
  z_beta?: number;
  prop_0?: number;
  apo_all?: number;
  apo_non_0?: number | null;
  histogram: number[];
}

export interface Law {
  program: string;
  seed: number;
  solver: string;
  instances: number;
  types_compared: number;
  types_within_3_standard_errors: number;
  types: LawType[];
}

export interface Propositions {
  program: string;
  claims: Record<string, { claim: string; instances: number; cases: number; violations: number; verdict: string }>;
  smallest_counterexamples: {
    points: [number, number][];
    u: number[];
    v1: number;
    v2: number;
    phi_u_v1: string;
    phi_u_v2: string;
    phi_u_v1_v2: string;
    phi_u: string;
  }[];
}

export interface DataSet {
  name: string;
  kind: "random" | "tsplib" | "files";
  distribution?: Distribution;
  scale?: number;
  items: number;
  references: {
    items: number;
    methods: Record<string, number>;
    published_lengths: number;
    mean_length?: number;
    mean_seconds?: number;
    mean_gap_to_bound?: number;
    prop_0?: number;
    apo_all?: number;
    apo_non_0?: number | null;
  };
}

export interface Solver {
  name: string;
  kind: "model" | "classical";
  slot?: string;
  method?: string;
  architecture?: string;
  training_nodes?: number;
  training_instances?: number;
  parameters?: number;
  norm_sum?: number;
  norm_joint?: number;
}

export interface Result {
  set: string;
  solver: string;
  items: number;
  gap?: Interval;
  length?: number;
  seconds?: number;
  prop_0?: number;
  apo_all?: number;
  apo_non_0?: number | null;
  ceil_gap?: number;
}

export interface Pair {
  slot: string;
  vanilla: string;
  pupo: string;
  set: string | null; // null: all sets of the evaluation together
  scope?: string; // what these are, in words; added by the page
  items: number;
  difference: Interval;
  shorter: number;
  longer: number;
}

export interface Picture {
  set: string;
  item: string;
  points: [number, number][];
  reference: { length: number; tour: number[] };
  tours: { solver: string; length: number; tour: number[] }[];
}

export interface Evaluation {
  program: string;
  machine: string;
  seed: number;
  threads: number;
  decoding: string;
  augmentation: string;
  reference_solver: string;
  sets: DataSet[];
  solvers: Solver[];
  results: Result[];
  pairs: Pair[];
  pictures: Picture[];
}

export interface TrainingRun {
  name: string;
  slot: string;
  method: string;
  instances_per_second: number;
  minutes_per_epoch: number;
  instances: number[];
  gap: number[];
}

export interface Headline {
  label: string;
  value: string;
  paper: string;
  note: string;
}

export interface ReportDocument {
  program: string;
  created: string;
  machine: string;
  headlines: Headline[];
  paper: Paper;
  law: Law | null;
  propositions: Propositions | null;
  evaluations: Evaluation[];
  runs: TrainingRun[];
}
