// The keys of the canvas: what each means, and where an arrow leads.

export type Direction = "left" | "right" | "up" | "down";
export type Action =
  | {
      do:
        | "undo"
        | "redo"
        | "add"
        | "claim"
        | "to-claim"
        | "gang"
        | "link"
        | "delete"
        | "keys"
        | "cancel"
        | "confirm"
        | "first"
        | "last";
    }
  | { do: "count"; by: 1 | -1; alone: boolean }
  | { do: "go" | "move"; to: Direction };

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** What is listed in the panel of "?". */
export const KEYS: readonly (readonly [string, string])[] = [
  ["Tab", "enter, leave the drawing"],
  ["Arrows", "next box, along links first"],
  ["Shift + arrows", "move the box"],
  ["N", "add: arrows choose, Enter adds"],
  ["L", "link: arrows choose the partner, Enter opens place and kind"],
  ["Shift + N", "add a claim to the pod"],
  ["G", "keep several such pods in one rack; Enter edits, Delete removes"],
  ["M", "move the request to the next claim"],
  ["+ and −", "one more, one less, with what is linked one to one"],
  ["Alt and + or −", "this request alone"],
  ["Enter", "edit in the card below"],
  ["Delete", "remove what is selected"],
  ["Ctrl + Z", "undo"],
  ["Ctrl + Shift + Z", "redo"],
  ["Esc", "cancel; the focus stays"],
  ["?", "show or hide these keys"],
];

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** The action of a key pressed on the drawing; null for a key that is not ours. */
export function actionOf(event: Pressed): Action | null {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) {
    if (event.altKey) return null;
    if (key === "z") return { do: event.shiftKey ? "redo" : "undo" };
    return key === "y" ? { do: "redo" } : null;
  }
  if (key === "+" || key === "=") return { do: "count", by: 1, alone: event.altKey };
  if (key === "-" || key === "−") return { do: "count", by: -1, alone: event.altKey };
  if (event.altKey) return null;
  const arrow = ARROWS[event.key];
  if (arrow) return { do: event.shiftKey ? "move" : "go", to: arrow };
  switch (key) {
    case "n":
      return { do: event.shiftKey ? "claim" : "add" };
    case "m":
      return { do: "to-claim" };
    case "g":
      return { do: "gang" };
    case "l":
      return { do: "link" };
    case "Delete":
    case "Backspace":
      return { do: "delete" };
    case "Escape":
      return { do: "cancel" };
    case "Enter":
      return { do: "confirm" };
    case "Home":
      return { do: "first" };
    case "End":
      return { do: "last" };
    case "?":
      return { do: "keys" };
    default:
      return null;
  }
}

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
 * next
 * or the one before in the order of the drawing, so that every box can be reached.
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
