// Elements, numbers as text, and the one tooltip of the page.
// SPDX-License-Identifier: MIT

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child) element.append(child);
  }
}

export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

// Text in which *words* are emphasised and `words` are code.
export function prose(text: string): (Node | string)[] {
  return text
    .split(/(\*[^*]+\*|`[^`]+`)/)
    .filter((part) => part.length > 0)
    .map((part) => {
      if (part.length > 2 && part.startsWith("*") && part.endsWith("*")) return html("em", {}, part.slice(1, -1));
      if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) return html("code", {}, part.slice(1, -1));
      return part;
    });
}

export function paragraph(text: string, className?: string): HTMLParagraphElement {
  return html("p", { class: className }, ...prose(text));
}

export function fixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

export function signed(value: number, digits: number): string {
  const text = fixed(value, digits);
  return value > 0 && Number(value.toFixed(digits)) !== 0 ? "+" + text : text;
}

export function seconds(value: number | undefined): string {
  if (value === undefined) return "–";
  if (value >= 100) return fixed(value, 0);
  if (value >= 1) return fixed(value, 2);
  return value >= 0.001 ? fixed(value, 3) : value.toExponential(0);
}

// Four digits are read at a glance; longer numbers are parted.
export function thousands(value: number): string {
  return value < 10000 ? String(value) : value.toLocaleString("en-US").replace(/,/g, "\u202f");
}

// A tooltip follows the pointer over everything that has data-tip, and stands beside what has the focus.
let tooltip: HTMLElement | null = null;

export function showTip(text: string, x: number, y: number): void {
  if (!tooltip) {
    tooltip = html("div", { class: "tooltip", role: "status", id: "tooltip" });
    document.body.append(tooltip);
  }
  tooltip.textContent = text;
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const top = y + 18 + box.height > window.innerHeight ? y - box.height - 12 : y + 18;
  tooltip.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
}

export function hideTip(): void {
  if (tooltip) tooltip.hidden = true;
}

export function watchTips(): void {
  const tipOf = (event: Event): string | undefined => {
    const target = event.target;
    if (!(target instanceof Element)) return undefined;
    return target.closest("[data-tip]")?.getAttribute("data-tip") ?? undefined;
  };
  document.addEventListener("pointermove", (event) => {
    const tip = tipOf(event);
    if (tip !== undefined) showTip(tip, event.clientX, event.clientY);
    else if (!(event.target instanceof Element && event.target.closest(".tour"))) hideTip();
  });
  document.addEventListener("pointerleave", hideTip);
  window.addEventListener("scroll", hideTip, { passive: true });
}
