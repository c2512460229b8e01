// The keys of the planner: one table of what each does, where, and how it is listed under "?".
export type Direction = "left" | "right" | "up" | "down";
type Plain =
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
export type Action = { do: Plain } | { do: "count"; by: 1 | -1; alone: boolean } | { do: "go" | "move"; to: Direction };
/** What a key does all over the planner. */
export type PlannerAction = "dock" | "find" | "keys";

interface KeyRow<T> {
  /** How it is listed; "" for a key that needs no mention. */
  readonly shown: string;
  readonly words: string;
  /** What each key does, by the name that `nameOfKey` gives it. */
  readonly keys: Readonly<Record<string, T>>;
}

const count = (by: 1 | -1, alone: boolean): Action => ({ do: "count", by, alone });
const towards = (action: "go" | "move", shift = ""): Readonly<Record<string, Action>> => ({
  [`${shift}ArrowLeft`]: { do: action, to: "left" },
  [`${shift}ArrowRight`]: { do: action, to: "right" },
  [`${shift}ArrowUp`]: { do: action, to: "up" },
  [`${shift}ArrowDown`]: { do: action, to: "down" },
});

export const CANVAS_KEYS: readonly KeyRow<Action>[] = [
  { shown: "Tab", words: "enter, leave the drawing", keys: {} },
  { shown: "Arrows", words: "next box, along links first", keys: towards("go") },
  { shown: "Shift + arrows", words: "move the box", keys: towards("move", "Shift+") },
  { shown: "N", words: "add: arrows choose, Enter adds", keys: { n: { do: "add" } } },
  {
    shown: "L",
    words: "link: arrows choose the partner, Enter opens place and kind",
    keys: { l: { do: "link" } },
  },
  { shown: "Shift + N", words: "add a claim to the pod", keys: { "Shift+n": { do: "claim" } } },
  {
    shown: "G",
    words: "keep several such pods in one rack; Enter edits, Delete removes",
    keys: { g: { do: "gang" } },
  },
  { shown: "M", words: "move the request to the next claim", keys: { m: { do: "to-claim" } } },
  {
    shown: "+ and −",
    words: "one more, one less, with what is linked one to one",
    keys: { "+": count(1, false), "=": count(1, false), "-": count(-1, false), "−": count(-1, false) },
  },
  {
    shown: "Alt and + or −",
    words: "this request alone",
    keys: { "Alt++": count(1, true), "Alt+=": count(1, true), "Alt+-": count(-1, true), "Alt+−": count(-1, true) },
  },
  { shown: "Enter", words: "edit in the card below", keys: { Enter: { do: "confirm" } } },
  {
    shown: "Delete",
    words: "remove what is selected",
    keys: { Delete: { do: "delete" }, Backspace: { do: "delete" } },
  },
  { shown: "Ctrl + Z", words: "undo", keys: { "Ctrl+z": { do: "undo" } } },
  {
    shown: "Ctrl + Shift + Z",
    words: "redo",
    keys: { "Ctrl+Shift+z": { do: "redo" }, "Ctrl+y": { do: "redo" } },
  },
  { shown: "Esc", words: "cancel; the focus stays", keys: { Escape: { do: "cancel" } } },
  { shown: "?", words: "show or hide these keys", keys: { "?": { do: "keys" } } },
  { shown: "", words: "the first and the last box", keys: { Home: { do: "first" }, End: { do: "last" } } },
];

export const PLANNER_KEYS: readonly KeyRow<PlannerAction>[] = [
  { shown: "1 … 5", words: "choose a mode", keys: {} },
  { shown: "N", words: "add a request", keys: {} },
  { shown: "L", words: "on a box: start a link; the arrows choose its other end", keys: {} },
  { shown: "J", words: "open or close the dock", keys: { j: "dock" } },
  { shown: "/", words: "find a node or a device", keys: { "/": "find" } },
  { shown: "?", words: "show these keys", keys: { "?": "keys" } },
  { shown: "Enter", words: "in the answer: apply the first change that would help", keys: {} },
  { shown: "Ctrl+Z", words: "undo; with Shift, redo", keys: {} },
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
    const row = table.find(({ keys }) => one in keys);
    if (row) return row.keys[one] ?? null;
  }
  return null;
}
