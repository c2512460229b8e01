// What part of the drawing is seen: the whole of it when the board first has a size, when boxes were arranged by us,
// when
// something new lies outside, when boxes went and the rest is far too small, and when the board gets another size (a
// sidebar
// opened, the planner got its grid) and the person has not moved the view, or it became too small for what was in
// sight.
// A box that a person dropped stays under the mouse.
import { useReactFlow } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useRef } from "react";
import type { CanvasNode } from "./flow";
import { BOX } from "./layout";

const MARGIN = 16;
/** Pixels that the buttons in the corner take. */
const TOOLS = { width: 190, height: 52 };

/** How much smaller than needed a drawing may be shown, after boxes went, before it is shown whole again. */
const TOO_SMALL = 0.75;

type Size = { width: number; height: number };

function zoomFor(drawing: Size, size: Size, top: number, right: number): number {
  return Math.min(1, (size.width - MARGIN - right) / drawing.width, (size.height - MARGIN - top) / drawing.height);
}

/** Keep clear of the buttons, below them or beside them: whichever shows the drawing larger. */
function paddingFor(drawing: Size, size: Size = new DOMRect()) {
  const beside = zoomFor(drawing, size, MARGIN, TOOLS.width) > zoomFor(drawing, size, TOOLS.height, MARGIN);
  const [top, right] = beside ? [MARGIN, TOOLS.width] : [TOOLS.height, MARGIN];
  return { left: `${MARGIN}px`, bottom: `${MARGIN}px`, top: `${top}px`, right: `${right}px` } as const;
}

/** Returns the function that shows the whole drawing; `arranged` says that some place is ours and not a person's. */
export function useView(
  nodes: readonly CanvasNode[],
  arranged: boolean,
  root: RefObject<HTMLElement | null>,
): () => Promise<boolean> {
  const flow = useReactFlow();
  const seen = useRef({ names: "", arranged: false });
  const board = useCallback(() => root.current?.querySelector(".react-flow")?.getBoundingClientRect(), [root]);
  // What is seen as it was last chosen here: as long as the person has not moved it, it follows the size of the board.
  const chosen = useRef("");
  const fit = useCallback(async () => {
    const bounds = flow.getNodesBounds(flow.getNodes());
    const done = await flow.fitView({ maxZoom: 1, duration: 0, padding: paddingFor(bounds, board()) });
    chosen.current = JSON.stringify(flow.getViewport());
    return done;
  }, [flow, board]);

  const showAll = useCallback(() => {
    const size = board();
    if (!size?.width || !size.height || nodes.some((node) => !node.measured?.width)) return;
    const last = seen.current;
    const names = ["nodes", ...nodes.map((node) => node.id)].join("\n");
    seen.current = { names, arranged };
    // The first box of a new drawing is drawn in its own size, wherever the one before it had been looked at.
    if (!nodes.length && flow.getZoom() !== 1) void flow.setViewport({ x: 0, y: 0, zoom: 1 });
    const isNew = names !== last.names;
    const whole = arranged && (isNew || !last.arranged);
    const lost = isNew && (last.names === "" || nodes.some((node) => isOutside(node, flow.getViewport(), size)));
    // After a wide drawing a smaller one would stay as small as that one had to be.
    const best = isNew && nodes.length ? zoomFor(flow.getNodesBounds(flow.getNodes()), size, TOOLS.height, MARGIN) : 0;
    const tiny = flow.getZoom() < TOO_SMALL * best && nodes.length < last.names.split("\n").length - 1;
    if (nodes.length && (whole || lost || tiny)) void fit();
  }, [nodes, arranged, flow, fit, board]);

  const room = useRef<DOMRect | undefined>(undefined);
  const onResize = useCallback(() => {
    const [before, now] = [room.current, board()];
    room.current = now;
    showAll();
    // It is called when the nodes change as well, and a box that is dragged must not move under the mouse.
    if (!before?.width || !now?.width || (before.width === now.width && before.height === now.height)) return;
    const view = flow.getViewport();
    const wasInSight = nodes.every((node) => !isOutside(node, view, before));
    const tooSmall = wasInSight && nodes.some((node) => isOutside(node, view, now));
    if (nodes.length && (tooSmall || chosen.current === JSON.stringify(view))) void fit();
  }, [nodes, flow, fit, showAll, board]);

  useEffect(showAll, [showAll]);
  useEffect(() => {
    if (!root.current) return;
    const watch = new ResizeObserver(onResize);
    watch.observe(root.current);
    return () => watch.disconnect();
  }, [root, onResize]);
  return fit;
}

function isOutside(node: CanvasNode, view: { x: number; y: number; zoom: number }, board: DOMRect): boolean {
  const [x, y] = [node.position.x * view.zoom + view.x, node.position.y * view.zoom + view.y];
  const width = (node.measured?.width ?? BOX.width) * view.zoom;
  const height = (node.measured?.height ?? BOX.height) * view.zoom;
  return x < 0 || y < 0 || x + width > board.width || y + height > board.height;
}
