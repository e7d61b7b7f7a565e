// Tours that can be explored: edges coloured by purity order, a network's tour beside the reference, and under the pointer
// the length, the order and the covering circle of an edge.
// SPDX-License-Identifier: MIT

import { Picture, Solver } from "./document";
import { fixed, html, showTip, hideTip, svg } from "./dom";

type Point = [number, number];

interface Edge {
  from: number;
  to: number;
  length: number;
  inside: number[]; // nodes strictly inside the circle whose diameter the edge is
  shared: boolean; // with the other tour
}

interface Drawn {
  root: SVGSVGElement;
  edges: Edge[];
}

const kSize = 460;
const kMargin = 14;

function edgesOf(points: Point[], tour: number[], other: Set<string>): Edge[] {
  return tour.map((from, t) => {
    const to = tour[(t + 1) % tour.length];
    const [ax, ay] = points[from];
    const [bx, by] = points[to];
    const inside: number[] = [];
    // The definition itself: an obtuse angle at the node. Endpoints give 0.
    points.forEach(([x, y], node) => {
      if ((ax - x) * (bx - x) + (ay - y) * (by - y) < 0) inside.push(node);
    });
    return { from, to, length: Math.hypot(ax - bx, ay - by), inside, shared: other.has(edgeKey(from, to)) };
  });
}

function edgeKey(a: number, b: number): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

function edgeSet(tour: number[]): Set<string> {
  return new Set(tour.map((from, t) => edgeKey(from, tour[(t + 1) % tour.length])));
}

// From the plane of the instance to the picture, the aspect ratio kept and y upwards.
function projection(points: Point[]): (p: Point) => Point {
  const xs = points.map((p) => p[0]);
  const ys = points.map((p) => p[1]);
  const left = Math.min(...xs);
  const low = Math.min(...ys);
  const side = Math.max(Math.max(...xs) - left, Math.max(...ys) - low) || 1;
  const scale = (kSize - 2 * kMargin) / side;
  const offsetX = (kSize - (Math.max(...xs) - left) * scale) / 2;
  const offsetY = (kSize - (Math.max(...ys) - low) * scale) / 2;
  return ([x, y]) => [offsetX + (x - left) * scale, kSize - offsetY - (y - low) * scale];
}

function distanceToSegment(p: Point, a: Point, b: Point): number {
  const dx = b[0] - a[0];
  const dy = b[1] - a[1];
  const along = ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(p[0] - a[0] - t * dx, p[1] - a[1] - t * dy);
}

function draw(name: string, points: Point[], tour: number[], other: number[]): Drawn {
  const place = projection(points);
  const places = points.map(place);
  const edges = edgesOf(points, tour, edgeSet(other));
  const root = svg("svg", {
    viewBox: `0 0 ${kSize} ${kSize}`,
    class: "tour",
    role: "application",
    tabindex: 0,
    "aria-label": `${name}: a tour of ${points.length} nodes. Arrow keys walk along its edges.`,
  });
  const thin = points.length > 300;
  const lines = svg("g", { class: thin ? "edges thin" : "edges" });
  // Impure edges on top.
  const byOrder = edges.map((edge, i) => ({ edge, i })).sort((a, b) => a.edge.inside.length - b.edge.inside.length);
  for (const { edge, i } of byOrder) {
    const [a, b] = [places[edge.from], places[edge.to]];
    lines.append(
      svg("line", {
        x1: a[0].toFixed(1),
        y1: a[1].toFixed(1),
        x2: b[0].toFixed(1),
        y2: b[1].toFixed(1),
        class: `o${Math.min(3, edge.inside.length)}${edge.shared ? " shared" : ""}`,
        "data-edge": i,
      }),
    );
  }
  const dots = svg("g", { class: "nodes" });
  const radius = points.length > 300 ? 1.1 : 2;
  for (const [x, y] of places) dots.append(svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: radius }));
  const focus = svg("g", { class: "focus" });
  root.append(lines, dots, focus);

  let current = -1;
  const show = (index: number, x: number, y: number): void => {
    const edge = edges[index];
    current = index;
    const [a, b] = [places[edge.from], places[edge.to]];
    focus.replaceChildren(
      svg("circle", {
        class: "cover",
        cx: (a[0] + b[0]) / 2,
        cy: (a[1] + b[1]) / 2,
        r: Math.hypot(a[0] - b[0], a[1] - b[1]) / 2,
      }),
      svg("line", { class: `o${Math.min(3, edge.inside.length)}`, x1: a[0], y1: a[1], x2: b[0], y2: b[1] }),
      ...edge.inside.slice(0, 2000).map((node) => svg("circle", { class: "inside", cx: places[node][0], cy: places[node][1], r: radius + 1.6 })),
    );
    root.setAttribute("data-shown-edge", String(index));
    const count = edge.inside.length;
    const what = count === 0 ? "pure: no node in its circle" : `${count} node${count > 1 ? "s" : ""} in its circle`;
    const where = edge.shared ? "in both tours" : "only in this tour";
    // Beside the circle, so that the nodes in it stay visible, as long as that is near.
    const box = root.getBoundingClientRect();
    const right = box.left + (((a[0] + b[0]) / 2 + Math.hypot(a[0] - b[0], a[1] - b[1]) / 2) / kSize) * box.width;
    const beside = right > x && right < x + 200 ? right : x;
    showTip(`edge ${edge.from + 1} – ${edge.to + 1}\nlength ${edge.length.toPrecision(4)}\norder ${count}: ${what}\n${where}`, beside, y);
  };
  const clear = (): void => {
    focus.replaceChildren();
    root.removeAttribute("data-shown-edge");
    hideTip();
  };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const at: Point = [((event.clientX - box.left) / box.width) * kSize, ((event.clientY - box.top) / box.height) * kSize];
    let best = -1;
    let least = 14; // in units of the picture; farther away nothing is meant
    edges.forEach((edge, i) => {
      const distance = distanceToSegment(at, places[edge.from], places[edge.to]);
      if (distance < least) {
        least = distance;
        best = i;
      }
    });
    if (best < 0) clear();
    else show(best, event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", clear);
  root.addEventListener("blur", clear);
  root.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const index = (current + step + edges.length) % edges.length;
    const box = root.getBoundingClientRect();
    const [x, y] = places[edges[index].to];
    show(index, box.left + (x / kSize) * box.width, box.top + (y / kSize) * box.height);
  });
  return { root, edges };
}

function facts(edges: Edge[], length: number, reference: number): HTMLElement {
  const orders = edges.map((edge) => edge.inside.length);
  const impure = orders.filter((order) => order > 0);
  const sum = orders.reduce((a, b) => a + b, 0);
  const shared = edges.filter((edge) => edge.shared).length;
  const entries: [string, string][] = [
    ["length", length.toPrecision(5)],
    ["gap", `${fixed(100 * (length / reference - 1), 2)} %`],
    ["Prop-0", `${fixed((100 * (orders.length - impure.length)) / orders.length, 1)} %`],
    ["APO(all)", fixed(sum / orders.length, 3)],
    ["APO(non-0)", impure.length > 0 ? fixed(sum / impure.length, 2) : "–"],
    ["edges in both", `${fixed((100 * shared) / orders.length, 0)} %`],
  ];
  return html("dl", { class: "facts" }, ...entries.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
}

function titleOf(picture: Picture): string {
  if (picture.set.startsWith("tsplib")) return `${picture.item} (TSPLIB)`;
  const [distribution, scale] = picture.set.split("-");
  return `${distribution}, ${scale} nodes`;
}

export function tourExplorer(pictures: Picture[], solvers: Map<string, Solver>): HTMLElement {
  const usable = pictures.filter((picture) => picture.tours.length > 0);
  const stage = html("div", { class: "stage" });
  const pickPicture = html("select", { id: "pick-instance" });
  const pickSolver = html("select", { id: "pick-solver" });
  const differences = html("input", { type: "checkbox", id: "pick-differences" });
  usable.forEach((picture, i) => pickPicture.append(html("option", { value: i }, titleOf(picture))));

  const nameOf = (solver: string): string => {
    const known = solvers.get(solver);
    if (!known || known.kind === "classical") return solver;
    return known.slot && known.method ? `${known.slot}, ${known.method === "pupo" ? "PUPO" : known.method}` : solver;
  };
  const fillSolvers = (): void => {
    const kept = pickSolver.value;
    const picture = usable[Number(pickPicture.value)];
    pickSolver.replaceChildren(...picture.tours.map((tour) => html("option", { value: tour.solver }, nameOf(tour.solver))));
    if (picture.tours.some((tour) => tour.solver === kept)) pickSolver.value = kept;
  };
  const redraw = (): void => {
    const picture = usable[Number(pickPicture.value)];
    const tour = picture.tours.find((candidate) => candidate.solver === pickSolver.value) ?? picture.tours[0];
    const shown = draw(nameOf(tour.solver), picture.points, tour.tour, picture.reference.tour);
    const reference = draw("reference", picture.points, picture.reference.tour, tour.tour);
    stage.replaceChildren(
      html("figure", {}, html("figcaption", {}, nameOf(tour.solver)), shown.root, facts(shown.edges, tour.length, picture.reference.length)),
      html("figure", {}, html("figcaption", {}, "reference tour"), reference.root, facts(reference.edges, picture.reference.length, picture.reference.length)),
    );
    stage.classList.toggle("only-differences", differences.checked);
  };
  pickPicture.addEventListener("change", () => {
    fillSolvers();
    redraw();
  });
  pickSolver.addEventListener("change", redraw);
  differences.addEventListener("change", redraw);
  if (usable.length > 0) {
    // A medium size shows most.
    const first = Math.max(0, usable.findIndex((picture) => picture.points.length >= 50 && picture.points.length <= 200));
    pickPicture.value = String(first);
    fillSolvers();
    redraw();
  }
  const key = html("div", { class: "legend orders" });
  ["order 0: pure", "order 1", "order 2", "order 3 and more"].forEach((text, order) => {
    const sample = svg("svg", { viewBox: "0 0 26 10", width: 26, height: 10, "aria-hidden": "true" });
    sample.append(svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, class: `o${order}` }));
    key.append(html("span", {}, sample, text));
  });
  return html(
    "div",
    { class: "explorer" },
    html(
      "div",
      { class: "controls" },
      html("label", { for: "pick-instance" }, "instance ", pickPicture),
      html("label", { for: "pick-solver" }, "tour of ", pickSolver),
      html("label", { for: "pick-differences" }, differences, " only edges that differ"),
    ),
    key,
    stage,
  );
}
