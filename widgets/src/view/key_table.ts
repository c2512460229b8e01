// The keys of the planner: one table of what each does, where, and how it is listed under "?".
export type Direction = "left" | "right" | "up" | "down";
/** What a key does on the drawing that needs no more than its name. */
export type PlainAction =
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
/** What a key does on the drawing. */
export type Action =
  | { do: PlainAction }
  | { do: "count"; by: 1 | -1; alone: boolean }
  | { do: "go" | "move"; to: Direction };
/** What a key does all over the planner. */
export type PlannerAction = "dock" | "find" | "keys";

/** How it is listed ("" for a key that needs no mention), what it does, and each key by the name of `nameOfKey`. */
type KeyRow<T> = readonly [shown: string, words: string, keys: Readonly<Record<string, T>>];

const count = (by: 1 | -1, alone: boolean): Action => ({ do: "count", by, alone });
const towards = (action: "go" | "move", shift = ""): Readonly<Record<string, Action>> => ({
  [`${shift}ArrowLeft`]: { do: action, to: "left" },
  [`${shift}ArrowRight`]: { do: action, to: "right" },
  [`${shift}ArrowUp`]: { do: action, to: "up" },
  [`${shift}ArrowDown`]: { do: action, to: "down" },
});

export const CANVAS_KEYS: readonly KeyRow<Action>[] = [
  ["Tab", "enter, leave the drawing", {}],
  ["Arrows", "next box, along links first", towards("go")],
  ["Shift + arrows", "move the box", towards("move", "Shift+")],
  ["N", "add: arrows choose, Enter adds", { n: { do: "add" } }],
  ["L", "link: arrows choose the partner, Enter opens place and kind", { l: { do: "link" } }],
  ["Shift + N", "add a claim to the pod", { "Shift+n": { do: "claim" } }],
  ["G", "keep several such pods in one rack; Enter edits, Delete removes", { g: { do: "gang" } }],
  ["M", "move the request to the next claim", { m: { do: "to-claim" } }],
  [
    "+ and −",
    "one more, one less, with what is linked one to one",
    { "+": count(1, false), "=": count(1, false), "-": count(-1, false), "−": count(-1, false) },
  ],
  [
    "Alt and + or −",
    "this request alone",
    { "Alt++": count(1, true), "Alt+=": count(1, true), "Alt+-": count(-1, true), "Alt+−": count(-1, true) },
  ],
  ["Enter", "edit in its card", { Enter: { do: "confirm" } }],
  ["Delete", "remove what is selected", { Delete: { do: "delete" }, Backspace: { do: "delete" } }],
  ["Ctrl + Z", "undo", { "Ctrl+z": { do: "undo" } }],
  ["Ctrl + Shift + Z", "redo", { "Ctrl+Shift+z": { do: "redo" }, "Ctrl+y": { do: "redo" } }],
  ["Esc", "cancel; the focus stays", { Escape: { do: "cancel" } }],
  ["?", "show or hide these keys", { "?": { do: "keys" } }],
  ["", "the first and the last box", { Home: { do: "first" }, End: { do: "last" } }],
];

export const PLANNER_KEYS: readonly KeyRow<PlannerAction>[] = [
  ["1 … 5", "choose a mode", {}],
  ["N", "add a request", {}],
  ["L", "on a box: start a link; the arrows choose its other end", {}],
  ["J", "open or close the dock", { j: "dock" }],
  ["/", "find a node or a device", { "/": "find" }],
  ["?", "show these keys", { "?": "keys" }],
  ["Enter", "in the answer: apply the first change that would help", {}],
  ["Ctrl+Z", "undo; with Shift, redo", {}],
];

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** A key with what is held: "Ctrl+Shift+z". Shift is left out where it only makes the sign, as of "?". */
function nameOfKey({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): string {
  const isSign = key.length === 1 && key.toLowerCase() === key.toUpperCase();
  const held = [(ctrlKey || metaKey) && "Ctrl", altKey && "Alt", shiftKey && !isSign && "Shift"];
  return [...held.filter(Boolean), key.length === 1 ? key.toLowerCase() : key].join("+");
}

/** What a table of keys says of a pressed key; null for a key that is not in it. */
export function actionOf<T>(table: readonly KeyRow<T>[], event: Pressed): T | null {
  const name = nameOfKey(event);
  const plain = name.replace("Shift+", "");
  for (const one of [name, plain]) {
    const row = table.find(([, , keys]) => one in keys);
    if (row) return row[2][one] ?? null;
  }
  return null;
}
