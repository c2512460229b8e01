// The line from a knot to one of its boxes: solid for must, dashed for prefer.
import {
  BaseEdge,
  EdgeLabelRenderer,
  type EdgeProps,
  getBezierPath,
  type InternalNode,
  Position,
  useInternalNode,
} from "@xyflow/react";
import { classes } from "../components/classes";
import type { EndEdge } from "./flow";

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}
interface Port {
  x: number;
  y: number;
  side: Position;
}

const MARGIN = 22;
const within = (value: number, from: number, length: number): number =>
  length <= 2 * MARGIN ? from + length / 2 : Math.min(Math.max(value, from + MARGIN), from + length - MARGIN);

/** Pixels beyond a box's edge from which a line goes round the corner: out of its side and down into the knot. */
const CORNER = 40;

/**
 * Where the line leaves the knot and where it meets the box: above or below where one stands clear of the other, round
 * the corner where it also stands well beside it, else at the sides. The point on the box slides towards the knot, so
 * that several links of one box do not lie on each other.
 */
export function endsOf(knot: Rect, box: Rect): [Port, Port] {
  const middle = { x: knot.x + knot.width / 2, y: knot.y + knot.height / 2 };
  const above = knot.y + knot.height <= box.y;
  if (above || knot.y >= box.y + box.height) {
    const leave = {
      x: middle.x,
      y: above ? knot.y + knot.height : knot.y,
      side: above ? Position.Bottom : Position.Top,
    };
    const half = box.y + box.height / 2;
    if (middle.x > box.x + box.width + CORNER) return [leave, { x: box.x + box.width, y: half, side: Position.Right }];
    if (middle.x < box.x - CORNER) return [leave, { x: box.x, y: half, side: Position.Left }];
    const x = within(middle.x, box.x, box.width);
    return [leave, { x, y: above ? box.y : box.y + box.height, side: above ? Position.Top : Position.Bottom }];
  }
  const y = within(middle.y, box.y, box.height);
  return middle.x < box.x + box.width / 2
    ? [
        { x: knot.x + knot.width, y: middle.y, side: Position.Right },
        { x: box.x, y, side: Position.Left },
      ]
    : [
        { x: knot.x, y: middle.y, side: Position.Left },
        { x: box.x + box.width, y, side: Position.Right },
      ];
}

const rectOf = (node: InternalNode): Rect => ({
  ...node.internals.positionAbsolute,
  width: node.measured.width ?? 0,
  height: node.measured.height ?? 0,
});

export function EndLine({ id, source, target, selected, data }: EdgeProps<EndEdge>) {
  const [knot, box] = [useInternalNode(source), useInternalNode(target)];
  if (!knot?.measured.width || !box?.measured.width) return null;
  const [from, to] = endsOf(rectOf(knot), rectOf(box));
  const [path, x, y] = getBezierPath({
    sourceX: from.x,
    sourceY: from.y,
    sourcePosition: from.side,
    targetX: to.x,
    targetY: to.y,
    targetPosition: to.side,
  });
  const marks = [data?.must ? "is-must" : "is-prefer", selected && "is-selected", data?.problem && "is-wrong"];
  return (
    <>
      <BaseEdge id={id} path={path} className={classes("dra-end", ...marks)} interactionWidth={24} />
      {data?.alternative && (
        <EdgeLabelRenderer>
          <div className="dra-end-label" style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}>
            {data.alternative}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
