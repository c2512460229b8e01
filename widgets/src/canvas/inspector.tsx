// The card of what is selected, and of the whole claim: nothing needs a drag.

import { useState } from "react";
import { Button, Icon, Strength } from "../components/button";
import { Callout, Chip } from "../components/content";
import { type FieldRow, Form, Wrong } from "../components/form";
import { Select } from "../components/inputs";
import { sameField } from "../components/same_values";
import {
  type ClaimSketch,
  type GangRow,
  type LevelRow,
  LINK_KINDS,
  type Link,
  type LinkOption,
} from "../generated/models";
import { claimOf, claimsOf, partOf, renameClaim, renamedPlaces, shortName } from "./claims";
import { useCanvas } from "./editor";
import {
  type CanvasNode,
  claimId,
  GANG,
  isClaimId,
  isLinkId,
  isRequestId,
  linkId,
  nameOf,
  requestId,
  SAME,
} from "./flow";
import { claimKey } from "./layout";
import { RequestForm, wrongName } from "./request_form";
import {
  changeLink,
  type How,
  howOf,
  linkNamed,
  linksOf,
  mustOf,
  remove,
  rename,
  requestNamed,
  requestOf,
  requestsOf,
  tie,
  whereOf,
} from "./sketch";
import { amountLabel, badgeOf, HOW_WORDS, LEVELS, linkTitle, linkWords, placeLabel } from "./wording";

// The card of the frame that keeps several such pods together: how many, and in one of what.
const keyOf = (row: LevelRow) => `${row.hierarchy ?? ""}/${row.level ?? ""}`;
const whole = (text: string) => (/^[1-9]\d*$/.test(text.trim()) ? "" : "Enter a whole number, 1 or more");

function GangForm() {
  const { gang, readOnly, changeGang } = useCanvas();
  const { size = 1, min = 0, level = "", hierarchy = "", levels = [], note = "" } = gang;
  const now = levels.find((row) => row.level === level && (!level || !row.hierarchy || row.hierarchy === hierarchy));
  const change = (by: Partial<GangRow>) => changeGang({ ...gang, ...by });
  return (
    <Form
      readOnly={readOnly}
      fields={[
        {
          kind: "text",
          label: "Pods",
          value: String(size),
          check: whole,
          onSet: (text) => change({ size: Number(text), min: min >= Number(text) ? 0 : min }),
        },
        {
          kind: "text",
          label: "At least",
          value: String(min || size),
          check: (text) => whole(text) || (Number(text) > size ? `Enter at most ${size}` : ""),
          note: "The gang starts with these pods or not at all.",
          onSet: (text) => change({ min: Number(text) >= size ? 0 : Number(text) }),
        },
        {
          kind: "select",
          label: "All in one",
          value: now ? keyOf(now) : "",
          options: [
            ...(now ? [] : [{ value: "", label: level }]),
            ...levels.map((row) => ({ value: keyOf(row), label: row.label, title: row.source })),
          ],
          note,
          onSet: (key) => {
            const row = levels.find((one) => keyOf(one) === key);
            if (row) change({ level: row.level ?? "", hierarchy: row.hierarchy ?? "", prefer: "" });
          },
        },
        sameField(gang, (same) => change({ same }), readOnly),
      ]}
    >
      <p className="dra-hint">{FLEET}</p>
    </Form>
  );
}

const FLEET = "Plan answers for one pod. Fleet answers for the gang.";

/** The card of the link between all pods of a gang. */
function SameForm() {
  const { gang, readOnly, changeGang } = useCanvas();
  return (
    <Form readOnly={readOnly} fields={[sameField(gang, (same) => changeGang({ ...gang, same }), readOnly)]}>
      <p className="dra-hint">{FLEET}</p>
    </Form>
  );
}

// The card of a link: where, how, must or prefer, and which requests it connects.
function placesFor(link: Link, told: readonly LinkOption[] | undefined): readonly LinkOption[] {
  const options = told?.length ? told : Object.entries(LEVELS).map(([where, label]) => ({ where, label }));
  const here = whereOf(link);
  return options.some((option) => option.where === here)
    ? options
    : [...options, { where: here, label: placeLabel(here) }];
}

function LinkForm({ link }: { link: Link }) {
  const { edit, status, readOnly } = useCanvas();
  const [isWhole, setWhole] = useState(false);
  const told = status.links?.[link.name];
  const change = (next: Partial<Link>) => edit((s) => changeLink(s, link.name, next));
  const [here, places] = [whereOf(link), placesFor(link, told?.options)];
  // The levels of a node; attributes and what else there is come on demand.
  const near = places.filter((option) => LEVELS[option.where] || option.where === here);
  const far = places.length - near.length;
  return (
    <Form
      readOnly={readOnly}
      fields={[
        {
          kind: "choice",
          label: "Where",
          name: "where",
          value: here,
          options: (isWhole ? places : near).map((option) => ({
            value: option.where,
            label: option.label || option.where,
            isOff: option.enabled === false && option.where !== here,
            title: option.reason,
          })),
          onSet: (where) => change({ where }),
          more: far > 0 && (
            <Button aria-expanded={isWhole} title="Attributes that devices publish" onClick={() => setWhole(!isWhole)}>
              {isWhole ? "Fewer" : `${far} more \u2026`}
            </Button>
          ),
          note: told?.field && (
            <>
              writes <code>{told.field}</code>
            </>
          ),
        },
        {
          kind: "choice",
          label: "How",
          name: "how",
          value: howOf(link),
          options: LINK_KINDS.map(({ value, meaning, leastEnds }) => ({
            value,
            label: HOW_WORDS[value],
            title: link.requests.length < leastEnds ? "it needs two requests" : meaning,
            isOff: link.requests.length < leastEnds,
          })),
          onSet: (how) => change({ how: how as How }),
        },
        {
          kind: "choice",
          label: "Strength",
          name: "strength",
          value: mustOf(link) ? "must" : "prefer",
          options: [
            { value: "must", label: <Strong must />, title: "A node without it does not fit." },
            { value: "prefer", label: <Strong must={false} />, title: "Used if possible. It never rules a node out." },
          ],
          onSet: (word) => change({ must: word === "must" }),
        },
        { kind: "none", label: "Connects", more: <Ends link={link} /> },
      ]}
    >
      {told?.problem && (
        <Callout tone="error" icon="warning">
          <span>{told.problem}</span>
        </Callout>
      )}
      {told?.note && <p className="dra-hint">{told.note}</p>}
    </Form>
  );
}

const Strong = ({ must }: { must: boolean }) => (
  <>
    <Strength must={must} /> {must ? "must" : "prefer"}
  </>
);

function Ends({ link }: { link: Link }) {
  const { edit, sketch, readOnly } = useCanvas();
  const free = requestsOf(partOf(sketch, claimOf(link.name))).filter(
    (request) => !link.requests.some((reference) => requestOf(reference) === request.name),
  );
  return (
    <>
      {link.requests.map((reference) => (
        <Chip
          key={reference}
          removal={`Disconnect ${shortName(reference)}`}
          onRemove={readOnly ? undefined : () => edit((s) => remove(s, { ends: [{ link: link.name, reference }] }))}
        >
          {shortName(reference)}
        </Chip>
      ))}
      {!readOnly && free.length > 0 && (
        <Select
          label="Add another request to this link"
          value=""
          options={[
            { value: "", label: "Connect …", isOff: true },
            ...free.map(({ name }) => ({ value: name, label: shortName(name) })),
          ]}
          onChoose={(name) => edit((s) => tie(s, link.name, name))}
        />
      )}
    </>
  );
}

interface Props {
  selected: readonly CanvasNode[];
  ends: number;
  /** Whether the card of the whole claim is open; it is shown while nothing is selected. */
  isWhole: boolean;
  onSelect(id: string): void;
  onDelete(): void;
  onLink(request: string): void;
  onMove(request: string, claim: string): void;
  onClaim(): void;
  /** Close the card: nothing is selected any more. */
  onClose(): void;
}

/** The card of what is selected, or of the whole claim. */
export function Inspector(props: Props) {
  const { selected, ends, isWhole, onSelect, onDelete, onLink, onMove, onClaim, onClose } = props;
  const { readOnly } = useCanvas();
  const count = selected.length + ends;
  if (count === 0 && !isWhole) return null;
  const one = count === 1 ? selected[0] : undefined;
  return (
    <section className="dra-inspector" aria-label="What is selected">
      <header className="dra-row">
        <Title one={one} count={count} ends={ends} />
        <span className="dra-gap" />
        {count > 0 && !readOnly && (
          <Button className="dra-delete" onClick={onDelete}>
            {ends === 1 && count === 1 ? "Disconnect" : "Delete"}
          </Button>
        )}
        <Button kind="quiet" icon="cross" label="Close the card" title="Close (Esc)" onClick={onClose} />
      </header>
      {count === 0 && <Overview onSelect={onSelect} onClaim={onClaim} />}
      {one && <One id={one.id} onSelect={onSelect} onLink={onLink} onMove={onMove} />}
    </section>
  );
}

function Title({ one, count, ends }: { one: CanvasNode | undefined; count: number; ends: number }) {
  const { sketch, status, problems, gang } = useCanvas();
  if (!one) {
    const whole = claimsOf(sketch).length ? "This pod" : "This claim";
    const words = count === 0 ? whole : ends === 1 && count === 1 ? "One end of a link" : `${count} selected`;
    return <h3>{words}</h3>;
  }
  const name = nameOf(one.id);
  if (isClaimId(one.id)) return <h3>{`Claim ${name}`}</h3>;
  if (one.id === GANG) return <h3>Pods that start together</h3>;
  if (one.id === SAME) return <h3>{`Link: ${gang.link ?? ""}`}</h3>;
  const kind = isRequestId(one.id) ? "request" : "link";
  const link = kind === "link" ? linkNamed(sketch, name) : undefined;
  const cause = problems.find((problem) => problem.kind === kind && problem.name === name)?.text;
  const told = kind === "request" ? status.requests?.[name] : undefined;
  return (
    <>
      {link ? <Strength must={mustOf(link)} /> : <Letter name={name} />}
      <h3>{link ? `Link: ${linkTitle(link)}` : `Request ${shortName(name)}`}</h3>
      {(told || cause) && (
        <div className="dra-row dra-subtitle">
          {told?.field && <code className="dra-api">{told.field}</code>}
          {told?.error || cause ? (
            <Wrong>
              <Icon name={told?.error ? "warning" : "cross"} /> {told?.error || cause}
            </Wrong>
          ) : (
            told?.text && <span className="dra-good">{told.text}</span>
          )}
        </div>
      )}
    </>
  );
}

type OneProps = Pick<Props, "onSelect" | "onLink" | "onMove"> & { id: string };

function One({ id, onSelect, onLink, onMove }: OneProps) {
  const { sketch, edit, positions } = useCanvas();
  const name = nameOf(id);
  const request = isRequestId(id) ? requestNamed(sketch, name) : undefined;
  const link = isLinkId(id) ? linkNamed(sketch, name) : undefined;
  if (id === GANG) return <GangForm />;
  if (id === SAME) return <SameForm />;
  if (isClaimId(id)) return <ClaimForm key={id} claim={name} onSelect={onSelect} />;
  const renamed = (to: string) => {
    const { [name]: place, ...others } = positions;
    edit((s) => rename(s, name, to), place ? { ...others, [to]: place } : undefined);
    onSelect(requestId(to));
  };
  if (request)
    return (
      <RequestForm
        key={id}
        request={request}
        onRenamed={renamed}
        onLink={() => onLink(name)}
        onMove={(claim) => onMove(name, claim)}
      />
    );
  return link ? <LinkForm key={id} link={link} /> : null;
}

function Letter({ name }: { name: string }) {
  const { sketch, status } = useCanvas();
  const { letter, colour, textColour } = badgeOf(sketch, status, name);
  return (
    <span className="dra-letter" aria-hidden="true" style={{ background: colour, color: textColour }}>
      {letter}
    </span>
  );
}

/** The card of a claim of the pod: its name, what it is written as, and what is in it. */
function ClaimForm({ claim, onSelect }: { claim: string; onSelect(id: string): void }) {
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

function Overview({ onSelect, onClaim }: { onSelect(id: string): void; onClaim(): void }) {
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
