// Where an arrow leads on the drawing.
import type { Direction } from "../view/key_table";

export interface Spot {
  id: string;
  x: number;
  y: number;
}

const TOWARDS: Readonly<Record<Direction, readonly [number, number]>> = {
  left: [-1, 0],
  right: [1, 0],
  up: [0, -1],
  down: [0, 1],
};

/** Pixels that Shift and an arrow move a box. */
export const STRIDE = 20;
export const strideTo = (to: Direction): readonly [number, number] => [
  TOWARDS[to][0] * STRIDE,
  TOWARDS[to][1] * STRIDE,
];

/**
 * Where an arrow leads from one box: to the nearest linked one in that direction, else the nearest one of all, else the
 * next or the one before in the order of the drawing, so that every box can be reached.
 */
export function neighbour(
  spots: readonly Spot[],
  from: string,
  to: Direction,
  linked: ReadonlySet<string>,
): string | null {
  const here = spots.find((spot) => spot.id === from);
  if (!here) return spots[0]?.id ?? null;
  const [dx, dy] = TOWARDS[to];
  const reach = (spot: Spot): number => {
    const [ex, ey] = [spot.x - here.x, spot.y - here.y];
    const along = ex * dx + ey * dy;
    const across = Math.abs(ex * dy) + Math.abs(ey * dx);
    return along > 0 && across <= 2 * along ? along + 2 * across : Infinity;
  };
  const others = spots.filter((spot) => spot.id !== from);
  for (const group of [others.filter((spot) => linked.has(spot.id)), others]) {
    const near = group.map((spot) => ({ spot, far: reach(spot) })).filter((c) => c.far < Infinity);
    const best = near.sort((a, b) => a.far - b.far || a.spot.id.localeCompare(b.spot.id))[0];
    if (best) return best.spot.id;
  }
  const index = spots.indexOf(here) + (to === "right" || to === "down" ? 1 : -1);
  return spots[index]?.id ?? null;
}
