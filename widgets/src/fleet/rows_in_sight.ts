// The rows of a long list that are in sight, and the keys that choose among all of them.
import { type KeyboardEvent, type RefObject, useCallback, useLayoutEffect, useState } from "react";

const SPARE = 6;
const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  Home: -Infinity,
  End: Infinity,
  PageDown: 10,
  PageUp: -10,
};

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
  const [range, setRange] = useState({ from: 0, to: 40 });
  const look = useCallback(() => {
    const node = pane.current;
    if (!node) return;
    const from = Math.max(0, Math.floor(node.scrollTop / height) - SPARE);
    const to = Math.ceil((node.scrollTop + (node.clientHeight || 600)) / height) + SPARE;
    setRange((now) => (now.from === from && now.to === to ? now : { from, to }));
  }, [pane, height]);
  useLayoutEffect(() => {
    look();
    if (!pane.current || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(look);
    sizes.observe(pane.current);
    return () => sizes.disconnect();
  }, [pane, look]);
  const onKeyDown = (event: KeyboardEvent) => {
    const node = pane.current;
    if (!node || event.target !== node) return;
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(ids.length - 1, ids.indexOf(chosen) + step));
    const id = ids[next];
    if (id === undefined) return;
    onChoose(id);
    const [top, room] = [next * height, node.clientHeight];
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + room) node.scrollTop = top + height - room;
  };
  return { ...range, onScroll: look, onKeyDown };
}
