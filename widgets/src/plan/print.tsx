// Printing: Python makes a page of the answer, and a frame that nobody sees gives it to the printer.

import { useCallback, useEffect, useRef } from "react";
import { Button } from "../components/button";
import { useChannel, useTrait } from "./model";

/** Give a page to the printer. No program of it runs; the frame goes once it was printed. */
function printPage(page: string): void {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-same-origin allow-modals");
  frame.setAttribute("aria-hidden", "true");
  frame.style.cssText = "position:fixed;width:0;height:0;border:0;visibility:hidden";
  frame.srcdoc = page;
  frame.addEventListener("load", () => {
    const view = frame.contentWindow;
    view?.addEventListener("afterprint", () => setTimeout(() => frame.remove()));
    view?.focus();
    view?.print();
  });
  document.body.append(frame);
}

/** Return what asks for the page of the answer and prints it; another view of the same planner prints nothing. */
export function usePrint(): () => void {
  const channel = useChannel();
  const { page = "", number = 0 } = useTrait("printed");
  const asked = useRef(0);
  useEffect(() => {
    if (asked.current && number === asked.current) printPage(page);
  }, [number, page]);
  return useCallback(() => {
    asked.current = Date.now();
    channel.send({ type: "print", number: asked.current });
  }, [channel]);
}

export function PrintButton() {
  return (
    <Button title="Print the answer on a page" onClick={usePrint()}>
      Print
    </Button>
  );
}
