// The canvas and its model: what is shown comes from the traits, every change goes through one door and is spoken.
import type { AnyModel } from "@anywidget/types";
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { CanvasHistory, CanvasStatus, ClaimCanvasModel, ClaimSketch, PaletteRow } from "../generated/models";
import type { Life } from "../view/life";
import type { Place, Places } from "./layout";
import { describeChange, isSame } from "./wording";

export type Model = AnyModel<ClaimCanvasModel>;

/**
 * The value of a trait, the same object as long as it says the same: the echo of our own change comes back from the kernel
 * as an equal copy, and would look like a change.
 */
export function useTrait<K extends keyof ClaimCanvasModel & string>(model: Model, name: K): ClaimCanvasModel[K] {
  const subscribe = useCallback(
    (changed: () => void) => {
      model.on(`change:${name}`, changed);
      return () => model.off(`change:${name}`, changed);
    },
    [model, name],
  );
  const kept = useRef({ raw: model.get(name), value: model.get(name) });
  return useSyncExternalStore(subscribe, () => {
    const raw = model.get(name);
    if (raw !== kept.current.raw) {
      kept.current = { raw, value: isSame(raw, kept.current.value) ? kept.current.value : raw };
    }
    return kept.current.value;
  });
}

export interface Editor {
  sketch: ClaimSketch;
  status: CanvasStatus;
  palette: readonly PaletteRow[];
  positions: Places;
  history: CanvasHistory;
  problem: string;
  highlight: string;
  readOnly: boolean;
  /** The kernel is gone: nothing can be changed any more. */
  isLost: boolean;
  spoken: string;
  /** Change the drawing, and where boxes stand if given, in one message. Returns whether anything changed. */
  edit(change: (sketch: ClaimSketch) => ClaimSketch, places?: Places): boolean;
  /** Keep where boxes stand. */
  place(places: Places): void;
  undo(): void;
  redo(): void;
  say(words: string): void;
  light(subject: string): void;
  forget(): void;
}

type Origin = "own" | "undo" | "redo" | "python";
const LEAD: Readonly<Record<Origin, string>> = {
  own: "",
  undo: "Undone: ",
  redo: "Redone: ",
  python: "Changed from Python: ",
};

/** Milliseconds after which a change is no longer taken for the answer to an undo. */
const ANSWER = 2000;

export function useEditor(model: Model, life: Life): Editor {
  const [sketch, status, palette] = [useTrait(model, "sketch"), useTrait(model, "status"), useTrait(model, "palette")];
  const [positions, history, problem] = [
    useTrait(model, "positions"),
    useTrait(model, "history"),
    useTrait(model, "problem"),
  ];
  const isLost = useSyncExternalStore(life.subscribe, life.isOver);
  const readOnly = useTrait(model, "read_only") || isLost;
  const [spoken, say] = useSpeech();
  const origin = useRef<Origin>("python");
  const { highlight, light } = useHighlight(model, life);

  const edit = useCallback(
    (change: (sketch: ClaimSketch) => ClaimSketch, places?: Places) => {
      const before = model.get("sketch");
      const after = model.get("read_only") || life.isOver() ? before : change(before);
      if (after === before) return false;
      origin.current = "own";
      if (places) model.set("positions", mutable(places));
      model.set("sketch", after);
      model.save_changes();
      return true;
    },
    [model, life],
  );
  const place = useCallback(
    (places: Places) => {
      if (model.get("read_only") || life.isOver()) return;
      model.set("positions", mutable(places));
      model.save_changes();
    },
    [model, life],
  );
  const travel = useCallback(
    (type: "undo" | "redo") => {
      if (model.get("read_only") || life.isOver()) return;
      const { canUndo, canRedo } = model.get("history");
      if (!(type === "undo" ? canUndo : canRedo)) say(`Nothing to ${type}`);
      // Asked of Python in any case: it may know of a step that has not been told here yet.
      origin.current = type;
      setTimeout(() => {
        if (origin.current === type) origin.current = "python";
      }, ANSWER);
      model.send({ type });
    },
    [model, life, say],
  );
  const forget = useCallback(() => {
    if (life.isOver()) return;
    model.set("problem", "");
    model.save_changes();
  }, [model, life]);
  useSpokenChanges(sketch, problem, origin, say);

  const undo = useCallback(() => travel("undo"), [travel]);
  const redo = useCallback(() => travel("redo"), [travel]);
  const shown = { sketch, status, palette, positions, history, problem, highlight, readOnly, isLost, spoken };
  const editor: Editor = { ...shown, edit, place, say, light, forget, undo, redo };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same names in the same order, so their values decide
  return useMemo(() => editor, Object.values(editor));
}

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
    const lead = problem && origin.current === "python" ? "Taken back: " : LEAD[origin.current];
    before.current = sketch;
    origin.current = "python";
    if (words) say(lead ? lead + words : words.charAt(0).toUpperCase() + words.slice(1));
  }, [sketch, problem, origin, say]);
  useEffect(() => {
    if (problem) say(problem);
  }, [problem, say]);
}

const QUIET = 80;

/** What is lit up: shown here at once, told to the others when the mouse has come to rest. */
function useHighlight(model: Model, life: Life): Pick<Editor, "highlight" | "light"> {
  const told = useTrait(model, "highlight");
  const [own, setOwn] = useState<string | null>(null);
  const timer = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what Python says ends what is shown here
  useEffect(() => setOwn(null), [told]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const light = useCallback(
    (subject: string) => {
      setOwn(subject);
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => {
        if (life.isOver() || model.get("highlight") === subject) return;
        model.set("highlight", subject);
        model.save_changes();
      }, QUIET);
    },
    [model, life],
  );
  return { highlight: own ?? told, light };
}

const Context = createContext<Editor | null>(null);
export const EditorProvider = Context.Provider;

export function useCanvas(): Editor {
  const editor = useContext(Context);
  if (!editor) throw new Error("used outside of the canvas");
  return editor;
}
