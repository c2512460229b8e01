// Elements made by code. Text is always a text node: names come from clusters.

type Child = Node | string | null | undefined | false;
type Props = Readonly<Record<string, string | number | boolean | null | undefined | ((event: never) => void)>>;

/**
 * Make an element: `h("button.dra-button", { onclick: go, "aria-label": "Go" }, "Go")`.
 *
 * Functions become listeners, true an empty attribute; null, undefined and false leave an attribute out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  spec: K | `${K}.${string}`,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const [tag, ...classes] = spec.split(".");
  const node = document.createElement(tag as K);
  if (classes.length) node.className = classes.join(" ");
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name.replace(/^on/, ""), value as unknown as EventListener);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(
    ...children.filter(
      (child): child is Node | string => child !== null && child !== undefined && child !== false && child !== "",
    ),
  );
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** The drawings of the icons, on a grid of 16 by 16; strokes take the colour of the text. */
const ICONS = {
  down: "M4 6l4 4 4-4",
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  error: "M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2zM8 4.6v4M8 11.2h.01",
  warning: "M8 2l6.5 11.5h-13zM8 6.4v3.4M8 11.8h.01",
  note: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.4v3.6M8 5h.01",
  pin: "M8 14s4.4-4.2 4.4-7.6a4.4 4.4 0 1 0-8.8 0C3.6 9.8 8 14 8 14zM8 7.6a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.6z",
  tab: "M2 3.5h12v9H2zM2 6.3h12M6 3.5v2.8",
  file: "M4 1.8h5l3.2 3.2v9.2H4zM9 1.8V5h3.2",
  graph: "M8 2.2v4M8 6.2L3.6 10M8 6.2l4.4 3.8M6.6 2.2h2.8M2.2 10h2.8v3.4H2.2zM11 10h2.8v3.4H11z",
  image: "M2 3h12v10H2zM2 10.6l3.4-3.4 3 3 2-2L14 11.6M10.6 6h.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  folder: "M1.8 3.4h4.4l1.4 1.8h6.6v7.6H1.8z",
} as const;
export type Icon = keyof typeof ICONS;

/** Make an icon; it says nothing to a screen reader, the words beside it do. */
export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({
    class: "dra-icon",
    viewBox: "0 0 16 16",
    width: 16,
    height: 16,
    "aria-hidden": "true",
  })) {
    svg.setAttribute(key, String(value));
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Replace what an element holds, and keep the focus on the element with the same `data-key` where there is one. */
export function refill(node: Element, ...children: Child[]): void {
  const held = document.activeElement;
  const key = held && node.contains(held) ? held.getAttribute("data-key") : null;
  node.replaceChildren(
    ...children.filter(
      (child): child is Node | string => child !== null && child !== undefined && child !== false && child !== "",
    ),
  );
  if (key !== null)
    [...node.querySelectorAll<HTMLElement>("[data-key]")].find((one) => one.getAttribute("data-key") === key)?.focus();
}

/** Tell what is wrong with a pane, and let it be hidden; whoever hides it by keyboard goes on from the pane's first button. */
export function paneProblem(node: HTMLElement, words: string, hide: () => void): void {
  const held = node.contains(document.activeElement);
  const close = h(
    "button.dra-quiet",
    { type: "button", "aria-label": "Hide this message", "data-key": "hide", onclick: hide },
    icon("cross"),
  );
  refill(node, words ? icon("error") : null, words ? h("span", {}, words) : null, words ? close : null);
  if (held && !words) node.parentElement?.querySelector<HTMLElement>('button:not([tabindex="-1"])')?.focus();
}

/** A text field whose Enter does the same as a button: a form would depend on what the page around does with Enter. */
export function onEnter(field: HTMLInputElement, act: () => void): void {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    act();
  });
}

/** `1 finding`, `2 findings`. */
export const counted = (number: number, word: string): string =>
  `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

// Every widget of a page has a copy of this module, so a counter alone would begin anew in each.
const COPY = Math.random().toString(36).slice(2, 8);
let last = 0;
/** An id that no other element of the page has. */
export const freshId = (prefix: string): string => `dra-${prefix}-${COPY}-${(last += 1)}`;
