// The picture of a node: shown, lit up, and walked through with the keyboard like a tree.
import type { HardwareViewModel } from "../generated/models";
import { h } from "../view/dom";
import type { Light } from "../view/light";
import type { Sync } from "../view/sync";
import { safeSvg } from "./safe_svg";

export function picture(sync: Sync<HardwareViewModel>, light: Light, fail: (words: string) => void): HTMLElement {
  const root = h("div.dra-picture");
  const items = () => [...root.querySelectorAll<SVGElement>('[role="treeitem"]')];
  const relight = () => {
    for (const item of root.querySelectorAll("[data-id]")) {
      const meant =
        light.now !== "" &&
        (item.getAttribute("data-id") === light.now || item.getAttribute("data-request") === light.now);
      item.classList.toggle("dra-hw-lit", meant);
    }
  };
  let shown = "";
  sync.watch(["svg"], () => {
    const text = sync.get("svg");
    if (text === shown) return;
    shown = text;
    const held = root.contains(document.activeElement) ? key(document.activeElement) : "";
    try {
      root.replaceChildren(...(text ? apart(safeSvg(text)) : []));
      fail("");
    } catch (error) {
      root.replaceChildren();
      fail(error instanceof Error ? error.message : String(error));
    }
    const again = held ? items().find((item) => key(item) === held) : undefined;
    if (again) focus(items(), again);
    relight();
    fit(root);
  });
  light.onChange(relight);
  if (typeof ResizeObserver !== "undefined") {
    const sizes = new ResizeObserver(() => fit(root));
    sizes.observe(root);
    sync.atEnd(() => sizes.disconnect());
  }

  const point = (event: Event) =>
    light.point((event.target as Element).closest("[data-id]")?.getAttribute("data-id") ?? "");
  root.addEventListener("pointerover", point);
  root.addEventListener("pointerleave", () => light.point(""));
  root.addEventListener("focusin", point);
  root.addEventListener("focusout", () => light.point(""));
  root.addEventListener("click", (event) => {
    const item = (event.target as Element).closest<SVGElement>('[role="treeitem"]');
    if (item) focus(items(), item);
  });
  root.addEventListener("keydown", (event) => onKey(event, items(), light));
  return root;
}

/** Widths in pixels between which a picture may be scaled; below the first one the pane itself is narrower. */
const [NATURAL, LARGEST] = [460, 620];

/** Scale a picture up where there is height for it, never down to fit: it must stay legible, so it scrolls instead. */
function fit(root: HTMLElement): void {
  const [svg, legend] = [root.querySelector("svg"), root.querySelector<HTMLElement>(".dra-legend")];
  const [, , width, height] = (svg?.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!width || !height) return;
  const room = root.clientHeight - (legend?.offsetHeight ?? 0) - 8;
  const best = Math.round(Math.max(NATURAL, Math.min(LARGEST, (room * width) / height)));
  root.style.setProperty("--dra-picture-width", `${best}px`);
}

/** The legend as a picture of its own, so that it stays in sight while the hardware scrolls. */
function apart(svg: SVGSVGElement): readonly Element[] {
  const pane = h("div.dra-picture-pane", {}, svg);
  const legend = svg.querySelector(".dra-hw-legend");
  const top = Number(svg.dataset["legend"]);
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
  return [pane, h("div.dra-legend", {}, below)];
}

const key = (item: Element | null): string =>
  item?.getAttribute("data-id") ??
  `${item?.getAttribute("data-level") ?? ""} ${item?.getAttribute("data-value") ?? ""}`;

/** One item is the tab stop. */
function focus(items: readonly SVGElement[], item: SVGElement): void {
  for (const one of items) one.setAttribute("tabindex", one === item ? "0" : "-1");
  item.focus();
  item.scrollIntoView?.({ block: "nearest", inline: "nearest" });
}

function onKey(event: KeyboardEvent, items: readonly SVGElement[], light: Light): void {
  const here = items.indexOf(document.activeElement as SVGElement);
  const item = items[here];
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = target(event.key, items, here);
  if (next) {
    event.preventDefault();
    focus(items, next);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    const device = item.getAttribute("data-id");
    if (device) light.point(item.getAttribute("data-request") ?? device);
  }
}

/** Down and up go through the items as they are read; right goes into a place, left to the place around. */
function target(pressed: string, items: readonly SVGElement[], here: number): SVGElement | undefined {
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
