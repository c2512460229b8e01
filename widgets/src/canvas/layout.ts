// Where boxes stand that have no place yet: a whole drawing by dagre, single new boxes beside what stands already.
import dagre from "@dagrejs/dagre";
import type { ClaimSketch, Link } from "../generated/models";
import { howOf, linksOf, requestOf, requestsOf } from "./sketch";
import { HOW_WORDS, sameWords } from "./wording";

export type Place = readonly [number, number];
export type Places = Readonly<Record<string, Place>>;

/** Sizes in pixels for placing; the real ones are measured by the browser later and differ by little. */
export const BOX = { width: 212, height: 82 };
export const KNOT = { width: 190, height: 30 };
/** Between boxes under each other: room for a knot. */
const GAP = 62;
const NEAR = 32;
const BESIDE = 36;
/** How many new boxes stand beside each other. */
const IN_A_ROW = 2;
const CLEAR = 8;
/**
 * Ways from the middle of a link to look for a free place, nearest first; downwards and to the right before the others.
 */
const STEPS: readonly Place[] = (() => {
  const steps = Array.from({ length: 61 }, (_, i) => (i - 30) * 12);
  const all = steps.flatMap((dx) => steps.map((dy): Place => [dx, dy]));
  return all.sort(([ax, ay], [bx, by]) => Math.hypot(ax, ay) - Math.hypot(bx, by) || by - ay || bx - ax);
})();
export const knotSize = (link: Link) => ({
  ...KNOT,
  width: Math.round(Math.min(310, 54 + 7.1 * `${HOW_WORDS[howOf(link)]}, ${sameWords(link)}`.length)),
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

/** What the board of a planner has room for in a window of 1280 pixels. */
export const BOARD = { width: 464, height: 310 };

/** The size at which a drawing with its knots under its boxes is readable enough. */
const LARGE = 0.9;

/**
 * The drawing with its boxes over their knots, or one after the other down where that can be shown larger; boxes
 * without a link come under it, in rows.
 */
function arrange(sketch: ClaimSketch): Places {
  const tied = new Set(linksOf(sketch).flatMap((link) => link.requests.map(requestOf)));
  const linked = { ...sketch, requests: requestsOf(sketch).filter((request) => tied.has(request.name)) };
  const loose = requestsOf(sketch).filter((request) => !tied.has(request.name));
  const [rows, chain] = [arranged(linked, false), arranged(linked, true)];
  const { places, height } = rows.zoom >= Math.min(LARGE, chain.zoom) ? rows : chain;
  const top = linked.requests.length ? Math.round(height) + BESIDE : 0;
  loose.forEach(({ name }, i) => {
    const [column, row] = [i % IN_A_ROW, Math.floor(i / IN_A_ROW)];
    places[name] = [column * (BOX.width + BESIDE), top + row * (BOX.height + BESIDE)];
  });
  return places;
}

/** Places by dagre; in a chain a knot stands between its boxes, else under all of them. */
function arranged(
  sketch: ClaimSketch,
  chain: boolean,
): { places: Record<string, Place>; height: number; zoom: number } {
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
  return { places, height, zoom: Math.min(1, BOARD.width / Math.max(1, width), BOARD.height / Math.max(1, height)) };
}

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

export type Sizes = Readonly<Record<string, { readonly width: number; readonly height: number }>>;

/** Moves that are tried at most; a drawing of 30 boxes needs some dozens. */
const MOST_PUSHES = 400;

/**
 * Places in which nothing lies on anything else: what is `fixed` stays, what it lies on moves aside by the shorter way,
 * and so on. `sizes` are those of the boxes as drawn.
 */
export function pushedApart(sketch: ClaimSketch, places: Places, fixed: readonly string[], sizes: Sizes = {}): Places {
  const knots = new Map(linksOf(sketch).map((link) => [linkKey(sketch, link.name), link]));
  const names = [...requestsOf(sketch).map((r) => r.name), ...knots.keys()].filter((name) => places[name]);
  const sizeOf = (name: string) => {
    const knot = knots.get(name);
    return knot ? knotSize(knot) : (sizes[name] ?? BOX);
  };
  const next: Record<string, Place> = { ...places };
  // What was pushed pushes what it lies on now, and is not pushed back.
  const settled = new Set(fixed);
  const queue = [...fixed];
  for (let count = 0, name = queue.shift(); name !== undefined && count < MOST_PUSHES; name = queue.shift()) {
    for (const other of names) {
      if (settled.has(other)) continue;
      const way = wayOut(next[name] ?? [0, 0], sizeOf(name), next[other] ?? [0, 0], sizeOf(other));
      if (!way) continue;
      count++;
      next[other] = way;
      settled.add(other);
      queue.push(other);
    }
  }
  return next;
}

/** Where the second thing goes so that it is clear of the first; null where it is clear already. */
export function wayOut([x, y]: Place, size: typeof BOX, [ox, oy]: Place, other: typeof BOX): Place | null {
  const right = x + size.width + CLEAR - ox;
  const left = ox + other.width + CLEAR - x;
  const down = y + size.height + CLEAR - oy;
  const up = oy + other.height + CLEAR - y;
  if (Math.min(right, left, down, up) <= 0) return null;
  const isRight = ox + other.width / 2 >= x + size.width / 2;
  const isBelow = oy + other.height / 2 >= y + size.height / 2;
  const [dx, dy] = [isRight ? right : -left, isBelow ? down : -up];
  return Math.abs(dx) < Math.abs(dy) ? [ox + dx, oy] : [ox, oy + dy];
}
