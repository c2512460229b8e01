// The rows of a long list that are in sight: only those exist.
import { type RefObject, useCallback, useLayoutEffect, useState } from "react";

const SPARE = 8;

/** Return the rows from `from` to before `to`, what to do as the pane scrolls, and what brings a row into sight. */
export function useWindow(pane: RefObject<HTMLElement | null>, height: number) {
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
    // The size is known late, and changes.
    const sizes = new ResizeObserver(look);
    sizes.observe(pane.current);
    return () => sizes.disconnect();
  }, [pane, look]);
  /** Scroll so that a row is seen; `covered` pixels at the lower edge are not. */
  const bring = (index: number, covered = 0) => {
    const node = pane.current;
    if (!node) return;
    const [top, room] = [index * height, node.clientHeight - covered];
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + room) node.scrollTop = top + height - room;
    look();
  };
  return { ...range, look, bring };
}
