// The height of the picture's pane: where the picture is higher, Python folds the places that no one needs.
import { type RefObject, useEffect, useRef } from "react";
import { useChannel } from "./model";
import { PANE } from "./tree";

/** The least change that is worth another picture, in pixels. */
const STEP = 8;

/** Tell Python how high the picture may be, once it does not fit; a pane that grows with its picture always fits. */
export function useOwnHeight(root: RefObject<HTMLElement | null>, svg: string): void {
  const channel = useChannel();
  const told = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it looks again when there is another picture
  useEffect(() => {
    const node = root.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(() => {
      const pane = node.querySelector(`.${PANE}`);
      const isHigher = pane !== null && pane.scrollHeight > pane.clientHeight + 1;
      const height = node.clientHeight;
      // each view tells its height once, so that two views of one model do not answer each other
      if (!height || !(isHigher || told.current) || Math.abs(height - told.current) < STEP) return;
      told.current = height;
      channel.set({ height });
    });
    sizes.observe(node);
    return () => sizes.disconnect();
  }, [channel, root, svg]);
}
