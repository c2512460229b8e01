// Which card is open: that of the selected box or link, or that of the whole claim.
import { useEffect, useRef, useState } from "react";
import type { CanvasNode } from "./flow";
import type { Flow } from "./use_flow";

export function useCard(flow: Flow) {
  // The box whose card is closed: after a device, a person often adds the next one.
  const [quiet, setQuiet] = useState("");
  const [dragged, setDragged] = useState("");
  const [isWhole, setWhole] = useState(false);
  const count = flow.selected.length + flow.selectedEnds.length;
  useEffect(() => {
    if (count) setWhole(false);
  }, [count]);
  const shown = useRef<readonly CanvasNode[]>([]);
  const isClosed = flow.selected.length === 1 && flow.selected[0]?.id === quiet;
  // The board keeps its size while a box is dragged, or the box would move under the mouse.
  if (!dragged) shown.current = isClosed ? [] : flow.selected;
  /** A box is dragged, or a line from it; "" when it is dropped. Its card stays closed. */
  const drag = (id: string) => {
    setDragged(id);
    if (id) setQuiet(id);
  };
  return { shown: shown.current, isWhole, isDragged: dragged !== "", setWhole, setQuiet, drag };
}
