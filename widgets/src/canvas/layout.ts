// Where boxes stand that have no place yet: a whole drawing by dagre, single new boxes beside what stands already.
import dagre from "@dagrejs/dagre";
import type { ClaimSketch, Link } from "../generated/models";
import { howOf, linksOf, requestOf, requestsOf, whereOf } from "./sketch";
import { placeLabel } from "./wording";

export type Place = readonly [number, number];
export type Places = Readonly<Record<string, Place>>;

/** Sizes in pixels for placing; the real ones are measured by the browser later and differ by little. */
export const BOX = { width: 212, height: 82 };
export const KNOT = { width: 190, height: 30 };
/** Between boxes under each other: room for a knot. */
const GAP = 62;
const NEAR = 32;
const BESIDE = 36;
const CLEAR = 8;
/**
 * Ways from the middle of a link to look for a free place, nearest first; downwards and to the right before the others.
 */
const STEPS: readonly Place[] = (() => {
  const steps = Array.from({ length: 61 }, (_, i) => (i - 30) * 12);
  const all = steps.flatMap((dx) => steps.map((dy): Place => [dx, dy]));
  return all.sort(([ax, ay], [bx, by]) => Math.hypot(ax, ay) - Math.hypot(bx, by) || by - ay || bx - ax);
})();
const knotSize = (link: Link) => ({
  ...KNOT,
  width: Math.round(Math.min(310, 54 + 7.1 * `${howOf(link)} . ${placeLabel(whereOf(link))}`.length)),
});

/** The key of a link's place; a link that shares its name with a request has a key of its own. */
export const linkKey = (sketch: ClaimSketch, name: string): string =>
  requestsOf(sketch).some((request) => request.name === name) ? `link/${name}` : name;

export function placeAll(sketch: ClaimSketch, known: Places): Places {
  const names = [...requestsOf(sketch).map((r) => r.name), ...linksOf(sketch).map((l) => linkKey(sketch, l.name))];
  if (!names.some((name) => known[name])) return arrange(sketch);
  const places: Record<string, Place> = {};
  for (const name of names) if (known[name]) places[name] = known[name];
  const boxes = requestsOf(sketch).map((r) => r.name);
  for (const name of boxes) places[name] ??= beside(places, boxes, sketch) ?? below(places, sketch);
  for (const link of linksOf(sketch)) places[linkKey(sketch, link.name)] ??= between(link, sketch, places);
  return places;
}

/** What the board of a planner has room for in a window of 1280 pixels, clear of its buttons. */
const BOARD = { width: 448, height: 168 };

/**
 * The drawing in the one of two forms that can be shown larger: boxes over their knots, or one after the other down.
 */
function arrange(sketch: ClaimSketch): Places {
  const [rows, chain] = [arranged(sketch, false), arranged(sketch, true)];
  return rows.zoom >= chain.zoom ? rows.places : chain.places;
}

/** Places by dagre; in a chain a knot stands between its boxes, else under all of them. */
function arranged(sketch: ClaimSketch, chain: boolean): { places: Places; zoom: number } {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: BESIDE, ranksep: 34 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { name } of requestsOf(sketch)) graph.setNode(`r:${name}`, { ...BOX });
  for (const link of linksOf(sketch)) {
    graph.setNode(`l:${link.name}`, knotSize(link));
    link.requests.map(requestOf).forEach((name, i) => {
      if (i === 0 || !chain) graph.setEdge(`r:${name}`, `l:${link.name}`);
      else graph.setEdge(`l:${link.name}`, `r:${name}`);
    });
  }
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  const names = requestsOf(sketch).map(({ name }) => graph.node(`r:${name}`)?.x ?? 0);
  // The first box stands at the left: the mirror image crosses as few lines.
  const mirrored = !chain && (names[0] ?? 0) > (names.at(-1) ?? 0);
  const places: Record<string, Place> = {};
  const corner = (id: string, size: typeof BOX): Place => {
    const at = graph.node(id);
    const x = mirrored ? width - (at.x ?? 0) : (at.x ?? 0);
    return [Math.round(x - size.width / 2), Math.round((at.y ?? 0) - size.height / 2)];
  };
  for (const { name } of requestsOf(sketch)) places[name] = corner(`r:${name}`, BOX);
  for (const link of linksOf(sketch)) places[linkKey(sketch, link.name)] = corner(`l:${link.name}`, knotSize(link));
  return { places, zoom: Math.min(1, BOARD.width / Math.max(1, width), BOARD.height / Math.max(1, height)) };
}

/** How many new boxes stand beside each other: boards are wide and low. */
const IN_A_ROW = 2;

/** To the right of the lowest box, where its row is not full and nothing stands there. */
function beside(places: Readonly<Record<string, Place>>, boxes: readonly string[], sketch: ClaimSketch): Place | null {
  const standing = boxes.flatMap((name) => (places[name] ? [places[name]] : []));
  if (!standing.length) return null;
  const top = Math.max(...standing.map(([, y]) => y));
  const row = standing.filter(([, y]) => y + BOX.height > top);
  const place: Place = [Math.max(...row.map(([x]) => x)) + BOX.width + BESIDE, top];
  return row.length < IN_A_ROW && isFree(place, BOX, places, sketch) ? place : null;
}

/** Under everything that stands already, at its left edge; under a box there is room for a knot. */
function below(places: Readonly<Record<string, Place>>, sketch: ClaimSketch): Place {
  const all = Object.values(places);
  if (!all.length) return [0, 0];
  const knots = new Set(linksOf(sketch).map((link) => linkKey(sketch, link.name)));
  const ends = Object.entries(places).map(
    ([name, [, y]]) => y + (knots.has(name) ? KNOT.height + NEAR : BOX.height + GAP),
  );
  return [Math.min(...all.map(([x]) => x)), Math.max(...ends)];
}

/** As near as is free to the middle of the boxes a link ties; under the box where it ties only one. */
function between(link: Link, sketch: ClaimSketch, places: Readonly<Record<string, Place>>): Place {
  const size = knotSize(link);
  const centres = link.requests
    .map(requestOf)
    .flatMap((name) => (places[name] ? [places[name]] : []))
    .map(([x, y]) => [x + BOX.width / 2, y + BOX.height / 2]);
  if (!centres.length) return below(places, sketch);
  const mean = (axis: 0 | 1) => centres.reduce((sum, at) => sum + (at[axis] ?? 0), 0) / centres.length;
  const x = Math.round(mean(0) - size.width / 2);
  const y = Math.round(centres.length === 1 ? mean(1) + BOX.height / 2 + NEAR : mean(1) - size.height / 2);
  const steps = STEPS.map(([dx, dy]): Place => [x + dx, y + dy]);
  return steps.find((place) => isFree(place, size, places, sketch)) ?? below(places, sketch);
}

/** Whether something of a size lies on nothing that stands already, nor very near to it. */
function isFree(
  [left, top]: Place,
  size: typeof BOX,
  places: Readonly<Record<string, Place>>,
  sketch: ClaimSketch,
): boolean {
  const knots = new Map(linksOf(sketch).map((other) => [linkKey(sketch, other.name), other]));
  return Object.entries(places).every(([name, [px, py]]) => {
    const knot = knots.get(name);
    const there = knot ? knotSize(knot) : BOX;
    const isBeside = left >= px + there.width + CLEAR || px >= left + size.width + CLEAR;
    return isBeside || top >= py + there.height + CLEAR || py >= top + size.height + CLEAR;
  });
}
