// What a request, a link, the lines of a link and a frame look like on the canvas.

import {
  BaseEdge,
  EdgeLabelRenderer,
  type EdgeProps,
  getBezierPath,
  Handle,
  type InternalNode,
  type NodeProps,
  Position,
  useInternalNode,
} from "@xyflow/react";
import type { CSSProperties } from "react";
import { Button, classes, Icon, KindIcon, Strength } from "../components/button";
import { shortName } from "./claims";
import { useCanvas } from "./editor";
import type { BoxNode, EndEdge, FrameNode, KnotNode } from "./flow";
import { amountOf, isAll, mustOf, partnersOf, partsOf, step } from "./sketch";
import { amountLabel, linkWords } from "./wording";

// The line from a knot to one of its boxes: solid for must, dashed for prefer.
interface Rect {
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
  const marks = [!data?.must && "is-prefer", selected && "is-selected", data?.problem && "is-wrong"];
  return (
    <>
      <BaseEdge id={id} path={path} className={classes("dra-end", ...marks)} interactionWidth={24} />
      {data?.alternative && (
        <EdgeLabelRenderer>
          <div
            className="dra-end-label dra-hint"
            style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
          >
            {data.alternative}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

// What a request and a link look like on the canvas.
const SIDES = [Position.Top, Position.Right, Position.Bottom, Position.Left] as const;

function Handles({ sides }: { sides: readonly Position[] }) {
  return sides.map((side) => <Handle key={side} id={side} type="source" position={side} aria-hidden="true" />);
}

export function RequestBox({ data, selected }: NodeProps<BoxNode>) {
  const { badge, request, error, cause, text, title, kind } = data;
  const marks = [
    selected && "is-selected",
    data.lit && "is-lit",
    data.candidate && "is-candidate",
    error && "is-wrong",
    cause && "is-cause",
  ];
  const colours = { "--dra-badge": badge.colour, "--dra-on-badge": badge.textColour } as CSSProperties;
  return (
    <div className={classes("dra-box", ...marks)} style={colours} title={cause || undefined}>
      <Handles sides={SIDES} />
      <div className="dra-box-head">
        <span className="dra-letter" aria-hidden="true">
          {badge.letter}
        </span>
        <b className="dra-cut dra-fill" title={shortName(request.name)}>
          {shortName(request.name)}
        </b>
        <Stepper name={request.name} />
      </div>
      <div className="dra-box-class" title={partsOf(request)[0]?.deviceClassName}>
        <KindIcon kind={kind} />
        <span className="dra-cut">{title}</span>
      </div>
      <div className="dra-box-text dra-hint dra-clamp" title={error || cause || undefined}>
        {error || cause ? (
          <>
            <Icon name={error ? "warning" : "cross"} /> {error || cause}
          </>
        ) : (
          text
        )}
      </div>
    </div>
  );
}

function Stepper({ name }: { name: string }) {
  const { sketch, edit, readOnly } = useCanvas();
  const request = sketch.requests?.find((r) => r.name === name);
  const part = request && partsOf(request)[0];
  if (!request || !part) return null;
  const amount = amountOf(part);
  const fixed = readOnly || isAll(part) || partsOf(request).length > 1;
  const shown =
    partsOf(request).length > 1
      ? `1 of ${partsOf(request).length}`
      : isAll(part)
        ? "all"
        : (amount?.amount ?? amountLabel(request));
  const partners = amount ? "" : partnersOf(sketch, name).map(shortName).join(", ");
  const button = (by: 1 | -1) => (
    <Button
      kind="bare"
      className="nodrag"
      tabIndex={-1}
      disabled={step(sketch, name, by) === sketch}
      label={`${by > 0 ? "More" : "Less"} ${shortName(name)}`}
      title={partners ? `With ${partners}. Alt: ${shortName(name)} alone` : undefined}
      onClick={(event) => {
        event.stopPropagation();
        edit((s) => step(s, name, by, event.altKey));
      }}
    >
      {by > 0 ? "+" : "\u2212"}
    </Button>
  );
  return (
    <span className="dra-stepper" title={amount ? `${amount.amount} ${amount.key}` : undefined}>
      {!fixed && button(-1)}
      <span className="dra-count">{shown}</span>
      {!fixed && button(1)}
    </span>
  );
}

/** The frame of a claim, a pod or a gang, and the link on the frame of a gang. */
export function ClaimFrame({ data, selected }: NodeProps<FrameNode>) {
  const { claim, name, detail, gang, same, values } = data;
  if (same)
    return (
      <div className={classes("dra-knot is-same", selected && "is-selected")} title={values || undefined}>
        <Handles sides={[Position.Top]} />
        <Strength must />
        <span className="dra-knot-words dra-cut">
          {same}
          {values && <i>, {values}</i>}
        </span>
      </div>
    );
  const marks = [gang ? "is-gang" : claim ? "is-claim" : "is-pod", selected && "is-selected"];
  return (
    <div className={classes("dra-frame", ...marks)}>
      <div className="dra-frame-head dra-cut" title={claim ? "Drag to move the claim" : undefined}>
        {gang ? (
          <b>{gang}</b>
        ) : (
          <>
            {claim ? "Claim" : "Pod"} <b>{name}</b>
          </>
        )}
      </div>
      {detail && <p className="dra-hint">{detail}</p>}
    </div>
  );
}

export function LinkKnot({ data, selected }: NodeProps<KnotNode>) {
  const { status } = useCanvas();
  const { link, problem, cause } = data;
  const { how, where } = linkWords(link, status);
  const must = mustOf(link);
  const marks = [
    !must && "is-prefer",
    selected && "is-selected",
    data.candidate && "is-candidate",
    problem && "is-wrong",
    cause && "is-cause",
  ];
  return (
    <div className={classes("dra-knot", ...marks)} title={problem || cause || undefined}>
      <Handles sides={[Position.Left, Position.Right]} />
      {problem ? <Icon name="warning" /> : cause ? <Icon name="cross" /> : <Strength must={must} />}
      <span className="dra-knot-words dra-cut">
        {how}
        <i>, {where}</i>
      </span>
    </div>
  );
}
