// The canvas and its model: what is shown comes from the traits, every change goes through one door and is spoken.

import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { changedGang } from "../components/gang_fields";
import type { ClaimCanvasMessage, ClaimCanvasModel, ClaimSketch, GangRow } from "../generated/models";
import { type Channel, hooksOf, useIsLost, useLight } from "../view/model";
import type { Place, Places } from "./layout";
import { describeChange } from "./wording";

export const { useChannel, useTrait } = hooksOf<ClaimCanvasModel, ClaimCanvasMessage>();

export type Editor = ReturnType<typeof useEditor>;

type Origin = "own" | "undo" | "redo" | "python";
const LEAD: Readonly<Record<Origin, string>> = {
  own: "",
  undo: "Undone: ",
  redo: "Redone: ",
  python: "Changed from Python: ",
};

/** Milliseconds after which a change is no longer taken for the answer to an undo. */
const ANSWER = 2000;

/** What is drawn with all that is told of it, and what changes it. */
export function useEditor() {
  const channel = useChannel();
  const [sketch, status, palette] = [useTrait("sketch"), useTrait("status"), useTrait("palette")];
  const [positions, history, problem] = [useTrait("positions"), useTrait("history"), useTrait("problem")];
  const [problems, gang] = [useTrait("problems"), useTrait("gang")];
  const isLost = useIsLost();
  const readOnly = useTrait("read_only") || isLost;
  const [spoken, say] = useSpeech();
  const origin = useRef<Origin>("python");
  const [highlight, light] = [useTrait("highlight"), useLight(channel)];

  /** Change the drawing, and where boxes stand if given, in one message. Returns whether anything changed. */
  const edit = useCallback(
    (change: (sketch: ClaimSketch) => ClaimSketch, places?: Places) => {
      const before = channel.get("sketch");
      const after = isFixed(channel) ? before : change(before);
      if (after === before) return false;
      origin.current = "own";
      channel.set({ ...(places && { positions: mutable(places) }), sketch: after });
      return true;
    },
    [channel],
  );
  /** Keep where boxes stand. */
  const place = useCallback(
    (places: Places) => {
      if (!isFixed(channel)) channel.set({ positions: mutable(places) });
    },
    [channel],
  );
  const makeGang = useCallback(() => {
    if (!isFixed(channel)) channel.send({ type: "make-gang" });
  }, [channel]);
  /** Keep several such pods together, or change how; a size of 0 ends it. */
  const changeGang = useCallback(
    (row: GangRow) => {
      if (!isFixed(channel)) channel.send({ type: "set-gang", gang: row.size === 0 ? null : changedGang(row, {}) });
    },
    [channel],
  );
  const travel = useCallback(
    (type: "undo" | "redo") => {
      if (isFixed(channel)) return;
      const { canUndo, canRedo } = channel.get("history");
      if (!(type === "undo" ? canUndo : canRedo)) say(`Nothing to ${type}`);
      // Asked of Python in any case: it may know of a step that has not been told here yet.
      origin.current = type;
      setTimeout(() => {
        if (origin.current === type) origin.current = "python";
      }, ANSWER);
      channel.send({ type });
    },
    [channel, say],
  );
  const forget = useCallback(() => channel.set({ problem: "" }), [channel]);
  useSpokenChanges(sketch, problem, origin, say);
  useSpokenGang(gang.words ?? "", say);

  const undo = useCallback(() => travel("undo"), [travel]);
  const redo = useCallback(() => travel("redo"), [travel]);
  const editor = {
    sketch,
    status,
    palette,
    positions: positions as Places,
    history,
    /** What keeps the claim from fitting. */
    problems,
    /** The gang of the drawn pod; empty without one. */
    gang,
    problem,
    highlight,
    readOnly,
    /** The kernel is gone: nothing can be changed any more. */
    isLost,
    spoken,
    ...{ edit, place, makeGang, changeGang, say, light, forget, undo, redo },
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same names in the same order, so their values decide
  return useMemo(() => editor, Object.values(editor));
}

/** Whether nothing can be changed here. */
const isFixed = (channel: Channel<ClaimCanvasModel, ClaimCanvasMessage>): boolean =>
  channel.get("read_only") || channel.life.isOver();

const mutable = (places: Places): Record<string, [number, number]> =>
  Object.fromEntries(Object.entries(places).map(([name, [x, y]]: [string, Place]) => [name, [x, y]]));

/** Words for the live region; the same words twice are told apart, or they would be spoken once. */
function useSpeech(): [string, (words: string) => void] {
  const [spoken, setSpoken] = useState("");
  const say = useCallback((words: string) => setSpoken((last) => (last === words ? `${words}\u00a0` : words)), []);
  return [spoken, say];
}

function useSpokenChanges(
  sketch: ClaimSketch,
  problem: string,
  origin: { current: Origin },
  say: (words: string) => void,
): void {
  const before = useRef(sketch);
  useEffect(() => {
    if (before.current === sketch) return;
    const words = describeChange(before.current, sketch);
    const lead = problem && origin.current === "python" ? "Not possible: " : LEAD[origin.current];
    before.current = sketch;
    origin.current = "python";
    if (words) say(lead ? lead + words : words.charAt(0).toUpperCase() + words.slice(1));
  }, [sketch, problem, origin, say]);
  useEffect(() => {
    if (problem) say(problem);
  }, [problem, say]);
}

function useSpokenGang(words: string, say: (words: string) => void): void {
  const before = useRef(words);
  useEffect(() => {
    if (before.current === words) return;
    before.current = words;
    say(words ? `Gang: ${words}` : "No gang any more: one pod");
  }, [words, say]);
}

const Context = createContext<Editor | null>(null);
export const EditorProvider = Context.Provider;

export function useCanvas(): Editor {
  const editor = useContext(Context);
  if (!editor) throw new Error("used outside of the canvas");
  return editor;
}
