// The card of a request: its alternatives, its device configuration, and its name.

import { type ReactNode, useState } from "react";
import { Button } from "../components/button";
import { named } from "../components/choice";
import { Wrong } from "../components/field";
import { Fields } from "../components/form";
import type { DeviceRequest } from "../generated/models";
import { claimOf, claimsOf, inClaim, shortName } from "./claims";
import { Configuration } from "./configuration";
import { useCanvas } from "./editor";
import { PartForm } from "./part_form";
import { addAlternative, freeName, isAll, moveAlternative, type Part, partsOf, removeAlternative } from "./sketch";
import { partLabel } from "./wording";

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** What is wrong with a new name, in the words of the API's rule; "" for nothing. */
export function wrongName(taken: (name: string) => boolean, own: string, name: string): string {
  if (!LABEL.test(name)) return "Use lower-case letters, digits and -, beginning and ending with a letter or digit.";
  return name !== own && taken(name) ? `There is another ${name}.` : "";
}

interface Props {
  request: DeviceRequest;
  onRenamed(to: string): void;
  onLink(): void;
  /** Move it to another claim of the pod. */
  onMove(claim: string): void;
}

export function RequestForm({ request, onRenamed, onLink, onMove }: Props) {
  const { sketch, status, edit, readOnly } = useCanvas();
  const [way, setWay] = useState(0);
  const [isConfiguring, setConfiguring] = useState(false);
  const parts = partsOf(request);
  const index = Math.min(way, parts.length - 1);
  const part = parts[index];
  if (!part) return null;
  const claim = claimOf(request.name);
  const taken = (name: string) => freeName(sketch, inClaim(claim, name)) !== inClaim(claim, name);
  const told = status.requests?.[request.name];
  const gap = status.gates?.firstAvailable;
  return (
    <div className="dra-stack dra-form">
      {told?.note && <Wrong>{told.note}</Wrong>}
      <Fields
        readOnly={readOnly}
        fields={[
          claim !== "" && {
            kind: "select",
            label: "Claim",
            value: claim,
            options: named(claimsOf(sketch)),
            api: status.claims?.[claim]?.field ?? "spec.resourceClaims[].name",
            onSet: onMove,
          },
          parts.length > 1 && {
            kind: "none",
            label: "Alternatives",
            group: "Alternatives, tried in this order",
            api: parts.map((_, i) => (i ? `[${i}]` : "firstAvailable[0]")).join(", "),
            more: <Ways request={request} index={index} onPick={setWay} />,
          },
        ]}
      />
      <PartForm key={`${request.name}/${index}`} request={request} part={part} index={index}>
        <Adding label="Configure the driver" onClick={() => setConfiguring(true)} />
        <Adding
          label="Add an alternative"
          gap={gap}
          onClick={() => {
            edit((s) => addAlternative(s, request.name));
            setWay(parts.length);
          }}
        />
        {!isSingle(part) && <Adding label="Link its devices" onClick={onLink} />}
      </PartForm>
      <Configuration
        request={request}
        drivers={told?.parts?.[index]?.drivers ?? []}
        isAdding={isConfiguring}
        onAdded={() => setConfiguring(false)}
      />
      <Fields
        readOnly={readOnly}
        fields={[
          {
            kind: "text",
            label: "Name",
            value: shortName(request.name),
            api: "name",
            check: (name) => wrongName(taken, shortName(request.name), name),
            onSet: (name) => onRenamed(inClaim(claim, name)),
          },
        ]}
      />
      {readOnly && <p className="dra-hint">This drawing cannot be changed here.</p>}
    </div>
  );
}

const isSingle = (part: Part): boolean => !isAll(part) && (part.count ?? 1) <= 1;

/** A button that adds something to a request, greyed with the reason where the release has no such field. */
export function Adding({ label, gap, onClick }: { label: string; gap?: string | undefined; onClick(): void }) {
  return (
    <Button disabled={Boolean(gap)} title={gap} onClick={onClick}>
      + {label}
    </Button>
  );
}

function Ways({ request, index, onPick }: { request: DeviceRequest; index: number; onPick(index: number): void }) {
  const { edit, readOnly } = useCanvas();
  const ways = request.firstAvailable ?? [];
  const move = (by: -1 | 1) => {
    edit((s) => moveAlternative(s, request.name, index, by));
    onPick(index + by);
  };
  const drop = () => {
    edit((s) => removeAlternative(s, request.name, index));
    onPick(0);
  };
  const act = (label: string, words: ReactNode, disabled: boolean, onClick: () => void) => (
    <Button label={label} title={label} disabled={disabled} onClick={onClick}>
      {words}
    </Button>
  );
  return (
    <>
      {ways.map((way, i) => (
        <Button key={way.name} pressed={i === index} title={way.name} onClick={() => onPick(i)}>
          {i + 1}. {partLabel(way)}
        </Button>
      ))}
      {!readOnly && (
        <>
          {act("Try this alternative earlier", "\u2190", index === 0, () => move(-1))}
          {act("Try this alternative later", "\u2192", index === ways.length - 1, () => move(1))}
          {act("Remove this alternative", "Remove", false, drop)}
        </>
      )}
    </>
  );
}
