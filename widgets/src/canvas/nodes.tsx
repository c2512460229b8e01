// What a request and a link look like on the canvas.

import { Handle, type NodeProps, Position } from "@xyflow/react";
import type { CSSProperties } from "react";
import { Button } from "../components/button";
import { classes } from "../components/classes";
import { Icon, KindIcon, Strength } from "../view/icon";
import { shortName } from "./claims";
import { useCanvas } from "./editor";
import type { BoxNode, FrameNode, KnotNode } from "./flow";
import { amountOf, isAll, mustOf, partnersOf, partsOf, step } from "./sketch";
import { amountLabel, linkWords } from "./wording";

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
        <span className="dra-box-name dra-cut" title={shortName(request.name)}>
          {shortName(request.name)}
        </span>
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

/** The frame of a claim, or of the pod. */
export function ClaimFrame({ data, selected }: NodeProps<FrameNode>) {
  const { claim, name, detail, gang } = data;
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
    must ? "is-must" : "is-prefer",
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
