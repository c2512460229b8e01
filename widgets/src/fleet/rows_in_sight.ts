// The rows of a long list that are in sight, and the keys that choose among all of them.
import type { KeyboardEvent, RefObject } from "react";
import { stepOf, stepped } from "../view/keys";
import { useWindow } from "../view/use_window";

interface Props {
  pane: RefObject<HTMLElement | null>;
  /** The height of a row in pixels. */
  height: number;
  ids: readonly string[];
  chosen: string;
  onChoose(id: string): void;
}

/** Return the rows from `from` to before `to`, and what to do as the pane is scrolled and keys are pressed in it. */
export function useRowsInSight({ pane, height, ids, chosen, onChoose }: Props) {
  const { from, to, look, bring } = useWindow(pane, height);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepOf(event.key);
    if (event.target !== pane.current || step === undefined || /Left|Right/.test(event.key)) return;
    event.preventDefault();
    const next = stepped(ids.indexOf(chosen), step, ids.length);
    const id = ids[next];
    if (id === undefined) return;
    onChoose(id);
    bring(next);
  };
  return { from, to, onScroll: look, onKeyDown };
}
