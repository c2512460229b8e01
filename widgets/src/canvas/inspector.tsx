// The card of what is selected, and of the whole claim: nothing needs a drag.

import { useState } from "react";
import { Button, Icon, Strength } from "../components/button";
import { Callout, Chip } from "../components/content";
import { Form, Wrong } from "../components/form";
import { keyOf, levelOf, sameField, sizeFields, toLevel } from "../components/gang_fields";
import { Select } from "../components/inputs";
import { type GangRow, LINK_KINDS, type Link, type LinkOption } from "../generated/models";
import { ClaimForm, Letter, Overview } from "./claim_form";
import { claimOf, claimsOf, partOf, shortName } from "./claims";
import { useCanvas } from "./editor";
import { type CanvasNode, GANG, isClaimId, isLinkId, isRequestId, nameOf, requestId, SAME } from "./flow";
import { RequestForm } from "./request_form";
import {
  changeLink,
  type How,
  howOf,
  linkNamed,
  mustOf,
  remove,
  rename,
  requestNamed,
  requestOf,
  requestsOf,
  tie,
  whereOf,
} from "./sketch";
import { HOW_WORDS, LEVELS, linkTitle, placeLabel } from "./wording";

// The card of the frame that keeps several such pods together: how many, and in one of what.
function GangForm() {
  const { gang, readOnly, changeGang } = useCanvas();
  const { level = "", levels = [], note = "" } = gang;
  const now = levelOf(gang);
  const change = (by: Partial<GangRow>) => changeGang({ ...gang, ...by });
  return (
    <Form
      readOnly={readOnly}
      fields={[
        ...sizeFields(gang, change),
        {
          kind: "select",
          label: "All in one",
          value: now ? keyOf(now) : "",
          options: [
            ...(now ? [] : [{ value: "", label: level }]),
            ...levels.map((row) => ({ value: keyOf(row), label: row.label, title: row.source })),
          ],
          note,
          onSet: (key) =>
            change(
              toLevel(
                gang,
                levels.find((one) => keyOf(one) === key),
              ),
            ),
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
      {told?.problem && <Callout tone="error" icon="warning" text={told.problem} />}
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
    <section className="dra-pane dra-ruled dra-inspector" aria-label="What is selected">
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
