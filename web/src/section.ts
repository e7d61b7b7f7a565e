// Sections, figures and tables of the page: one look for all.
// SPDX-License-Identifier: MIT

import { html, paragraph } from "./dom";

export function section(id: string, title: string, lead: string, ...content: (HTMLElement | null)[]): HTMLElement {
  return html("section", { id }, html("h2", {}, title), lead ? paragraph(lead, "lead") : null, ...content);
}

export function figure(title: string, body: Node, caption: string): HTMLElement {
  return html("figure", { class: "figure" }, html("h3", {}, title), body, caption ? html("figcaption", {}, ...paragraph(caption).childNodes) : null);
}

// What in the paper does not hold, said where it matters.
export function warning(text: string): HTMLElement {
  return html("aside", { class: "warning" }, html("strong", {}, "Does not hold. "), ...paragraph(text).childNodes);
}

export function note(text: string): HTMLElement {
  return paragraph(text, "note");
}

export interface Cell {
  text: string;
  below?: string; // a second, quieter line: the paper's value
  best?: boolean;
  bestBelow?: boolean;
  missing?: boolean;
  tip?: string;
}

export interface Column {
  title: string;
  group?: string; // columns with the same group stand under one heading
}

export function table(columns: Column[], rows: { title: string; cells: Cell[]; begins?: boolean }[]): HTMLElement {
  const head = html("thead");
  if (columns.some((column) => column.group !== undefined)) {
    const groups = html("tr", {}, html("td"));
    for (let c = 0; c < columns.length; ) {
      let end = c + 1;
      while (end < columns.length && columns[end].group === columns[c].group) ++end;
      groups.append(html("th", { colspan: end - c, scope: "colgroup", class: "group" }, columns[c].group ?? ""));
      c = end;
    }
    head.append(groups);
  }
  const isFirst = (c: number): boolean => c === 0 || columns[c].group === undefined || columns[c].group !== columns[c - 1].group;
  head.append(html("tr", {}, html("td"), ...columns.map((column, c) => html("th", { scope: "col", class: isFirst(c) ? "first" : undefined }, column.title))));
  const body = html("tbody");
  for (const row of rows) {
    const line = html("tr", { class: row.begins ? "begins" : undefined }, html("th", { scope: "row" }, row.title));
    row.cells.forEach((cell, c) => {
      const classes = [cell.missing ? "missing" : "", isFirst(c) ? "first" : ""].join(" ").trim();
      line.append(
        html(
          "td",
          { class: classes || undefined, "data-tip": cell.tip },
          html("span", { class: cell.best ? "value best" : "value" }, cell.text),
          cell.below !== undefined ? html("span", { class: cell.bestBelow ? "below best" : "below" }, cell.below) : null,
        ),
      );
    });
    body.append(line);
  }
  return html("div", { class: "scroll" }, html("table", { class: columns.length > 8 ? "data many" : "data" }, head, body));
}

export function details(summary: string, content: HTMLElement): HTMLElement {
  return html("details", {}, html("summary", {}, summary), content);
}
