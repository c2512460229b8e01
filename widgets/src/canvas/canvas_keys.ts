// What the keys do on the board. While a link is being made the arrows choose its other end.

import type { KeyboardEvent } from "react";
import { type Action, actionOf, CANVAS_KEYS, type Direction, type PlainAction } from "../view/keys";
import { shortName } from "./claims";
import type { Editor } from "./editor";
import { candidatesFrom, candidateWords, type Linking } from "./edits";
import { claimOfNode, GANG, isClaimId, isFrame, isRequestId, nameOf, placeKey, placesOf, SAME, sizesOf } from "./flow";
import { apart } from "./layout";
import { step } from "./sketch";
import type { Flow } from "./use_flow";

// Where an arrow leads on the drawing.
interface Spot {
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
const STRIDE = 20;
const strideTo = (to: Direction): readonly [number, number] => [TOWARDS[to][0] * STRIDE, TOWARDS[to][1] * STRIDE];

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

interface KeyTargets {
  editor: Editor;
  flow: Flow;
  linking: Linking | null;
  setLinking(linking: Linking | null): void;
  /** Link two ends by keyboard: the form of the link gets the focus. */
  join(from: string, to: string): void;
  leaveForm(): void;
  /** What the keys do that need no more than the canvas. */
  acts: Partial<Record<PlainAction, () => void>>;
}

const FIELD = "textarea, select, input:not([type='radio'], [type='checkbox'])";

/** Whether a key belongs to a field of the form: all but undo, redo and Esc do, and those too while a text is typed. */
function isForField(target: HTMLElement, action: Action): boolean {
  if (!target.matches(FIELD)) return false;
  return !["undo", "redo", "cancel"].includes(action.do) || target.hasAttribute("data-draft");
}

/** Handle a key of the canvas; returns whether it was one. */
export function onCanvasKey(event: KeyboardEvent, targets: KeyTargets): boolean {
  const [target, action] = [event.target as HTMLElement, actionOf(CANVAS_KEYS, event)];
  if (!action || isForField(target, action)) return false;
  if (action.do === "cancel" && target.closest(".dra-inspector")) {
    targets.leaveForm();
    return true;
  }
  const onBoard = target.closest(".dra-board") !== null && (action.do === "cancel" || !target.closest("button"));
  const anywhere = action.do === "undo" || action.do === "redo" || action.do === "keys";
  if (!anywhere && !onBoard) return false;
  return targets.linking && onBoard ? chooseEnd(action, targets, targets.linking) : act(action, targets);
}

function chooseEnd(action: Action, { setLinking, editor, join }: KeyTargets, linking: Linking): boolean {
  if (action.do === "go") {
    const by = action.to === "right" || action.to === "down" ? 1 : -1;
    const next = { ...linking, index: (linking.index + by + linking.candidates.length) % linking.candidates.length };
    setLinking(next);
    editor.say(candidateWords(editor.sketch, next));
  } else if (action.do === "confirm" || action.do === "link") {
    setLinking(null);
    join(linking.from, linking.candidates[linking.index] ?? linking.from);
  } else if (action.do === "cancel") {
    setLinking(null);
    editor.say("No link made");
  }
  return true;
}

function act(action: Action, targets: KeyTargets): boolean {
  const { editor, flow } = targets;
  const acts: KeyTargets["acts"] = {
    ...targets.acts,
    undo: editor.undo,
    redo: editor.redo,
    link: () => beginLink(targets),
    delete: () => editor.readOnly || flow.deleteSelected(),
    first: () => focusAt(flow, 0),
    last: () => focusAt(flow, -1),
  };
  if (action.do === "count") changeCount(targets, action.by, action.alone);
  else if (action.do === "go") go(targets, action.to);
  else if (action.do === "move") move(targets, action.to);
  else acts[action.do]?.();
  return true;
}

const focusAt = (flow: Flow, index: number) => {
  const node = flow.nodes.at(index);
  if (node) flow.focus(node.id);
};

function beginLink({ editor, flow, setLinking }: KeyTargets): void {
  const from = flow.active;
  if (!from || editor.readOnly || isClaimId(from) || from === GANG || from === SAME) return;
  const candidates = candidatesFrom(editor.sketch, from);
  if (!candidates.length) {
    editor.say(`${shortName(nameOf(from))} ties every request already`);
    return;
  }
  const linking = { from, candidates, index: 0 };
  setLinking(linking);
  editor.say(candidateWords(editor.sketch, linking));
}

function changeCount({ editor, flow }: KeyTargets, by: 1 | -1, alone: boolean): void {
  const name = nameOf(flow.active);
  if (!isRequestId(flow.active)) return;
  if (!editor.edit((sketch) => step(sketch, name, by, alone))) editor.say(`The count of ${shortName(name)} stays`);
}

function go({ flow }: KeyTargets, to: Direction): void {
  // A frame with boxes is where they are; an empty one can be reached.
  const isSpot = (node: (typeof flow.nodes)[number]) =>
    !isFrame(node) || node.data.detail !== "" || node.id === GANG || node.id === SAME;
  const spots = flow.nodes.filter(isSpot).map(({ id, position, measured }) => ({
    id,
    x: position.x + (measured?.width ?? 0) / 2,
    // the frame of a gang is where its words are, above all boxes
    y: position.y + (id === GANG ? 0 : (measured?.height ?? 0) / 2),
  }));
  const linked = new Set(
    flow.edges.flatMap((e) => (e.source === flow.active ? [e.target] : e.target === flow.active ? [e.source] : [])),
  );
  const next = neighbour(spots, flow.active, to, linked);
  if (next) flow.focus(next);
}

function move({ editor, flow }: KeyTargets, to: Direction): void {
  if (editor.readOnly) return;
  const [dx, dy] = strideTo(to);
  const known = flow.selected.length ? flow.selected.map((node) => node.id) : [flow.active];
  const chosen = known.filter((id) => id !== GANG && id !== SAME);
  const claims = chosen.filter(isClaimId).map(nameOf);
  const inside = flow.nodes.filter((node) => claims.includes(claimOfNode(node.id))).map((node) => node.id);
  const ids = new Set([...chosen, ...inside]);
  const moved = flow.nodes.map((node) =>
    ids.has(node.id) ? { ...node, position: { x: node.position.x + dx, y: node.position.y + dy } } : node,
  );
  const places = { ...editor.positions, ...placesOf(editor, moved) };
  editor.place(
    apart(
      editor.sketch,
      places,
      [...ids].map((id) => placeKey(editor.sketch, id)),
      sizesOf(editor.sketch, flow.nodes),
    ),
  );
  editor.say(`Moved ${to}`);
}
