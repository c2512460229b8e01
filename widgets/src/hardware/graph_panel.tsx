// The tree of PCIe roots and NUMA nodes, beside the picture: an SVG of this page, so no policy bars it.

import { type RefObject, useLayoutEffect, useRef } from "react";
import { Button } from "../components/button";
import type { Light } from "../view/light";
import { useChannel, useTrait } from "./model";
import { DeviceTree } from "./picture";

/** `back` is the button that opens it. */
export function GraphPanel({ back, light }: { back: RefObject<HTMLButtonElement | null>; light: Light }) {
  const channel = useChannel();
  const [svg, node] = [useTrait("graph"), useTrait("node")];
  const button = useRef<HTMLButtonElement>(null);
  const tree = useRef<HTMLDivElement>(null);
  const isOpen = Boolean(svg);
  useLayoutEffect(() => {
    if (isOpen) button.current?.focus();
  }, [isOpen]);
  const close = () => {
    channel.send({ type: "close-graph" });
    back.current?.focus();
  };
  return (
    <section
      className="dra-card dra-graph"
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
          <div className="dra-row dra-graph-head">
            <h3>Graph of {node}</h3>
            <Button icon="cross" ref={button} onClick={close}>
              Close
            </Button>
          </div>
          <DeviceTree root={tree} svg={svg} light={light} onProblem={() => {}} className="dra-graph-tree" />
        </>
      )}
    </section>
  );
}
