// The planner's grid around a view: its size and keys, a place at its end, the whole screen, a tab of its own.

import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { Button } from "../components/button";
import { focusMode, keepFocus } from "./focus";
import { suppressShortcuts } from "./widget";

/** Heights of the planner, in pixels, below which what stands under the picture becomes tabs of the dock. */
const SHORT = 780;
/** Width below which there is one column. */
const NARROW = 880;

interface Room {
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

/** Call with an element when it is there and whenever its size changes; also after `again` has changed. */
export function useSize(root: RefObject<HTMLElement | null>, call: (node: HTMLElement) => void, again?: unknown): void {
  const latest = useRef(call);
  latest.current = call;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller says when to look again
  useEffect(() => {
    const node = root.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(() => latest.current(node));
    sizes.observe(node);
    return () => sizes.disconnect();
  }, [root, again]);
}

/** Keep the height of an element as a property of the planner's grid. */
export const useHeightOf = (root: RefObject<HTMLElement | null>, property: string): void =>
  useSize(root, (node) =>
    node.closest<HTMLElement>(".dra-lab-grid")?.style.setProperty(property, `${node.offsetHeight}px`),
  );

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

// A part of a view that stands at the end of the planner's grid, so that the Tab key reaches it after the other views.
function makeHost(): HTMLElement {
  const host = document.createElement("div");
  host.className = "dra-widget dra-view dra-plan-view dra-lab-dock";
  return host;
}

/** Draw `children` at the end of `grid`, and in their place as long as there is none: moving them keeps their state. */
export function AtEnd({ grid, children }: { grid: HTMLElement | null; children: ReactNode }) {
  const [host] = useState(makeHost);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    (grid ?? place.current)?.append(host);
    if (!grid) return;
    const endings = [suppressShortcuts(host), keepFocus(host)];
    return () => {
      for (const end of endings) end();
    };
  }, [grid, host]);
  useLayoutEffect(
    () => () => {
      if (host.contains(document.activeElement)) focusMode(host);
      host.remove();
    },
    [host],
  );
  return (
    <>
      <div ref={place} className="dra-lab-dock" />
      {createPortal(children, host)}
    </>
  );
}

/** `of` finds the part, around the button. A page that may not use the whole screen has no such button. */
export function FullScreen({ of, className = "dra-wide" }: { of: string; className?: string }) {
  const button = useRef<HTMLButtonElement>(null);
  const [isFull, setFull] = useState(false);
  useEffect(() => {
    const look = () => setFull(document.fullscreenElement !== null);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, []);
  if (!document.fullscreenEnabled) return null;
  const turn = () => {
    if (isFull) void document.exitFullscreen();
    else void button.current?.closest(of)?.requestFullscreen();
  };
  return (
    <Button
      ref={button}
      icon="fit"
      label="Full screen"
      pressed={isFull}
      title="Full screen (Esc leaves it)"
      onClick={turn}
    >
      <span className={className}>Full screen</span>
    </Button>
  );
}

// The button that gives an output of a notebook a tab of its own.
const OPEN_IN_TAB = "dra-lab:open-in-tab";

/** The extension of JupyterLab does it; a page without one (Notebook, VS Code, a saved page) has no tabs to open. */
export function OpenInTab() {
  const [isMissing, setMissing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const open = () => {
    const element = button.current?.closest(".dra-widget");
    const event = new CustomEvent(OPEN_IN_TAB, { detail: { element }, cancelable: true });
    if (window.dispatchEvent(event)) setMissing(true);
  };
  return (
    <Button
      icon="tab"
      ref={button}
      label="Open in a tab"
      disabled={isMissing}
      title={isMissing ? "A separate tab needs JupyterLab" : undefined}
      onClick={open}
    >
      <span className="dra-wide">{isMissing ? "Needs JupyterLab" : "Open in a tab"}</span>
    </Button>
  );
}
