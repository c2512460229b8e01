// The frames of a pod with several claims: one around the boxes of each claim, and one around all of them. They are
// worked out from where the boxes stand, and never lie on each other.
import type { ClaimSketch } from "../generated/models";
import { claimOf, claimsOf, partOf } from "./claims";
import {
  BOARD,
  BOX,
  knotSize,
  linkKey,
  type Place,
  type Places,
  placeAll,
  pushedApart,
  type Sizes,
  wayOut,
} from "./layout";
import { linksOf, requestsOf } from "./sketch";

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
const LEAST = 0.85;

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
  const isColumn = row < Math.min(LEAST, zoom(Math.max(...widths), sum(heights)));
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
