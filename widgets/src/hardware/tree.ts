// The picture of a node as elements: brought in, split from its legend, and walked through like a tree.
import { safeSvg } from "./safe_svg";

export const itemsOf = (root: Element): readonly SVGElement[] => [
  ...root.querySelectorAll<SVGElement>('[role="treeitem"]'),
];

/** Show another picture in `root`; the focus stays on its item. Throws when the text is no SVG. */
export function show(root: HTMLElement, text: string): void {
  const held = root.contains(document.activeElement) ? key(document.activeElement) : "";
  root.replaceChildren();
  if (text) root.append(...apart(safeSvg(text)));
  const again = held ? itemsOf(root).find((item) => key(item) === held) : undefined;
  if (again) focusItem(itemsOf(root), again);
  fit(root);
}

function box(className: string, content: Element): HTMLElement {
  const node = document.createElement("div");
  node.className = className;
  node.append(content);
  return node;
}

/** Widths in pixels between which a picture may be scaled; below the first one the pane itself is narrower. */
const [NATURAL, LARGEST] = [460, 620];

/** Scale a picture up where there is height for it, never down to fit: it must stay legible, so it scrolls instead. */
export function fit(root: HTMLElement): void {
  const [svg, legend] = [root.querySelector("svg"), root.querySelector<HTMLElement>(".dra-legend")];
  const [, , width, height] = (svg?.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!width || !height) return;
  const room = root.clientHeight - (legend?.offsetHeight ?? 0) - 8;
  const best = Math.round(Math.max(NATURAL, Math.min(LARGEST, (room * width) / height)));
  root.style.setProperty("--dra-picture-width", `${best}px`);
}

/** The legend as a picture of its own, so that it stays in sight while the hardware scrolls. */
function apart(svg: SVGSVGElement): readonly Element[] {
  const pane = box("dra-picture-pane", svg);
  const legend = svg.querySelector(".dra-hw-legend");
  const top = Number(svg.dataset.legend);
  const [x, y, width, height] = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!legend || !(top > 0) || x === undefined || y === undefined || !width || !height || height <= top) return [pane];
  const below = svg.cloneNode(false) as SVGSVGElement;
  below.setAttribute("viewBox", `${x} ${top} ${width} ${height - top}`);
  below.setAttribute("height", String(height - top));
  below.setAttribute("role", "presentation");
  below.removeAttribute("aria-label");
  below.append(legend);
  svg.setAttribute("viewBox", `${x} ${y} ${width} ${top}`);
  svg.setAttribute("height", String(top));
  return [pane, box("dra-legend", below)];
}

const key = (item: Element | null): string =>
  item?.getAttribute("data-id") ??
  `${item?.getAttribute("data-level") ?? ""} ${item?.getAttribute("data-value") ?? ""}`;

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
      return item?.parentElement?.closest<SVGElement>('[role="treeitem"]') ?? undefined;
    case "Home":
      return items[0];
    case "End":
      return items[items.length - 1];
    default:
      return undefined;
  }
}
