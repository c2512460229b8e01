// What every widget does around its content: its classes, the notebook's shortcuts, the focus, and an orderly end.

import { type ComponentType, useCallback, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { Button } from "../components/button";
import { keepFocus } from "./focus";
import type { Context } from "./late";
import { Channel, ChannelContext, LOST, type Model, runAgain, useIsLost } from "./model";

// What a widget has to know about the notebook around it.
const ATTRIBUTE = "data-lm-suppress-shortcuts";

/** Keys that a person means for the notebook wherever the focus is: save, and the command palette. */
function isForTheNotebook(event: KeyboardEvent): boolean {
  if (!event.ctrlKey && !event.metaKey) return false;
  const key = event.key.toLowerCase();
  return key === "s" || (event.shiftKey && key === "c");
}

/**
 * Keep JupyterLab's notebook shortcuts (a, b, x, d d, z ...) away from a widget; returns the function that ends it.
 *
 * JupyterLab listens on the document in the capture phase, so stopping an event comes too late, and its command-mode
 * selectors end in `:focus`, so the mark has to stand on the focused element itself: it is set when the focus arrives.
 * A
 * listener on the window runs before the document's and lifts the mark for the keys that belong to the notebook.
 */
export function suppressShortcuts(root: HTMLElement): () => void {
  const mark = (event: Event) => (event.target as Element).setAttribute?.(ATTRIBUTE, "true");
  const lift = (event: KeyboardEvent) => {
    const target = event.target as Element | null;
    if (!target || !root.contains(target) || !isForTheNotebook(event)) return;
    target.removeAttribute(ATTRIBUTE);
    setTimeout(() => target.setAttribute(ATTRIBUTE, "true"));
  };
  root.addEventListener("focusin", mark, true);
  window.addEventListener("keydown", lift, true);
  return () => {
    root.removeEventListener("focusin", mark, true);
    window.removeEventListener("keydown", lift, true);
  };
}

/** Shown once: by a view that stands alone, and by the bar for all views of a planner. */
export function Lost({ className }: { className: string }) {
  const [isPart, setPart] = useState(false);
  const [isTold, setTold] = useState(false);
  const place = useCallback((line: HTMLElement | null) => {
    if (line) setPart(line.closest(".dra-lab") !== null && line.closest(".dra-lab-bar") === null);
  }, []);
  if (isPart) return null;
  return (
    <div ref={place} className={className} role="alert">
      <span>{LOST}</span>
      <Button onClick={(event) => setTold(!runAgain(event.currentTarget))}>Restart and run to here</Button>
      <span>{isTold && "Run its cell again: Shift+Enter."}</span>
    </div>
  );
}

/** The class of the views that are no canvas: the canvas says on its board that its kernel is gone. */
const VIEW = "dra-view";
const IS_LOST = "is-lost";

// Every widget of a page has a copy of this module, so a counter alone would begin again in each.
const COPY = Math.random().toString(36).slice(2, 8);
let roots = 0;

/** Draw `View` into an element for as long as it lives; returns what ends everything that was begun. */
export function mount({ model, el }: Context, className: string, View: ComponentType): () => void {
  const classes = ["dra-widget", ...className.split(" ").filter(Boolean)];
  el.classList.add(...classes);
  const channel = new Channel<Record<string, unknown>, object>(model as Model, el);
  channel.life.subscribe(() => el.classList.add(IS_LOST));
  const endings = [suppressShortcuts(el), keepFocus(el), () => channel.life.end()];
  roots += 1;
  const root = createRoot(el, { identifierPrefix: `dra-${COPY}-${roots}-` });
  const content = (
    <ChannelContext value={channel}>
      <View />
      {classes.includes(VIEW) && <LostLine />}
    </ChannelContext>
  );
  // At once, so that a widget is never blank.
  flushSync(() => root.render(content));
  return () => {
    for (const end of endings) end();
    root.unmount();
    el.classList.remove(...classes, IS_LOST);
  };
}

function LostLine() {
  return useIsLost() && <Lost className="dra-line dra-lost" />;
}
