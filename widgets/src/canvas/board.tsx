// The board: React Flow with our boxes and knots. Mouse here, keys in canvas_keys.ts; both end in the same edits.

import {
  Background,
  BackgroundVariant,
  type Connection,
  ConnectionMode,
  type FinalConnectionState,
  type OnNodeDrag,
  ReactFlow,
  SelectionMode,
  useReactFlow,
} from "@xyflow/react";
import {
  type DragEvent,
  type FocusEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useRef,
} from "react";
import type { PaletteRow } from "../generated/models";
import { claimOf } from "./claims";
import { useCanvas } from "./editor";
import { isAcross } from "./edits";
import {
  type CanvasNode,
  claimOfNode,
  type EndEdge,
  framesOf,
  isClaimId,
  isFrame,
  isRequestId,
  nameOf,
  placeKey,
  placesOf,
  sizesOf,
} from "./flow";
import { apart, BOX, claimAt, type Places } from "./layout";
import { ClaimFrame, EndLine, LinkKnot, RequestBox } from "./nodes";
import { DRAGGED } from "./toolbar";
import type { Flow } from "./use_flow";

/** Pixels between the drawing and the edge of the board. */
const MARGIN = 14;
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

const boxOf = ({ position, measured, width, height }: CanvasNode): Bounds => ({
  ...position,
  width: width ?? measured?.width ?? BOX.width,
  height: height ?? measured?.height ?? BOX.height,
});

/** Whether part of a node lies outside the board. */
function isOutside(node: CanvasNode, view: View, board: Size): boolean {
  const { x, y, width, height } = boxOf(node);
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
      look(card.current ? inSight(view, boxOf(card.current), size) : view);
    },
    [flow, board, look],
  );
  const isOurs = useCallback(() => chosen.current === JSON.stringify(flow.getViewport()), [flow]);
  /** Have the box whose card is open in sight. */
  const reveal = useCallback(() => {
    const [now, node] = [board(), card.current];
    if (isOurs()) fit();
    else if (now?.width && node) void flow.setViewport(inSight(flow.getViewport(), boxOf(node), now));
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

const NODE_TYPES = { request: RequestBox, link: LinkKnot, frame: ClaimFrame };
const EDGE_TYPES = { end: EndLine };

interface Props {
  flow: Flow;
  /** A box or knot is dragged, or a line from it; "" when it is dropped. */
  setDragged(id: string): void;
  onAdd(row: PaletteRow, at?: { x: number; y: number }, claim?: string): void;
  onMove(requests: readonly string[], claim: string, places: Places): void;
  onJoin(from: string, to: string): unknown;
  /** Whether the focus comes from the mouse: then React Flow decides what is selected. */
  byMouse: { current: boolean };
  children?: ReactNode;
}

/** The boxes and links in the frame of a claim. */
const membersOf = (nodes: readonly CanvasNode[], claim: string): string[] =>
  nodes.filter((node) => !isFrame(node) && claimOfNode(node.id) === claim).map(({ id }) => id);

/** The box or knot under the mouse at the end of a drag. */
function nodeUnder(event: MouseEvent | TouchEvent): string {
  const point = "changedTouches" in event ? event.changedTouches[0] : event;
  const hit = point && document.elementFromPoint(point.clientX, point.clientY);
  return hit?.closest<HTMLElement>(".react-flow__node")?.dataset.id ?? "";
}

export function Board({ flow, setDragged, onAdd, onMove, onJoin, byMouse, children }: Props) {
  const editor = useCanvas();
  const { screenToFlowPosition } = useReactFlow();
  const { palette, readOnly, light, place } = editor;
  const empty = flow.nodes.length === 0;

  const onDrop = (event: DragEvent) => {
    const row = palette.find(({ key }) => key === event.dataTransfer.getData(DRAGGED));
    if (!row) return;
    event.preventDefault();
    event.stopPropagation();
    onAdd(row, withinSight(event), claimAt(framesOf(flow.nodes), pointOf(event)));
  };
  const pointOf = useCallback(
    (event: { clientX: number; clientY: number }) => screenToFlowPosition({ x: event.clientX, y: event.clientY }),
    [screenToFlowPosition],
  );
  /** Where a box goes that is dropped here: under the mouse, and wholly in sight, so that the view stays as it is. */
  const withinSight = (event: DragEvent) => {
    const board = event.currentTarget.getBoundingClientRect();
    const from = screenToFlowPosition({ x: board.left + MARGIN, y: board.top + MARGIN });
    const to = screenToFlowPosition({ x: board.right - MARGIN, y: board.bottom - MARGIN });
    const at = screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const kept = (value: number, low: number, high: number) => Math.round(Math.max(low, Math.min(value, high)));
    return {
      x: kept(at.x - BOX.width / 2, from.x, to.x - BOX.width),
      y: kept(at.y - BOX.height / 2, from.y, to.y - BOX.height),
    };
  };
  const onDragOver = (event: DragEvent) => {
    if (readOnly || !event.dataTransfer.types.includes(DRAGGED)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  };
  const onDragStop: OnNodeDrag<CanvasNode> = useCallback(
    (event, node, moved) => {
      setDragged("");
      dragged.current = null;
      const at = new Map(moved.map((node) => [node.id, node]));
      const places = {
        ...editor.positions,
        ...placesOf(
          editor,
          flow.nodes.map((node) => at.get(node.id) ?? node),
        ),
      };
      const requests = moved.filter(({ id }) => isRequestId(id)).map(({ id }) => nameOf(id));
      const point = "changedTouches" in event ? event.changedTouches[0] : event;
      const to = point && !isFrame(node) ? claimAt(framesOf(flow.nodes), pointOf(point)) : "";
      if (to && requests.some((name) => claimOf(name) !== to)) return onMove(requests, to, places);
      const own = moved.flatMap(({ id }) => (isClaimId(id) ? membersOf(flow.nodes, nameOf(id)) : [id]));
      const fixed = own.map((id) => placeKey(editor.sketch, id));
      place(apart(editor.sketch, places, fixed, sizesOf(editor.sketch, flow.nodes)));
    },
    [editor, flow.nodes, place, setDragged, onMove, pointOf],
  );
  // A frame takes what is in it along.
  const dragged = useRef<{ x: number; y: number } | null>(null);
  const onDrag: OnNodeDrag<CanvasNode> = (_event, node) => {
    const before = dragged.current;
    if (!isFrame(node) || !before) return;
    const [dx, dy] = [node.position.x - before.x, node.position.y - before.y];
    dragged.current = node.position;
    const members = new Set(membersOf(flow.nodes, node.data.claim));
    flow.setNodes((nodes) =>
      nodes.map((one) =>
        members.has(one.id) ? { ...one, position: { x: one.position.x + dx, y: one.position.y + dy } } : one,
      ),
    );
  };
  const dots = useId();
  const onConnect = ({ source, target }: Connection) => onJoin(source, target);
  // A drag may end anywhere on a box, not only on one of its dots.
  const onConnectEnd = (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
    setDragged("");
    const [from, to] = [state.fromNode?.id ?? "", nodeUnder(event)];
    if (!state.isValid && from && to && from !== to) onJoin(from, to);
  };
  const onFocus = (event: FocusEvent) => {
    const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset.id;
    if (!id) return;
    flow.setActive(id);
    if (isRequestId(id)) light(nameOf(id));
    if (!byMouse.current && !flow.selected.some((node) => node.id === id)) flow.select([id]);
  };
  return (
    <div
      className="dra-board dra-pane"
      tabIndex={empty ? 0 : -1}
      role="group"
      aria-label={empty ? "Drawing, empty. Press N to add a device." : "Drawing"}
      onDrop={onDrop}
      onDragOver={onDragOver}
      onFocus={onFocus}
      onBlur={() => light("")}
    >
      <ReactFlow<CanvasNode, EndEdge>
        nodes={flow.nodes}
        edges={flow.edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        aria-label="Requests and links"
        onNodesChange={flow.onNodesChange}
        onEdgesChange={flow.onEdgesChange}
        onNodeDrag={onDrag}
        onNodeDragStop={onDragStop}
        onSelectionDragStop={(event, nodes) => {
          if (nodes[0]) onDragStop(event as never, nodes[0], nodes);
        }}
        onConnectStart={(_event, { nodeId }) => setDragged(nodeId ?? "")}
        onNodeDragStart={(_event, node) => {
          dragged.current = flow.nodes.find(({ id }) => id === node.id)?.position ?? node.position;
          setDragged(node.id);
        }}
        onConnect={onConnect}
        onConnectEnd={onConnectEnd}
        isValidConnection={({ source, target }) => source !== target && !isAcross(source, target)}
        onNodeMouseEnter={(_event, node) => {
          if (isRequestId(node.id)) light(nameOf(node.id));
        }}
        onNodeMouseLeave={() => light("")}
        connectionMode={ConnectionMode.Loose}
        connectOnClick={false}
        connectionRadius={24}
        nodesConnectable={!readOnly}
        nodesDraggable={!readOnly}
        deleteKeyCode={null}
        disableKeyboardA11y
        edgesFocusable={false}
        selectionOnDrag
        panOnDrag={[1, 2]}
        selectionMode={SelectionMode.Partial}
        panActivationKeyCode={null}
        preventScrolling={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        nodeDragThreshold={2}
        zoomActivationKeyCode="Control"
        minZoom={0.25}
        maxZoom={2}
        elevateNodesOnSelect
      >
        {/* A name of its own: a pattern of a canvas that is hidden (in the notebook, beside a tab) is not painted. */}
        <Background id={dots} variant={BackgroundVariant.Dots} gap={18} size={1.2} />
      </ReactFlow>
      {empty && (
        <p className="dra-empty">
          {palette.length ? (
            <>
              Drag a device here, click one above, or press <kbd>N</kbd>
            </>
          ) : (
            "No devices loaded"
          )}
        </p>
      )}
      {children}
    </div>
  );
}
