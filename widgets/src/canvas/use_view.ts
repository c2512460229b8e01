// What part of the drawing is seen. It is chosen when the board first has a size, when boxes were arranged by us, when
// something new lies outside, when boxes went and the rest is far too small, and when the board gets another size and
// the person has not moved the view. It is never smaller than LEAST by itself. A box that a person dropped stays under
// the mouse; the box whose card is open is in sight.
import { useReactFlow } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useRef } from "react";
import type { CanvasNode } from "./flow";
import { BOX } from "./layout";

/** Pixels between the drawing and the edge of the board. */
export const MARGIN = 14;
/** The smallest size at which a drawing is shown by itself: texts stay readable. */
const LEAST = 0.85;
/** How much smaller than needed a drawing may be shown, after boxes went, before it is shown whole again. */
const TOO_SMALL = 0.75;

type Size = { width: number; height: number };
type Bounds = Size & { x: number; y: number };
type View = { x: number; y: number; zoom: number };

const zoomFor = (drawing: Size, board: Size): number =>
  Math.min(
    1,
    (board.width - 2 * MARGIN) / Math.max(1, drawing.width),
    (board.height - 2 * MARGIN) / Math.max(1, drawing.height),
  );

/** The whole drawing, in the middle and near the top; if it is too large for the board, from its left upper corner on. */
export function viewOf(drawing: Bounds, board: Size, least = LEAST): View {
  const zoom = Math.max(least, zoomFor(drawing, board));
  const beside = (board.width - 2 * MARGIN - drawing.width * zoom) / 2;
  const below = (board.height - 2 * MARGIN - drawing.height * zoom) / 2;
  return {
    zoom,
    x: MARGIN + Math.max(0, beside) - drawing.x * zoom,
    y: MARGIN + Math.max(0, Math.min(below, 10)) - drawing.y * zoom,
  };
}

/** The view, moved as little as needed to have a box wholly in sight. */
export function inSight(view: View, box: Bounds, board: Size): View {
  const moved = (shift: number, from: number, length: number, room: number): number => {
    const most = room - MARGIN - (from + length) * view.zoom;
    const least = MARGIN - from * view.zoom;
    return Math.max(least, Math.min(shift, most));
  };
  return {
    zoom: view.zoom,
    x: moved(view.x, box.x, box.width, board.width),
    y: moved(view.y, box.y, box.height, board.height),
  };
}

const boundsOf = ({ position, measured, width, height }: CanvasNode): Bounds => ({
  ...position,
  width: width ?? measured?.width ?? BOX.width,
  height: height ?? measured?.height ?? BOX.height,
});

/** Whether part of a node lies outside the board. */
function isOutside(node: CanvasNode, view: View, board: Size): boolean {
  const { x, y, width, height } = boundsOf(node);
  const [left, top] = [x * view.zoom + view.x, y * view.zoom + view.y];
  return left < 0 || top < 0 || left + width * view.zoom > board.width || top + height * view.zoom > board.height;
}

/**
 * Returns the function that shows the whole drawing; `arranged` says that some place is ours and not a person's,
 * `cardOf` whose card is open. While something is dragged, and after it, the view is the person's.
 */
export function useView(
  nodes: readonly CanvasNode[],
  arranged: boolean,
  root: RefObject<HTMLElement | null>,
  cardOf: string,
  isDragged: boolean,
): () => void {
  const flow = useReactFlow();
  const seen = useRef({ names: "", arranged: false });
  const board = useCallback(() => root.current?.querySelector(".react-flow")?.getBoundingClientRect(), [root]);
  const card = useRef<CanvasNode | undefined>(undefined);
  card.current = nodes.find((node) => node.id === cardOf);
  // What is seen as it was last chosen here: as long as the person has not moved it, it follows the size of the board.
  const chosen = useRef("");
  const look = useCallback(
    (view: View) => {
      void flow.setViewport(view);
      chosen.current = JSON.stringify(flow.getViewport());
    },
    [flow],
  );
  const fit = useCallback(
    (least = LEAST) => {
      const size = board();
      if (!size?.width || !size.height) return;
      const view = viewOf(flow.getNodesBounds(flow.getNodes()), size, least);
      look(card.current ? inSight(view, boundsOf(card.current), size) : view);
    },
    [flow, board, look],
  );
  const isOurs = useCallback(() => chosen.current === JSON.stringify(flow.getViewport()), [flow]);
  /** Have the box whose card is open in sight. */
  const reveal = useCallback(() => {
    const [now, node] = [board(), card.current];
    if (isOurs()) fit();
    else if (now?.width && node) void flow.setViewport(inSight(flow.getViewport(), boundsOf(node), now));
  }, [flow, fit, isOurs, board]);
  const showNew = useCallback(() => {
    const size = board();
    if (!size?.width || !size.height || nodes.some((node) => !node.width && !node.measured?.width)) return;
    const last = seen.current;
    const names = ["nodes", ...nodes.map((node) => node.id)].join("\n");
    seen.current = { names, arranged };
    // The first box of a new drawing is drawn in its own size, wherever the one before it had been looked at.
    if (!nodes.length && flow.getZoom() !== 1) look({ x: 0, y: 0, zoom: 1 });
    const isNew = names !== last.names;
    const whole = arranged && (isNew || !last.arranged);
    const view = flow.getViewport();
    const lost = isNew && (last.names === "" || nodes.some((node) => isOutside(node, view, size)));
    // After a wide drawing a smaller one would stay as small as that one had to be.
    const best = isNew && nodes.length ? zoomFor(flow.getNodesBounds(flow.getNodes()), size) : 0;
    const tiny = flow.getZoom() < TOO_SMALL * best && nodes.length < last.names.split("\n").length - 1;
    if (nodes.length && (whole || lost || tiny)) fit();
  }, [nodes, arranged, flow, fit, look, board]);

  const size = useRef<DOMRect | undefined>(undefined);
  const onResize = useCallback(() => {
    const [before, now] = [size.current, board()];
    size.current = now;
    showNew();
    // It is called when the nodes change as well, and a box that is dragged must not move under the mouse.
    if (!before?.width || !now?.width || (before.width === now.width && before.height === now.height)) return;
    const view = flow.getViewport();
    const wasInSight = nodes.every((node) => !isOutside(node, view, before));
    const tooSmall = wasInSight && nodes.some((node) => isOutside(node, view, now));
    if (nodes.length && tooSmall) fit();
    else if (nodes.length) reveal();
  }, [nodes, flow, fit, reveal, showNew, board]);

  useEffect(showNew, [showNew]);
  useEffect(() => {
    const pane = root.current?.querySelector(".dra-board");
    if (!pane) return;
    const watch = new ResizeObserver(onResize);
    watch.observe(pane);
    return () => watch.disconnect();
  }, [root, onResize]);
  useEffect(() => {
    if (isDragged) chosen.current = "";
  }, [isDragged]);
  // Another card of the same height does not change the size of the board.
  useEffect(() => {
    if (cardOf) reveal();
  }, [cardOf, reveal]);
  return useCallback(() => fit(0), [fit]);
}
