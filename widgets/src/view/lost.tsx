// The line that says that the kernel is gone, with the way back: in JupyterLab a button, elsewhere what to press.

import { useCallback, useState } from "react";
import { Button } from "../components/button";
import { LOST, runAgain } from "./life";

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
