// A part of a view that stands at the end of the planner's grid, so that the Tab key reaches it after the other views.
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { suppressShortcuts } from "../jupyter";
import { focusMode, keepFocus } from "./keep_focus";

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
