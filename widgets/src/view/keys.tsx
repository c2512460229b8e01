// Keys: the table of what each does in the planner, steps in lists, and the list under "?".
import type { KeyboardEvent } from "react";

/** How far a key goes in a list: a row, a page, or to its ends; undefined for other keys. */
export function stepOf(key: string, page = 10): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowDown: 1,
    ArrowLeft: -1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  };
  return steps[key];
}

/** Where such a step ends in a list of a length. */
export const stepped = (from: number, step: number, length: number): number =>
  Math.max(0, Math.min(length - 1, from + step));

/** Do on Enter in a text field what its button does: a form would depend on what the page around does with Enter. */
export const onEnter = (act: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Enter" || event.nativeEvent.isComposing || (event.target as Element).closest("button")) return;
  event.preventDefault();
  act();
};

/** Let the arrows, Home and End move the focus among the elements that `selector` finds. */
export const onArrows = (selector: string) => (event: KeyboardEvent<HTMLElement>) => {
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)];
  const here = all.indexOf(document.activeElement as HTMLElement);
  const step = event.key.startsWith("Page") ? undefined : stepOf(event.key);
  if (step === undefined || here < 0) return;
  event.preventDefault();
  all[stepped(here, step, all.length)]?.focus();
};

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
type PlannerAction = "dock" | "find" | "keys" | "print";

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
  ["P", "print the answer", { p: "print" }],
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

// The keys that work somewhere, as the table of keys lists them.
interface Props {
  rows: readonly (readonly [shown: string, words: string, ...unknown[]])[];
}

export function KeysList({ rows }: Props) {
  return (
    <dl className="dra-keys-list">
      {rows.map(
        ([shown, words]) =>
          shown && (
            <div key={shown}>
              <dt>
                <kbd>{shown}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
