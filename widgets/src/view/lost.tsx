// The line that says that the kernel is gone, with the way back: in JupyterLab a button, elsewhere what to press.
import { useState } from "react";
import { LOST, runAgain } from "./life";

export function Lost({ className }: { className: string }) {
  const [isTold, setTold] = useState(false);
  return (
    <div className={className} role="alert">
      <span>{LOST}</span>
      <button type="button" className="dra-button" onClick={(event) => setTold(!runAgain(event.currentTarget))}>
        Run again up to here
      </button>
      <span>{isTold && "Run its cell again: Shift+Enter."}</span>
    </div>
  );
}
