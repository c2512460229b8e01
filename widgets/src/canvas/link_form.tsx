// The card of a link: where, how, must or prefer, and which requests it connects.

import { useState } from "react";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import { Chip } from "../components/chip";
import { Form } from "../components/form";
import { Select } from "../components/inputs";
import { LINK_KINDS, type Link, type LinkOption } from "../generated/models";
import { Strength } from "../view/icon";
import { claimOf, partOf, shortName } from "./claims";
import { useCanvas } from "./editor";
import { changeLink, type How, howOf, mustOf, remove, requestOf, requestsOf, tie, whereOf } from "./sketch";
import { HOW_WORDS, LEVELS, placeLabel } from "./wording";

function placesFor(link: Link, told: readonly LinkOption[] | undefined): readonly LinkOption[] {
  const options = told?.length ? told : Object.entries(LEVELS).map(([where, label]) => ({ where, label }));
  const here = whereOf(link);
  return options.some((option) => option.where === here)
    ? options
    : [...options, { where: here, label: placeLabel(here) }];
}

export function LinkForm({ link }: { link: Link }) {
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
