// The cards of a claim and of the whole drawing: the name, what is written, and what is in it.

import { Button, Strength } from "../components/button";
import { type FieldRow, Form } from "../components/form";
import type { ClaimSketch } from "../generated/models";
import { claimsOf, partOf, renameClaim, renamedPlaces, shortName } from "./claims";
import { useCanvas } from "./editor";
import { claimId, linkId, requestId } from "./flow";
import { claimKey } from "./layout";
import { wrongName } from "./request_form";
import { linksOf, mustOf, requestsOf } from "./sketch";
import { amountLabel, badgeOf, linkTitle, linkWords } from "./wording";

export function Letter({ name }: { name: string }) {
  const { sketch, status } = useCanvas();
  const { letter, colour, textColour } = badgeOf(sketch, status, name);
  return (
    <span className="dra-letter" aria-hidden="true" style={{ background: colour, color: textColour }}>
      {letter}
    </span>
  );
}

/** The card of a claim of the pod: its name, what it is written as, and what is in it. */
export function ClaimForm({ claim, onSelect }: { claim: string; onSelect(id: string): void }) {
  const { sketch, status, edit, positions, readOnly } = useCanvas();
  const told = status.claims?.[claim];
  const taken = (name: string) => claimsOf(sketch).includes(name);
  const rename = (to: string) => {
    const { sketch: next, renamed } = renameClaim(sketch, claim, to);
    const { [claimKey(claim)]: place, ...others } = renamedPlaces(positions, sketch, renamed);
    edit(() => next, place ? { ...others, [claimKey(to)]: place } : others);
    onSelect(claimId(to));
  };
  return (
    <Form
      readOnly={readOnly}
      fields={[
        {
          kind: "text",
          label: "Name",
          value: claim,
          api: told?.field ?? "spec.resourceClaims[].name",
          check: (name) => wrongName(taken, claim, name),
          onSet: rename,
        },
        { kind: "none", label: "Template", api: "metadata.name", more: <code>{told?.template ?? ""}</code> },
        drawn(partOf(sketch, claim), onSelect),
      ]}
    >
      <p className="dra-hint">A link stays within a claim. Up to 32 devices per claim.</p>
    </Form>
  );
}

export function Overview({ onSelect, onClaim }: { onSelect(id: string): void; onClaim(): void }) {
  const { sketch, edit, readOnly } = useCanvas();
  const claims = claimsOf(sketch).map((claim) => (
    <Button key={claim} onClick={() => onSelect(claimId(claim))}>
      {claim}
    </Button>
  ));
  return (
    <Form
      readOnly={readOnly}
      fields={[
        {
          kind: "text",
          label: "Name",
          value: sketch.name ?? "claim",
          api: "metadata.name",
          check: (name) => wrongName(() => false, "", name),
          onSet: (name) => edit((s) => ({ ...s, name })),
        },
        claims.length > 0 && { kind: "none", label: "Claims", api: "spec.resourceClaims", more: claims },
        drawn(sketch, onSelect),
      ]}
    >
      {!readOnly && (
        <div className="dra-row">
          <Button onClick={onClaim}>+ Add a claim to the pod</Button>
        </div>
      )}
    </Form>
  );
}

const drawn = (sketch: ClaimSketch, onSelect: (id: string) => void): FieldRow => ({
  kind: "none",
  label: "Draws",
  group: "Requests and links",
  more: <Drawn sketch={sketch} onSelect={onSelect} />,
});

/** The requests and links of a claim, or of all of them, each with a button to its card. */
function Drawn({ sketch, onSelect }: { sketch: ClaimSketch; onSelect(id: string): void }) {
  const { status } = useCanvas();
  const [requests, links] = [requestsOf(sketch), linksOf(sketch)];
  return (
    <>
      {requests.map((request) => (
        <Button key={request.name} onClick={() => onSelect(requestId(request.name))}>
          <Letter name={request.name} /> {shortName(request.name)}{" "}
          <span className="dra-hint">× {amountLabel(request)}</span>
        </Button>
      ))}
      {links.map((link) => (
        <Button key={link.name} onClick={() => onSelect(linkId(link.name))}>
          <Strength must={mustOf(link)} /> {linkTitle(link)}: {linkWords(link, status).how}
        </Button>
      ))}
      {requests.length === 0 && <span className="dra-hint">Nothing drawn yet.</span>}
    </>
  );
}
