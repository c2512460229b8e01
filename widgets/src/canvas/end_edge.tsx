// The line from a knot to one of its boxes: between the two nearest sides, solid for must, dashed for prefer.
import { BaseEdge, EdgeLabelRenderer, getBezierPath, Position, useInternalNode, type EdgeProps, type InternalNode } from "@xyflow/react";
import type { EndEdge } from "./flow";

interface Port {
  x: number;
  y: number;
  side: Position;
}

export function portsOf(x: number, y: number, width: number, height: number): Port[] {
  return [
    { x: x + width / 2, y, side: Position.Top },
    { x: x + width, y: y + height / 2, side: Position.Right },
    { x: x + width / 2, y: y + height, side: Position.Bottom },
    { x, y: y + height / 2, side: Position.Left },
  ];
}

/** The pair of ports with the shortest way between them; the first such pair, so that the line does not flicker. */
export function nearest(from: readonly Port[], to: readonly Port[]): [Port, Port] {
  let best: [Port, Port] = [from[0]!, to[0]!];
  let least = Infinity;
  for (const a of from)
    for (const b of to) {
      const far = Math.hypot(a.x - b.x, a.y - b.y);
      if (far < least - 0.5) [best, least] = [[a, b], far];
    }
  return best;
}

const ports = (node: InternalNode): Port[] =>
  portsOf(node.internals.positionAbsolute.x, node.internals.positionAbsolute.y, node.measured.width ?? 0, node.measured.height ?? 0);

export function EndLine({ id, source, target, selected, data }: EdgeProps<EndEdge>) {
  const [knot, box] = [useInternalNode(source), useInternalNode(target)];
  if (!knot?.measured.width || !box?.measured.width) return null;
  const [from, to] = nearest(ports(knot), ports(box));
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
