// The PCIe/NUMA graph page over the view, shut off from the notebook by a sandbox.
import { type RefObject, useLayoutEffect, useMemo, useRef } from "react";
import { Icon } from "../view/icon";
import { useChannel, useTrait } from "./model";

/** `back` is the button that opens it. */
export function GraphPanel({ back }: { back: RefObject<HTMLButtonElement | null> }) {
  const channel = useChannel();
  const [page, node] = [useTrait("graph_html"), useTrait("node")];
  const button = useRef<HTMLButtonElement>(null);
  const isOpen = Boolean(page);
  const shown = useMemo(() => page && themed(page), [page]);
  useLayoutEffect(() => {
    if (isOpen) button.current?.focus();
  }, [isOpen]);
  const close = () => {
    channel.send({ type: "close-graph" });
    back.current?.focus();
  };
  return (
    <section
      className="dra-graph"
      aria-label="PCIe and NUMA graph"
      hidden={!isOpen}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      {isOpen && (
        <>
          <div className="dra-graph-head">
            <h3>Graph of {node}</h3>
            <button ref={button} type="button" className="dra-button" onClick={close}>
              <Icon name="cross" />
              Close
            </button>
          </div>
          <iframe sandbox="allow-scripts" title={`Graph of ${node}`} srcDoc={shown} />
        </>
      )}
    </section>
  );
}

/** The page follows the browser's colour scheme, which is not JupyterLab's theme. */
function themed(page: string): string {
  const light = document.body.dataset.jpThemeLight;
  const theme = light === undefined ? "" : ` class="dra-${light === "false" ? "dark" : "light"}"`;
  return page.replace('<html lang="en">', `<html lang="en"${theme}>`);
}
