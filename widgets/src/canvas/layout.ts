// The frames of a pod with several claims: one around the boxes of each claim, and one around all of them. They are
// worked out from where the boxes stand, and never lie on each other.

import dagre from "@dagrejs/dagre";
import type { ClaimSketch, Link } from "../generated/models";
import { claimOf, claimsOf, partOf } from "./claims";
import { howOf, linksOf, requestOf, requestsOf } from "./sketch";
import { HOW_WORDS, sameWords } from "./wording";

// Where boxes stand that have no place yet: a whole drawing by dagre, single new boxes beside what stands already.
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
const knotSize = (link: Link) => ({
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
const BOARD = { width: 464, height: 310 };

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
function wayOut([x, y]: Place, size: typeof BOX, [ox, oy]: Place, other: typeof BOX): Place | null {
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

export interface Frame {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const PAD = 12;
/** The height of a frame's name. */
const HEAD = 30;
const POD_PAD = 10;
const POD_HEAD = 26;
const GANG_PAD = 14;
const GANG_HEAD = 30;
const BETWEEN = 14;
const EMPTY = { width: BOX.width + 2 * PAD, height: BOX.height + HEAD + PAD };

/** The key of the place of a claim without requests. */
export const claimKey = (claim: string): string => `claim/${claim}`;

/** The rectangle around some others. */
function boundsOf(all: readonly Frame[]): Frame {
  const [x, y] = [Math.min(...all.map((one) => one.x)), Math.min(...all.map((one) => one.y))];
  const right = Math.max(...all.map((one) => one.x + one.width));
  const bottom = Math.max(...all.map((one) => one.y + one.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** The frame around a rectangle: `pad` pixels at each side, `head` above it for a name. */
const padded = ({ x, y, width, height }: Frame, pad: number, head: number): Frame => ({
  x: x - pad,
  y: y - head,
  width: width + 2 * pad,
  height: height + head + pad,
});

const keysOf = (part: ClaimSketch, sketch: ClaimSketch): string[] => [
  ...requestsOf(part).map((request) => request.name),
  ...linksOf(part).map((link) => linkKey(sketch, link.name)),
];

/** The frame of a claim. */
export function frameOf(sketch: ClaimSketch, claim: string, places: Places, sizes: Sizes): Frame {
  const part = partOf(sketch, claim);
  const inside = requestsOf(part).length ? around(part, sketch, places, sizes) : null;
  const [x, y] = places[claimKey(claim)] ?? [0, 0];
  return inside ? padded(inside, PAD, HEAD) : { x, y, ...EMPTY };
}

/** The frame of the pod, around those of its claims. */
export const podFrame = (frames: readonly Frame[]): Frame => padded(boundsOf(frames), POD_PAD, POD_HEAD);

/** The frame of a gang, around everything that is drawn. */
export const gangFrame = (inside: Frame): Frame => padded(inside, GANG_PAD, GANG_HEAD);

const SAME_TEXT = 7;
/** The knot on the lower edge of the frame of a gang, below the boxes that it ties, with a text of so many letters. */
export function sameKnot({ x, y, width, height }: Frame, boxes: readonly Place[], letters: number): Frame {
  const own = Math.min(300, SAME_TEXT * letters + 44);
  const middle = boxes.reduce((sum, [left]) => sum + left + BOX.width / 2, 0) / boxes.length;
  const left = (boxes.length ? middle : x + width / 2) - own / 2;
  const most = Math.max(x, x + width - own - GANG_PAD);
  return {
    x: Math.min(Math.max(left, x + GANG_PAD), most),
    y: y + height - KNOT.height / 2,
    width: own,
    height: KNOT.height,
  };
}

/** The rectangle around the boxes and links of a part of the drawing; null for an empty one. */
export function around(part: ClaimSketch, sketch: ClaimSketch, places: Places, sizes: Sizes): Frame | null {
  const knots = new Map(linksOf(part).map((link) => [linkKey(sketch, link.name), link]));
  const own = keysOf(part, sketch).flatMap((key) => {
    const [knot, place] = [knots.get(key), places[key]];
    return place ? [{ x: place[0], y: place[1], ...(sizes[key] ?? (knot ? knotSize(knot) : BOX)) }] : [];
  });
  return own.length ? boundsOf(own) : null;
}

/** The claim whose frame has a point; "" for none. */
export const claimAt = (frames: ReadonlyMap<string, Frame>, { x, y }: { x: number; y: number }): string =>
  [...frames].find(([, f]) => x >= f.x && y >= f.y && x <= f.x + f.width && y <= f.y + f.height)?.[0] ?? "";

/** Places with everything of a claim, its empty frame too, moved. */
function shifted(sketch: ClaimSketch, places: Places, claim: string, dx: number, dy: number): Places {
  const keys = new Set([...keysOf(partOf(sketch, claim), sketch), claimKey(claim)]);
  return Object.fromEntries(
    Object.entries(places).map(([key, place]) => [
      key,
      keys.has(key) ? ([place[0] + dx, place[1] + dy] as const) : place,
    ]),
  );
}

const lieOn = (one: Frame, other: Frame): boolean =>
  one.x < other.x + other.width + BETWEEN &&
  other.x < one.x + one.width + BETWEEN &&
  one.y < other.y + other.height + BETWEEN &&
  other.y < one.y + one.height + BETWEEN;

/** Places in which no frame lies on another: those of the `fixed` claims stay, the others move as a whole. */
function framesApart(sketch: ClaimSketch, places: Places, fixed: readonly string[], sizes: Sizes): Places {
  const claims = claimsOf(sketch);
  const settled: Frame[] = [];
  let next = places;
  for (const claim of [...fixed, ...claims.filter((one) => !fixed.includes(one))]) {
    for (let tries = 0; tries <= claims.length; tries++) {
      const own = frameOf(sketch, claim, next, sizes);
      const hit = settled.find((other) => lieOn(other, own));
      if (!hit) break;
      const wide = { width: hit.width + BETWEEN, height: hit.height + BETWEEN };
      const around: Place = [hit.x - BETWEEN / 2, hit.y - BETWEEN / 2];
      const beyond: Place = [Math.max(...settled.map((one) => one.x + one.width)) + BETWEEN, own.y];
      const to = tries < claims.length ? wayOut(around, wide, [own.x, own.y], own) : beyond;
      if (!to) break;
      next = shifted(sketch, next, claim, Math.round(to[0] - own.x), Math.round(to[1] - own.y));
    }
    settled.push(frameOf(sketch, claim, next, sizes));
  }
  return next;
}

/** Places in which nothing lies on anything else, frames included; what is `fixed` stays (see `pushedApart`). */
export function apart(sketch: ClaimSketch, places: Places, fixed: readonly string[], sizes: Sizes = {}): Places {
  if (!claimsOf(sketch).length) return pushedApart(sketch, places, fixed, sizes);
  const claims = claimsOf(sketch).filter((claim) => fixed.some((key) => claimOf(key.replace("link/", "")) === claim));
  const own = claims.reduce((next, claim) => {
    const part = partOf(sketch, claim);
    const keys = new Set(keysOf(part, sketch));
    return pushedApart(
      part,
      next,
      fixed.filter((key) => keys.has(key)),
      sizes,
    );
  }, places);
  return framesApart(sketch, own, claims, sizes);
}

/** The size at which texts are readable. */
const READABLE = 0.85;

/**
 * Where everything stands. Claims of which nothing is placed stand beside the others, or under them where that can be
 * shown larger.
 */
export function placed(sketch: ClaimSketch, known: Places, sizes: Sizes = {}): Places {
  if (!claimsOf(sketch).length) return placeAll(sketch, known);
  const claims = claimsOf(sketch);
  let places: Places = {};
  const fresh: string[] = [];
  for (const claim of claims) {
    const part = partOf(sketch, claim);
    const keys = keysOf(part, sketch);
    const own = Object.fromEntries(Object.entries(known).filter(([key]) => keys.includes(key)));
    const at = known[claimKey(claim)];
    const isPlaced = Object.keys(own).some((key) => requestsOf(part).some(({ name }) => name === key));
    places = { ...places, ...placeAll(part, own), [claimKey(claim)]: at ?? [0, 0] };
    if (isPlaced) continue;
    if (!at) fresh.push(claim);
    else if (keys.length) places = movedTo(sketch, places, claim, at, sizes);
  }
  const there = claims.filter((claim) => !fresh.includes(claim)).map((claim) => frameOf(sketch, claim, places, sizes));
  if (!fresh.length) return framesApart(sketch, places, [], sizes);
  const standing = there.length ? [podFrame(there)] : [];
  const blocks = [...standing, ...fresh.map((claim) => frameOf(sketch, claim, places, sizes))];
  const [widths, heights] = [blocks.map((one) => one.width), blocks.map((one) => one.height)];
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value + BETWEEN, 0);
  const zoom = (width: number, height: number) => Math.min(1, BOARD.width / width, BOARD.height / height);
  const row = zoom(sum(widths), Math.max(...heights));
  const isColumn = row < Math.min(READABLE, zoom(Math.max(...widths), sum(heights)));
  const last = there.length && podFrame(there);
  let x = last ? (isColumn ? last.x + POD_PAD : last.x + last.width - POD_PAD + BETWEEN) : 0;
  let y = last ? (isColumn ? last.y + last.height - POD_PAD + BETWEEN : last.y + POD_HEAD) : 0;
  for (const claim of fresh) {
    places = movedTo(sketch, places, claim, [x, y], sizes);
    const { width, height } = frameOf(sketch, claim, places, sizes);
    if (isColumn) y += height + BETWEEN;
    else x += width + BETWEEN;
  }
  return framesApart(sketch, places, [], sizes);
}

/** Places with the frame of a claim at a place. */
function movedTo(sketch: ClaimSketch, places: Places, claim: string, [x, y]: Place, sizes: Sizes): Places {
  const { [claimKey(claim)]: _stale, ...others } = places;
  if (!requestsOf(partOf(sketch, claim)).length) return { ...others, [claimKey(claim)]: [x, y] };
  const own = frameOf(sketch, claim, others, sizes);
  return { ...shifted(sketch, others, claim, x - own.x, y - own.y), [claimKey(claim)]: [x, y] };
}
