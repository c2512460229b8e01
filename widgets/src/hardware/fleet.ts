// The fleet strip: a tile a node, or a row a class of equal nodes; pattern and words say how each serves the drawing.
import type { Fleet, FleetItem, HardwareViewModel } from "../generated/models";
import { counted, h, refill } from "../view/dom";
import type { Sync } from "../view/sync";
import { type Row, Table } from "../view/table";

/** Classes up to which each has a row of its own; more become a table. */
export const MAX_ROWS = 20;
const FITS: Readonly<Record<NonNullable<FleetItem["fit"]>, string>> = {
  best: "best",
  worse: "worse",
  no: "does not fit",
  unknown: "not known",
};

export function fleetStrip(sync: Sync<HardwareViewModel>): HTMLElement {
  const root = h("div.dra-fleet");
  const look = (id: string) => sync.send({ type: "node", name: id });
  sync.watch(["fleet", "node"], () => {
    const fleet = sync.get("fleet");
    const items = fleet.items ?? [];
    root.hidden = !items.length;
    if (fleet.kind !== "classes") refill(root, tiles(fleet, sync.get("node"), look), key(items));
    else if (items.length <= MAX_ROWS) refill(root, rows(fleet, sync.get("node"), look), key(items));
    else refill(root, table(fleet, look));
  });
  return root;
}

function tiles(fleet: Fleet, node: string, look: (id: string) => void): HTMLElement {
  const list = h("div.dra-tiles", { role: "group", "aria-label": counted(fleet.total ?? 0, "node") });
  for (const item of fleet.items ?? []) {
    const fit = item.fit ?? "unknown";
    const words = `${item.id}: ${item.detail || FITS[fit]}${item.pinned ? "; planned on this node only" : ""}${item.id === fleet.best ? "; the plan is here" : ""}`;
    list.append(
      h(
        "button.dra-tile",
        {
          type: "button",
          "data-fit": fit,
          "data-key": item.id,
          "aria-pressed": String(item.id === node),
          "aria-label": words,
          title: words,
          onclick: () => look(item.id),
        },
        h("span", {}, item.label),
      ),
    );
  }
  list.addEventListener("keydown", (event) => walk(event, [...list.querySelectorAll("button")]));
  return list;
}

function rows(fleet: Fleet, node: string, look: (id: string) => void): HTMLElement {
  const most = Math.max(1, ...(fleet.items ?? []).map((item) => item.nodes ?? 1));
  const list = h("div.dra-classes", {
    role: "group",
    "aria-label": `Classes of equal nodes, ${counted(fleet.total ?? 0, "node")} in all`,
  });
  for (const item of fleet.items ?? []) {
    const fit = item.fit ?? "unknown";
    const nodes = item.nodes ?? 1;
    const words = `${counted(nodes, "node")} like ${item.id}: ${item.detail || FITS[fit]}`;
    const bar = h("span.dra-barred", { "data-fit": fit });
    bar.style.width = `${Math.max(3, (100 * nodes) / most)}%`;
    list.append(
      h(
        "button.dra-class",
        {
          type: "button",
          "data-key": item.id,
          "aria-pressed": String(item.id === node),
          "aria-label": words,
          title: words,
          onclick: () => look(item.id),
        },
        h("span.dra-class-name", {}, item.label),
        h("span.dra-class-count", {}, nodes.toLocaleString("en")),
        h("span.dra-class-bar", {}, bar),
      ),
    );
  }
  list.addEventListener("keydown", (event) => walk(event, [...list.querySelectorAll("button")]));
  return list;
}

function table(fleet: Fleet, look: (id: string) => void): HTMLElement {
  const items = fleet.items ?? [];
  // A class without a name of its own is "like" its first node: that needs no column as well.
  const named = items.some((item) => !item.label?.endsWith(item.id));
  const columns = ["class", "nodes", "fits", ...(named ? ["first node"] : [])];
  const made = new Table({
    label: "Classes of equal nodes",
    columns,
    widths: named ? [120, 54, 120, 80] : [130, 54, 160],
    pick: (row: Row) => look(row.id),
  });
  made.fill(
    items.map((item) => ({
      id: item.id,
      cells: [
        item.label,
        String(item.nodes ?? 1),
        item.detail || FITS[item.fit ?? "unknown"],
        ...(named ? [item.id] : []),
      ],
    })),
  );
  requestAnimationFrame(() => made.paint());
  return made.root;
}

/** What the fills mean; only those that are there. */
function key(items: readonly FleetItem[]): HTMLElement {
  const there = (Object.keys(FITS) as (keyof typeof FITS)[]).filter((fit) =>
    items.some((item) => (item.fit ?? "unknown") === fit),
  );
  return h(
    "div.dra-fleet-key",
    { "aria-hidden": "true" },
    ...there.map((fit) => h("span", {}, h("span.dra-swatch", { "data-fit": fit }), FITS[fit])),
  );
}

/** Arrows go from tile to tile; Tab does as well. */
function walk(event: KeyboardEvent, buttons: readonly HTMLButtonElement[]): void {
  const here = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: here + 1,
    ArrowDown: here + 1,
    ArrowLeft: here - 1,
    ArrowUp: here - 1,
    Home: 0,
    End: buttons.length - 1,
  };
  const next = steps[event.key];
  if (next === undefined || here < 0) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(buttons.length - 1, next))]?.focus();
}
