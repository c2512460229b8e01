// A picture of a node as elements: brought in, split from its legend, and walked through like a tree.

// A picture that came as text: read as XML, and without anything that could act.
// Every widget of a page has a copy of this module, so a counter alone would begin again in each.
const COPY = Math.random().toString(36).slice(2, 8);
let copies = 0;

const BARRED = new Set([
  "script",
  "foreignobject",
  "iframe",
  "object",
  "embed",
  "image",
  "use",
  "a",
  "animate",
  "set",
  "animatetransform",
  "animatemotion",
  "handler",
  "listener",
]);
const LINKS = new Set(["href", "xlink:href", "src"]);

/**
 * Return the picture as an element of this page, with ids of its own. Throws when the text is no SVG.
 *
 * The same picture may be on the page twice (a notebook and a tab): a pattern that is named in the one which is hidden
 * would not be painted in the other.
 */
export function safeSvg(text: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = parsed.documentElement;
  if (parsed.querySelector("parsererror") || root.localName !== "svg") throw new Error("The picture is not valid SVG.");
  clean(root);
  copies += 1;
  rename(root, `dra-svg-${COPY}-${copies}`);
  return document.importNode(root, true) as unknown as SVGSVGElement;
}

function rename(root: Element, prefix: string): void {
  for (const node of root.querySelectorAll("*")) {
    if (node.id) node.id = `${prefix}-${node.id}`;
    for (const { name, value } of [...node.attributes]) {
      if (value.includes("url(#")) node.setAttribute(name, value.replaceAll("url(#", `url(#${prefix}-`));
    }
  }
}

function clean(node: Element): void {
  for (const child of [...node.children]) {
    if (BARRED.has(child.localName.toLowerCase())) child.remove();
    else clean(child);
  }
  for (const { name, value } of [...node.attributes]) {
    const lower = name.toLowerCase();
    // Patterns are named inside the picture; everything else that a url() or a link could fetch is outside.
    const fetches = /[(@]/.test(value) && (/url\(\s*['"]?(?!#)/i.test(value) || /@import|expression\(/i.test(value));
    if (lower.startsWith("on") || LINKS.has(lower) || fetches) node.removeAttribute(name);
  }
  if (node.localName === "style" && /@import|url\(\s*['"]?(?!#)/i.test(node.textContent ?? "")) node.remove();
}

export const itemsOf = (root: Element): readonly SVGElement[] => [
  ...root.querySelectorAll<SVGElement>('[role="treeitem"]'),
];

/** What scrolls, and what is left free around what is scrolled into sight, in pixels. */
export const PANE = "dra-picture-pane";
const EDGE = 6;

/** Everything on a picture that stands for devices: one each, or a block of like ones. */
export const DEVICES = "[data-id], [data-ids]";

/** The devices that an item stands for; of a block those that are free come first. */
export const devicesOf = (item: Element | null | undefined): readonly string[] =>
  (item?.getAttribute("data-ids") ?? item?.getAttribute("data-id") ?? "").split(" ").filter(Boolean);

/** The requests that chose a device of an item. */
export const requestsOf = (item: Element | null | undefined): readonly string[] =>
  (item?.getAttribute("data-request") ?? "").split(" ").filter(Boolean);

/**
 * Show another picture in `root`; the focus stays on its device, also if that is now in a block or was in one before.
 * Without the device it goes to another one at the same place, or at the place around. Throws when the text is no SVG.
 */
export function show(root: HTMLElement, text: string): void {
  const held = root.contains(document.activeElement) ? document.activeElement : null;
  const places = placesOf(held);
  const before = root.querySelector(`.${PANE}`);
  const [top, left] = [before?.scrollTop ?? 0, before?.scrollLeft ?? 0];
  root.replaceChildren();
  if (text) root.append(...apart(safeSvg(text)));
  root.querySelector(`.${PANE}`)?.scrollTo?.({ top, left, behavior: "instant" });
  const items = held ? itemsOf(root) : [];
  const again =
    items.find((item) => idOf(item) === idOf(held)) ??
    items.find((item) => devicesOf(item).some((device) => devicesOf(held).includes(device))) ??
    places.map((place) => items.find((item) => placesOf(item).includes(place))).find(Boolean) ??
    items[0];
  if (again) focusItem(items, again);
}

/** The places around an item, the innermost first. */
function placesOf(item: Element | null): readonly string[] {
  const found: string[] = [];
  for (let up = item?.closest("[data-level]"); up; up = up.parentElement?.closest("[data-level]")) {
    found.push(`${up.getAttribute("data-level")} ${up.getAttribute("data-value")}`);
  }
  return found;
}

/** Mark the items that are meant by a request's name or a device id. */
export function light(root: Element | null, lit: string): void {
  for (const item of root?.querySelectorAll(DEVICES) ?? []) {
    const isMeant = lit !== "" && (requestsOf(item).includes(lit) || devicesOf(item).includes(lit));
    item.classList.toggle("dra-hw-lit", isMeant);
  }
}

/** Mark the device that a person looks at, and return its item. */
export function mark(root: Element | null, device: string): SVGElement | undefined {
  const items = root ? itemsOf(root) : [];
  const found = items.find((item) => device !== "" && devicesOf(item).includes(device));
  for (const item of items) {
    item.classList.toggle("dra-hw-looked", item === found);
    if (item === found) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
  return found;
}

/** Scroll the pane of a picture so far that all of these items are in sight, or the first ones if there is no room. */
export function bringIntoSight(root: Element | null, items: Iterable<Element>): void {
  const pane = root?.querySelector(`.${PANE}`);
  const boxes = [...items].map((item) => item.getBoundingClientRect());
  if (!pane || !boxes.length) return;
  const seen = pane.getBoundingClientRect();
  const top = Math.min(...boxes.map((one) => one.top)) - seen.top - EDGE;
  const below = Math.max(...boxes.map((one) => one.bottom)) - seen.bottom + EDGE;
  if (top < 0) pane.scrollTop += top;
  else if (below > 0) pane.scrollTop += Math.min(top, below);
}

function box(className: string, content: Element): HTMLElement {
  const node = document.createElement("div");
  node.className = className;
  node.append(content);
  return node;
}

/**
 * The hardware, and the legend as a picture of its own, so that it stays in sight while the hardware scrolls.
 *
 * The name of the node, which stands above the hardware in a file, is left out: the view has it over the picture.
 */
function apart(svg: SVGSVGElement): readonly Element[] {
  const pane = box(PANE, svg);
  const legend = svg.querySelector(".dra-hw-legend");
  const [top, bottom] = [Number(svg.dataset.top ?? 0), Number(svg.dataset.legend)];
  const [x, y, width, height] = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!legend || !(bottom > top) || x === undefined || y === undefined || !width || !height || height <= bottom) {
    return [pane];
  }
  const below = svg.cloneNode(false) as SVGSVGElement;
  below.setAttribute("viewBox", `${x} ${bottom} ${width} ${height - bottom}`);
  below.setAttribute("height", String(height - bottom));
  below.setAttribute("role", "presentation");
  below.removeAttribute("aria-label");
  below.append(legend);
  svg.setAttribute("viewBox", `${x} ${y + top} ${width} ${bottom - top}`);
  svg.setAttribute("height", String(bottom - top));
  return [pane, box("dra-legend", below)];
}

/** Names an item: its devices, in any order; of an item without devices its place. */
const idOf = (item: Element | null): string => [...devicesOf(item)].sort().join(" ") || (placesOf(item)[0] ?? "");

/** One item is the tab stop. */
export function focusItem(items: readonly SVGElement[], item: SVGElement): void {
  for (const one of items) one.setAttribute("tabindex", one === item ? "0" : "-1");
  item.focus();
  item.scrollIntoView?.({ block: "nearest", inline: "nearest" });
}

/** Down and up go through the items as they are read; right goes into a place, left to the place around. */
export function nextItem(pressed: string, items: readonly SVGElement[], here: number): SVGElement | undefined {
  const item = items[here];
  switch (pressed) {
    case "ArrowDown":
      return items[here + 1];
    case "ArrowUp":
      return items[here - 1];
    case "ArrowRight":
      return item?.querySelector<SVGElement>('[role="treeitem"]') ?? items[here + 1];
    case "ArrowLeft":
      return item?.parentElement?.closest<SVGElement>('[role="treeitem"]') ?? items[here - 1];
    case "Home":
      return items[0];
    case "End":
      return items[items.length - 1];
    default:
      return undefined;
  }
}
