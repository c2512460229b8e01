// What part of the drawing is seen. It is chosen when the board first has a size, when boxes were arranged by us, when
// something new lies outside, when boxes went and the rest is far too small, and when the board gets another size and
// the person has not moved the view. It is never smaller than LEAST by itself. A box that a person dropped stays under
// the mouse; what is selected is not left under its card.
import { useReactFlow } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { type CanvasNode, GANG } from "./flow";
import { BOX } from "./layout";

const MARGIN = 14;
/** The lower edge, over which the button with the name of the claim lies as soon as no card is open. */
const NAME = 38;
/** The smallest size at which a drawing is shown by itself: texts stay readable. */
const LEAST = 0.85;
/** How much smaller than needed a drawing may be shown, after boxes went, before it is shown whole again. */
const TOO_SMALL = 0.75;

type Size = { width: number; height: number };
type Bounds = Size & { x: number; y: number };
type View = { x: number; y: number; zoom: number };
type Margins = { top: number; right: number; bottom: number; left: number };

const NO_MARGINS: Margins = { top: 0, right: 0, bottom: 0, left: 0 };

/** Pixels at the edges of the board that chips and buttons lie over. */
export function marginsOf(board: Element): Margins {
  const canvas = board.closest(".dra-canvas");
  const height = (selector: string) => canvas?.querySelector<HTMLElement>(selector)?.offsetHeight ?? 0;
  const tools = canvas?.querySelector<HTMLElement>(".dra-tools")?.offsetWidth ?? 0;
  return { top: height(".dra-palette") + MARGIN, right: tools + MARGIN, bottom: NAME, left: MARGIN };
}

const zoomFor = (drawing: Size, size: Size, edge: Margins): number =>
  Math.min(
    1,
    (size.width - edge.left - edge.right) / Math.max(1, drawing.width),
    (size.height - edge.top - edge.bottom) / Math.max(1, drawing.height),
  );

/** The whole drawing, in the middle and near the top; where it has no room, from its left upper corner on. */
function viewOf(drawing: Bounds, size: Size, edge: Margins, least: number): View {
  const zoom = Math.max(least, zoomFor(drawing, size, edge));
  const spare = (size.width - edge.left - edge.right - drawing.width * zoom) / 2;
  const below = size.height - edge.top - edge.bottom - drawing.height * zoom;
  return {
    zoom,
    x: edge.left + Math.max(0, spare) - drawing.x * zoom,
    y: edge.top + Math.max(0, Math.min(below / 2, 24)) - drawing.y * zoom,
  };
}

/**
 * Returns the function that shows the whole drawing; `arranged` says that some place is ours and not a person's,
 * `cardOf` whose card is open.
 */
export function useView(
  nodes: readonly CanvasNode[],
  arranged: boolean,
  root: RefObject<HTMLElement | null>,
  isPressed: { current: boolean },
  cardOf: string,
): () => void {
  const flow = useReactFlow();
  const seen = useRef({ names: "", arranged: false });
  const board = useCallback(() => root.current?.querySelector(".react-flow"), [root]);
  const room = useCallback(() => board()?.getBoundingClientRect(), [board]);
  // What is seen as it was last chosen here: as long as the person has not moved it, it follows the size of the board.
  const chosen = useRef("");
  const look = useCallback(
    (view: View) => {
      void flow.setViewport(view);
      chosen.current = JSON.stringify(flow.getViewport());
    },
    [flow],
  );
  const show = useCallback(
    (least: number) => {
      const [pane, size] = [board(), room()];
      if (!pane || !size?.width || !size.height) return;
      look(viewOf(flow.getNodesBounds(flow.getNodes()), size, marginsOf(pane), least));
    },
    [flow, board, room, look],
  );
  const [count, setCount] = useState(0);
  const fit = useCallback(() => {
    show(LEAST);
    setCount((now) => now + 1);
  }, [show]);

  const showAll = useCallback(() => {
    const [pane, size] = [board(), room()];
    if (!pane || !size?.width || !size.height || nodes.some((node) => !node.measured?.width)) return;
    const last = seen.current;
    const names = ["nodes", ...nodes.map((node) => node.id)].join("\n");
    seen.current = { names, arranged };
    // The first box of a new drawing is drawn in its own size, wherever the one before it had been looked at.
    if (!nodes.length && flow.getZoom() !== 1) look({ x: 0, y: 0, zoom: 1 });
    const isNew = names !== last.names;
    const whole = arranged && (isNew || !last.arranged);
    const view = flow.getViewport();
    const lost = isNew && (last.names === "" || nodes.some((node) => isOutside(node, view, size)));
    // The frame of a gang is drawn around boxes that stand where they are, so that its name may lie under the chips.
    const frame = last.names.split("\n").includes(GANG) ? undefined : nodes.find((node) => node.id === GANG);
    const covered = frame !== undefined && isOutside(frame, view, size, marginsOf(pane));
    // After a wide drawing a smaller one would stay as small as that one had to be.
    const best = isNew && nodes.length ? zoomFor(flow.getNodesBounds(flow.getNodes()), size, marginsOf(pane)) : 0;
    const tiny = flow.getZoom() < TOO_SMALL * best && nodes.length < last.names.split("\n").length - 1;
    if (nodes.length && (whole || lost || covered || tiny)) fit();
  }, [nodes, arranged, flow, fit, look, board, room]);

  const size = useRef<DOMRect | undefined>(undefined);
  const onResize = useCallback(() => {
    const [before, now] = [size.current, room()];
    size.current = now;
    showAll();
    // It is called when the nodes change as well, and a box that is dragged must not move under the mouse.
    if (!before?.width || !now?.width || (before.width === now.width && before.height === now.height)) return;
    const view = flow.getViewport();
    const wasInSight = nodes.every((node) => !isOutside(node, view, before));
    const tooSmall = wasInSight && nodes.some((node) => isOutside(node, view, now));
    if (nodes.length && (tooSmall || chosen.current === JSON.stringify(view))) fit();
  }, [nodes, flow, fit, showAll, room]);

  useEffect(showAll, [showAll]);
  useEffect(() => {
    if (!root.current) return;
    const watch = new ResizeObserver(onResize);
    watch.observe(root.current);
    return () => watch.disconnect();
  }, [root, onResize]);
  useClearOfCard(cardOf, root, isPressed, look, count);
  return useCallback(() => show(0), [show]);
}

/**
 * Move the view up when a card covers the box or knot that it is about, once the mouse is released, and back when the
 * card is closed. `chosen` counts how often another view was chosen.
 */
function useClearOfCard(
  only: string,
  root: RefObject<HTMLElement | null>,
  isPressed: { current: boolean },
  look: (view: View) => void,
  chosen: number,
): void {
  const flow = useReactFlow();
  const moved = useRef<{ from: View; to: string } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs as well when another view was chosen
  useEffect(() => {
    const back = () => {
      const { from, to } = moved.current ?? {};
      moved.current = null;
      if (from && to === JSON.stringify(flow.getViewport())) look(from);
    };
    const clear = () => {
      const find = (selector: string) => root.current?.querySelector(selector)?.getBoundingClientRect();
      const [card, node] = [find(".dra-inspector"), find(`.react-flow__node[data-id="${CSS.escape(only)}"]`)];
      const top = find(".dra-palette")?.bottom ?? 0;
      const under = card && node ? node.bottom + MARGIN - card.top : 0;
      if (under <= 0 || !node) return;
      const view = flow.getViewport();
      // If another view was chosen since then, that is the one to go back to.
      const from = moved.current?.to === JSON.stringify(view) ? moved.current.from : view;
      look({ ...view, y: view.y - Math.min(under, Math.max(0, node.top - top - MARGIN)) });
      moved.current = { from, to: JSON.stringify(flow.getViewport()) };
    };
    if (!only) return back();
    // In the next frame the card is drawn, and the view that was chosen for new boxes.
    let frame = 0;
    const soon = () => {
      // What was dragged stays under the mouse.
      if (!root.current?.classList.contains("is-dragged")) frame = requestAnimationFrame(clear);
    };
    if (isPressed.current) window.addEventListener("pointerup", soon, { once: true });
    else soon();
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("pointerup", soon);
    };
  }, [only, chosen, root, flow, look, isPressed]);
}

/** Whether part of a node lies outside the board, or on its `edge`. */
function isOutside(node: CanvasNode, view: View, board: DOMRect, edge: Margins = NO_MARGINS): boolean {
  const [x, y] = [node.position.x * view.zoom + view.x, node.position.y * view.zoom + view.y];
  const width = (node.measured?.width ?? BOX.width) * view.zoom;
  const height = (node.measured?.height ?? BOX.height) * view.zoom;
  const [right, bottom] = [board.width - edge.right, board.height - edge.bottom];
  return x < edge.left || y < edge.top || x + width > right || y + height > bottom;
}
