// The dock: closed to its tabs, or as high as a person made it; kept for the next planner of this browser.
import { type KeyboardEvent, type PointerEvent, useEffect, useState } from "react";

const KEY = "dra-lab:dock";
const CLOSED = 40;
const LEAST = 110;
const USUAL = 240;
const STEP = 24;

interface Kept {
  readonly isOpen: boolean;
  readonly height: number;
}

function kept(): Kept {
  try {
    const { isOpen, height } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    return { isOpen: isOpen === true, height: Math.max(LEAST, Number(height) || USUAL) };
  } catch {
    return { isOpen: false, height: USUAL };
  }
}

function keep(state: Kept): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // A page that may keep nothing begins with a closed dock.
  }
}

/** Without a grid the dock is always open: a view that stands alone has a height of its own. */
export function useDock() {
  const [state, setState] = useState(kept);
  const [grid, setGrid] = useState<HTMLElement | null>(null);
  const most = () => Math.max(LEAST, (grid?.clientHeight ?? 600) - 220);
  const change = (next: Kept) => {
    setState(next);
    keep(next);
  };
  const resize = (height: number) => {
    if (height < LEAST / 2) change({ ...state, isOpen: false });
    else change({ isOpen: true, height: Math.min(most(), Math.max(LEAST, height)) });
  };
  const shown = state.isOpen ? Math.min(state.height, most()) : CLOSED;
  useEffect(() => {
    grid?.style.setProperty("--dra-dock", `${shown}px`);
  }, [grid, shown]);
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const [handle, from, height] = [event.currentTarget, event.clientY, shown];
    handle.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) => resize(height + from - moved.clientY);
    const end = () => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (!state.isOpen && step > 0) change({ ...state, isOpen: true });
    else if (state.isOpen) resize(shown <= LEAST && step < 0 ? 0 : shown + step);
  };
  const handle = {
    className: "dra-dock-handle",
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the dock",
    "aria-valuenow": shown,
    "aria-valuemin": CLOSED,
    "aria-valuemax": most(),
    tabIndex: 0,
    onPointerDown,
    onKeyDown,
    onDoubleClick: () => change({ ...state, isOpen: !state.isOpen }),
  } as const;
  return {
    setGrid,
    taken: shown - CLOSED,
    isOpen: !grid || state.isOpen,
    handle: grid ? handle : null,
    toggle: () => change({ ...state, isOpen: !state.isOpen }),
    open: () => state.isOpen || change({ ...state, isOpen: true }),
  };
}
