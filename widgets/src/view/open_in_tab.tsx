// The button that gives an output of a notebook a tab of its own.

import { useRef, useState } from "react";
import { Button } from "../components/button";

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
