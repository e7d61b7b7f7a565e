// Charts as SVG. Colours come from the style sheet, so that they change with the theme; series also differ in dashes and
// markers, so that they can be told apart without colours.
// SPDX-License-Identifier: MIT

import { fixed, html, svg } from "./dom";

export interface Series {
  name: string;
  style: number; // colour, dashes and marker
  points: [number, number][];
  band?: [number, number][]; // the ends of an interval around each point
  marksOnly?: boolean;
  hollow?: boolean;
}

export interface Axis {
  label: string;
  logarithmic?: boolean;
  least?: number;
  most?: number;
  format?: (value: number) => string;
}

export interface Panel {
  title: string;
  series: Series[];
}

class Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: number[] = [];

  constructor(private readonly axis: Axis, values: number[], private readonly size: number) {
    const usable = values.filter((value) => Number.isFinite(value) && (!axis.logarithmic || value > 0));
    let low = axis.least ?? Math.min(...usable);
    let high = axis.most ?? Math.max(...usable);
    if (!(high > low)) {
      low -= Math.abs(low) / 2 || 1;
      high += Math.abs(high) / 2 || 1;
      if (axis.logarithmic) low = Math.max(low, high / 100);
    }
    if (axis.logarithmic) {
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
        for (const factor of high / low < 200 ? [1, 2, 5] : [1]) {
          const tick = factor * 10 ** power;
          if (tick >= low * 0.999 && tick <= high * 1.001) this.ticks.push(tick);
        }
      }
    } else {
      const rough = (high - low) / 4;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999) ?? rough;
      if (axis.least === undefined) low = Math.floor(low / step + 1e-9) * step;
      if (axis.most === undefined) high = Math.ceil(high / step - 1e-9) * step;
      for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) this.ticks.push(k * step);
    }
    this.low = low;
    this.high = high;
  }

  shows(value: number): boolean {
    return Number.isFinite(value) && value >= this.low * (1 - 1e-12) && value <= this.high * (1 + 1e-12);
  }

  place(value: number): number {
    const map = (v: number): number => (this.axis.logarithmic ? Math.log10(v) : v);
    return ((map(value) - map(this.low)) / (map(this.high) - map(this.low))) * this.size;
  }

  text(value: number): string {
    if (this.axis.format) return this.axis.format(value);
    return String(Number(value.toPrecision(6)));
  }
}

const kMarkers = [
  "m-3.4,0a3.4,3.4 0 1,0 6.8,0a3.4,3.4 0 1,0 -6.8,0z",
  "m-3,-3h6v6h-6z",
  "m0,-4.2l4.2,4.2l-4.2,4.2l-4.2,-4.2z",
  "m0,-4.1l3.8,6.7h-7.6z",
];

function marker(style: number, x: number, y: number, tip: string, hollow = false): SVGPathElement {
  return svg("path", {
    d: `M${x.toFixed(1)},${y.toFixed(1)}${kMarkers[style % kMarkers.length]}`,
    class: `mark s${style}${hollow ? " hollow" : ""}`,
    "data-tip": tip || undefined,
  });
}

function drawPanel(panel: Panel, xAxis: Axis, yAxis: Axis, width: number, height: number, all: Panel[]): SVGSVGElement {
  const left = 52;
  const right = 14;
  const top = 26;
  const bottom = 40;
  const points = all.flatMap((p) => p.series.flatMap((s) => s.points));
  const plotWidth = width - left - right;
  const plotHeight = height - top - bottom;
  const x = new Scale(xAxis, points.map((p) => p[0]), plotWidth);
  const bands = all.flatMap((p) => p.series.flatMap((s) => (s.band ?? []).flat()));
  const y = new Scale(yAxis, [...points.map((p) => p[1]), ...bands], plotHeight);
  const frame = svg("g", { transform: `translate(${left} ${top})` });
  for (const tick of x.ticks) {
    const at = x.place(tick);
    frame.append(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: plotHeight }));
    frame.append(svg("text", { x: at, y: plotHeight + 16, "text-anchor": "middle" }, x.text(tick)));
  }
  for (const tick of y.ticks) {
    const at = plotHeight - y.place(tick);
    frame.append(svg("line", { class: "grid", x1: 0, x2: plotWidth, y1: at, y2: at }));
    frame.append(svg("text", { x: -7, y: at + 4, "text-anchor": "end" }, y.text(tick)));
  }
  frame.append(svg("path", { class: "axis", d: `M0,0V${plotHeight}H${plotWidth}` }));
  frame.append(svg("text", { x: plotWidth / 2, y: plotHeight + 34, "text-anchor": "middle" }, xAxis.label));
  for (const series of panel.series) {
    const shown = series.points
      .map((point, i) => ({ point, band: series.band?.[i] }))
      .filter(({ point }) => x.shows(point[0]) && y.shows(point[1]));
    const place = (px: number, py: number): string =>
      `${x.place(px).toFixed(1)},${(plotHeight - y.place(py)).toFixed(1)}`;
    if (series.band) {
      const upper = shown.map(({ point, band }) => place(point[0], band ? band[1] : point[1]));
      const lower = shown.map(({ point, band }) => place(point[0], band ? band[0] : point[1])).reverse();
      frame.append(svg("path", { class: `band s${series.style}`, d: `M${[...upper, ...lower].join("L")}Z` }));
    }
    if (!series.marksOnly && shown.length > 1) {
      const path = shown.map(({ point }) => place(point[0], point[1])).join("L");
      frame.append(svg("path", { class: `line s${series.style}`, d: `M${path}` }));
    }
    for (const { point } of shown) {
      const tip = `${series.name}: ${x.text(point[0])} → ${Number(point[1].toPrecision(4))}`;
      frame.append(marker(series.style, x.place(point[0]), plotHeight - y.place(point[1]), tip, series.hollow));
    }
  }
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": panel.title },
    svg("text", { class: "panel-title", x: left, y: 15 }, panel.title),
    frame,
  );
}

export function legend(entries: { name: string; style: number; hollow?: boolean; marksOnly?: boolean }[]): HTMLElement {
  const list = html("div", { class: "legend" });
  for (const entry of entries) {
    const sample = svg("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" });
    if (!entry.marksOnly) sample.append(svg("path", { class: `line s${entry.style}`, d: "M0,6H30" }));
    sample.append(marker(entry.style, 15, 6, "", entry.hollow));
    list.append(html("span", {}, sample, entry.name));
  }
  return list;
}

// Panels side by side, with the same axes unless `ownY`.
export function lineCharts(
  panels: Panel[],
  xAxis: Axis,
  yAxis: Axis,
  options: { width?: number; height?: number; ownY?: boolean; noLegend?: boolean } = {},
): HTMLElement {
  const seen = new Map<string, Series>();
  for (const panel of panels) for (const series of panel.series) seen.set(series.name, series);
  const grid = html("div", { class: "panels" });
  for (const panel of panels) {
    if (!panel.series.some((series) => series.points.length > 0)) continue;
    const shared = options.ownY ? [panel] : panels;
    grid.append(drawPanel(panel, xAxis, yAxis, options.width ?? 340, options.height ?? 240, shared));
  }
  return html("div", { class: "figure-body" }, options.noLegend ? null : legend([...seen.values()]), grid);
}

export interface HeatCell {
  value: number | null;
  text: string;
  tip: string;
}

// Diverging around zero: blue is better, orange is worse; the number is in every cell.
export function heatMap(rows: string[], columns: string[], cells: HeatCell[][], most: number): HTMLElement {
  const table = html("table", { class: "heat" });
  table.append(html("thead", {}, html("tr", {}, html("th"), ...columns.map((name) => html("th", { scope: "col" }, name)))));
  const body = html("tbody");
  rows.forEach((row, r) => {
    const line = html("tr", {}, html("th", { scope: "row" }, row));
    cells[r].forEach((cell) => {
      const td = html("td", { "data-tip": cell.tip, class: cell.value === null ? "missing" : undefined }, cell.text);
      if (cell.value !== null) {
        const strength = Math.min(1, Math.abs(cell.value) / most);
        td.style.setProperty("--strength", `${Math.round(8 + 62 * strength)}%`);
        td.classList.add(cell.value >= 0 ? "good" : "bad");
      }
      line.append(td);
    });
    body.append(line);
  });
  table.append(body);
  return html("div", { class: "scroll" }, table);
}

export interface Bar {
  group: string;
  style: number;
  value: number;
  tip: string;
}

// Bars to both sides of zero, grouped.
export function deviationBars(groups: string[], bars: Bar[], label: string): SVGSVGElement {
  const width = 520;
  const left = 108;
  const barHeight = 6;
  const gap = 9;
  const most = Math.max(5, ...bars.map((bar) => Math.abs(bar.value)));
  const axis: Axis = { label };
  const scale = new Scale({ ...axis, least: -most, most }, [0], width - left - 20);
  let y = 8;
  const drawing = svg("g");
  for (const group of groups) {
    const inside = bars.filter((bar) => bar.group === group);
    if (inside.length === 0) continue;
    const top = y;
    for (const bar of inside) {
      const zero = left + scale.place(0);
      const end = left + scale.place(bar.value);
      drawing.append(
        svg("rect", {
          class: `bar s${bar.style}`,
          x: Math.min(zero, end),
          y,
          width: Math.max(0.75, Math.abs(end - zero)),
          height: barHeight - 1,
          "data-tip": bar.tip,
        }),
      );
      y += barHeight;
    }
    drawing.append(svg("text", { x: left - 10, y: (top + y) / 2 + 3, "text-anchor": "end" }, group));
    y += gap;
  }
  const grid = svg("g");
  for (const tick of scale.ticks) {
    const x = left + scale.place(tick);
    grid.append(svg("line", { class: tick === 0 ? "axis" : "grid", x1: x, x2: x, y1: 0, y2: y }));
    grid.append(svg("text", { x, y: y + 14, "text-anchor": "middle" }, fixed(tick, tick % 1 === 0 ? 0 : 1)));
  }
  grid.append(svg("text", { x: left + scale.place(0), y: y + 32, "text-anchor": "middle" }, label));
  return svg("svg", { viewBox: `0 0 ${width} ${y + 40}`, class: "chart", role: "img", "aria-label": label }, grid, drawing);
}

export interface RadarShape {
  name: string;
  style: number;
  values: (number | null)[];
}

// One axis for each name, logarithmic from the centre outwards: smaller gaps are smaller shapes.
export function radar(title: string, axes: string[], shapes: RadarShape[]): SVGSVGElement {
  const width = 400;
  const height = 316;
  const radius = 122;
  const low = 0.5;
  const high = 200;
  const place = (value: number): number =>
    (Math.log(Math.min(high, Math.max(low, value)) / low) / Math.log(high / low)) * radius;
  const corner = (axis: number, distance: number): [number, number] => {
    const angle = (2 * Math.PI * axis) / axes.length - Math.PI / 2;
    return [width / 2 + distance * Math.cos(angle), 160 + distance * Math.sin(angle)];
  };
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart radar", role: "img", "aria-label": title });
  chart.append(svg("text", { class: "panel-title", x: width / 2, y: 13, "text-anchor": "middle" }, title));
  const frame = svg("g");
  for (const ring of [1, 3, 10, 30, 100]) {
    const points = axes.map((_, a) => corner(a, place(ring)).map((v) => v.toFixed(1)).join(","));
    frame.append(svg("polygon", { class: "grid ring", points: points.join(" ") }));
    const [x, y] = corner(0, place(ring));
    frame.append(svg("text", { class: "small", x: x + 3, y: y - 2 }, `${ring} %`));
  }
  axes.forEach((name, a) => {
    const [x, y] = corner(a, radius);
    const [middleX, middleY] = corner(a, 0);
    frame.append(svg("line", { class: "grid", x1: middleX, y1: middleY, x2: x, y2: y }));
    const [tx, ty] = corner(a, radius + 13);
    const anchor = Math.abs(tx - width / 2) < 12 ? "middle" : tx > width / 2 ? "start" : "end";
    frame.append(svg("text", { x: tx, y: ty + 4, "text-anchor": anchor }, name));
  });
  for (const shape of shapes) {
    const known = shape.values.map((value, a) => (value === null ? null : corner(a, place(value))));
    // Lines join neighbours only: across a missing value nothing is known.
    const lines = known.flatMap((point, a) => {
      const next = known[(a + 1) % known.length];
      return point && next ? [`M${point.map((v) => v.toFixed(1)).join(",")}L${next.map((v) => v.toFixed(1)).join(",")}`] : [];
    });
    frame.append(svg("path", { class: `shape line s${shape.style}`, d: lines.join("") }));
    known.forEach((point, a) => {
      if (point) frame.append(marker(shape.style, point[0], point[1], `${shape.name}, ${axes[a]}: ${fixed(shape.values[a], 2)} %`));
    });
  }
  chart.append(frame);
  return chart;
}
