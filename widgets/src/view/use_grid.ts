// The planner's grid around a view: whether it is there, how much room it has, and the keys that work all over it.
import { type RefObject, useEffect, useRef, useState } from "react";

/** Heights of the planner, in pixels, below which what stands under the picture becomes tabs of the dock. */
const SHORT = 780;
/** Width below which there is one column. */
const NARROW = 880;

export interface Room {
  /** Null for a view that stands alone. */
  readonly grid: HTMLElement | null;
  readonly isShort: boolean;
}

/** Follow the grid that an element is in, which needs a box of its own; `taken` is the height that is not to be had. */
export function useGrid(inside: RefObject<HTMLElement | null>, taken = 0): Room {
  const [room, setRoom] = useState<Room>({ grid: null, isShort: true });
  useEffect(() => {
    const node = inside.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    let watched: HTMLElement | null = null;
    const look = () => {
      // A widget is rendered before it is part of the page.
      const grid = node.closest<HTMLElement>(".dra-lab-grid");
      if (grid && grid !== watched) {
        watched = grid;
        sizes.observe(grid);
      }
      const isShort = !grid || grid.clientWidth < NARROW || grid.clientHeight - taken < SHORT;
      if (grid) grid.toggleAttribute("data-short", isShort);
      setRoom((now) => (now.grid === grid && now.isShort === isShort ? now : { grid, isShort }));
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(node);
    return () => sizes.disconnect();
  }, [inside, taken]);
  return room;
}

const TYPING = 'input:not([type="radio"], [type="checkbox"]), textarea, select, [contenteditable="true"]';

/**
 * Call for keys pressed anywhere in the planner but where a person types; `act` says whether it was one.
 *
 * The grid itself can have the focus, so that a press beside a control does not give the keys to the page around.
 */
export function useGridKeys(grid: HTMLElement | null, act: (event: KeyboardEvent) => boolean): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!grid) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const target = event.target as Element;
      if (target.matches(TYPING) || target.closest('[role="dialog"], .dra-popover')) return;
      if (!latest.current(event)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    grid.tabIndex = -1;
    grid.setAttribute("data-lm-suppress-shortcuts", "true");
    grid.addEventListener("keydown", onKeyDown);
    return () => grid.removeEventListener("keydown", onKeyDown);
  }, [grid]);
}
