// The line from a knot to one of its boxes: solid for must, dashed for prefer.
import { BaseEdge, EdgeLabelRenderer, getBezierPath, Position, useInternalNode, type EdgeProps, type InternalNode } from "@xyflow/react";
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

/**
 * Where the line leaves the knot and where it meets the box: above or below where one stands clear of the other, else at
 * the sides. The point on the box slides towards the knot, so that several links of one box do not lie on each other.
 */
export function endsOf(knot: Rect, box: Rect): [Port, Port] {
  const middle = { x: knot.x + knot.width / 2, y: knot.y + knot.height / 2 };
  const above = knot.y + knot.height <= box.y;
  if (above || knot.y >= box.y + box.height) {
    const x = within(middle.x, box.x, box.width);
    return above
      ? [{ x: middle.x, y: knot.y + knot.height, side: Position.Bottom }, { x, y: box.y, side: Position.Top }]
      : [{ x: middle.x, y: knot.y, side: Position.Top }, { x, y: box.y + box.height, side: Position.Bottom }];
  }
  const y = within(middle.y, box.y, box.height);
  return middle.x < box.x + box.width / 2
    ? [{ x: knot.x + knot.width, y: middle.y, side: Position.Right }, { x: box.x, y, side: Position.Left }]
    : [{ x: knot.x, y: middle.y, side: Position.Left }, { x: box.x + box.width, y, side: Position.Right }];
}

const rectOf = (node: InternalNode): Rect => ({
  ...node.internals.positionAbsolute, width: node.measured.width ?? 0, height: node.measured.height ?? 0,
});

export function EndLine({ id, source, target, selected, data }: EdgeProps<EndEdge>) {
  const [knot, box] = [useInternalNode(source), useInternalNode(target)];
  if (!knot?.measured.width || !box?.measured.width) return null;
  const [from, to] = endsOf(rectOf(knot), rectOf(box));
  const [path, x, y] = getBezierPath({
    sourceX: from.x, sourceY: from.y, sourcePosition: from.side, targetX: to.x, targetY: to.y, targetPosition: to.side,
  });
  const marks = [data?.must ? "is-must" : "is-prefer", selected && "is-selected", data?.problem && "is-wrong"];
  return (
    <>
      <BaseEdge id={id} path={path} className={["dra-end", ...marks.filter(Boolean)].join(" ")} interactionWidth={24} />
      {data?.alternative && (
        <EdgeLabelRenderer>
          <div className="dra-end-label" style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}>{data.alternative}</div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
