// The card of a link: where, how, must or prefer, and which requests it connects.

import { useState } from "react";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import { Chip } from "../components/chip";
import { Choice } from "../components/choice";
import { Group } from "../components/field";
import { Select } from "../components/inputs";
import { LINK_KINDS, type Link, type LinkOption } from "../generated/models";
import { Strength } from "../view/icon";
import { claimOf, partOf, shortName } from "./claims";
import { useCanvas } from "./editor";
import { changeLink, howOf, mustOf, remove, requestOf, requestsOf, tie, whereOf } from "./sketch";
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
  const told = status.links?.[link.name];
  const change = (next: Partial<Link>) => edit((s) => changeLink(s, link.name, next));
  return (
    <div className="dra-stack dra-form">
      {told?.field && (
        <p className="dra-hint">
          writes <code>{told.field}</code>
        </p>
      )}
      <Places link={link} options={placesFor(link, told?.options)} onChoose={(where) => change({ where })} />
      <Group label="How">
        <Choice
          label="how"
          disabled={readOnly}
          value={howOf(link)}
          onChoose={(how) => change({ how })}
          options={LINK_KINDS.map(({ value, meaning, leastEnds }) => ({
            value,
            label: HOW_WORDS[value],
            title: link.requests.length < leastEnds ? "it needs two requests" : meaning,
            isOff: link.requests.length < leastEnds,
          }))}
        />
        <Choice
          label="strength"
          disabled={readOnly}
          value={mustOf(link) ? "must" : "prefer"}
          onChoose={(word) => change({ must: word === "must" })}
          options={[
            { value: "must", label: <Strong must />, title: "A node without it does not fit." },
            { value: "prefer", label: <Strong must={false} />, title: "Used if possible. It never rules a node out." },
          ]}
        />
      </Group>
      <Ends link={link} />
      {told?.problem && (
        <Callout tone="error" icon="warning">
          <span>{told.problem}</span>
        </Callout>
      )}
      {told?.note && <p className="dra-hint">{told.note}</p>}
    </div>
  );
}

const Strong = ({ must }: { must: boolean }) => (
  <>
    <Strength must={must} /> {must ? "must" : "prefer"}
  </>
);

interface PlacesProps {
  link: Link;
  options: readonly LinkOption[];
  onChoose(where: string): void;
}

/** The levels of a node; attributes and what else there is come on demand. */
function Places({ link, options, onChoose }: PlacesProps) {
  const { readOnly } = useCanvas();
  const [isWhole, setWhole] = useState(false);
  const here = whereOf(link);
  const near = options.filter((option) => LEVELS[option.where] || option.where === here);
  const far = options.length - near.length;
  return (
    <Group label="Where">
      <Choice
        label="where"
        disabled={readOnly}
        value={here}
        onChoose={onChoose}
        options={(isWhole ? options : near).map((option) => ({
          value: option.where,
          label: option.label || option.where,
          isOff: option.enabled === false && option.where !== here,
          title: option.reason,
        }))}
      />
      {far > 0 && (
        <Button aria-expanded={isWhole} title="Attributes that devices publish" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Fewer" : `${far} more \u2026`}
        </Button>
      )}
    </Group>
  );
}

function Ends({ link }: { link: Link }) {
  const { edit, sketch, readOnly } = useCanvas();
  const free = requestsOf(partOf(sketch, claimOf(link.name))).filter(
    (request) => !link.requests.some((reference) => requestOf(reference) === request.name),
  );
  return (
    <Group label="Connects">
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
    </Group>
  );
}
