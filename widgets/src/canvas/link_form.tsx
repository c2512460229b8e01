// The card of a link: where, how, must or prefer, and which requests it connects.
import { useState } from "react";
import { LINK_KINDS, type Link, type LinkOption } from "../generated/models";
import { Icon, Strength } from "../view/icon";
import { claimOf, partOf, shortName } from "./claims";
import { useCanvas } from "./editor";
import { Choice, Group } from "./fields";
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
  const { edit, status } = useCanvas();
  const told = status.links?.[link.name];
  const change = (next: Partial<Link>) => edit((s) => changeLink(s, link.name, next));
  return (
    <div className="dra-form">
      {told?.field && (
        <p className="dra-writes">
          writes <code>{told.field}</code>
        </p>
      )}
      <Places link={link} options={placesFor(link, told?.options)} onChoose={(where) => change({ where })} />
      <Group label="How">
        <Choice
          label="how"
          value={howOf(link)}
          onChoose={(how) => change({ how })}
          options={LINK_KINDS.map(({ value, meaning, leastEnds }) => ({
            value,
            label: HOW_WORDS[value],
            reason: link.requests.length < leastEnds ? "it needs two requests" : meaning,
            disabled: link.requests.length < leastEnds,
          }))}
        />
        <Choice
          label="strength"
          value={mustOf(link) ? "must" : "prefer"}
          onChoose={(word) => change({ must: word === "must" })}
          options={[
            { value: "must", label: <Strong must />, reason: "A node without it does not fit." },
            { value: "prefer", label: <Strong must={false} />, reason: "Used if possible. It never rules a node out." },
          ]}
        />
      </Group>
      <Ends link={link} />
      {told?.problem && (
        <p className="dra-wrong">
          <Icon name="warning" /> {told.problem}
        </p>
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
  const [isWhole, setWhole] = useState(false);
  const here = whereOf(link);
  const near = options.filter((option) => LEVELS[option.where] || option.where === here);
  const far = options.length - near.length;
  return (
    <Group label="Where">
      <Choice
        label="where"
        value={here}
        onChoose={onChoose}
        options={(isWhole ? options : near).map((option) => ({
          value: option.where,
          label: option.label || option.where,
          disabled: option.enabled === false && option.where !== here,
          ...(option.reason ? { reason: option.reason } : {}),
        }))}
      />
      {far > 0 && (
        <button
          type="button"
          className="dra-button"
          aria-expanded={isWhole}
          title="Attributes that devices publish"
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Fewer" : `${far} more \u2026`}
        </button>
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
        <span key={reference} className="dra-tag">
          {shortName(reference)}
          {!readOnly && (
            <button
              type="button"
              aria-label={`Disconnect ${shortName(reference)}`}
              onClick={() => edit((s) => remove(s, { ends: [{ link: link.name, reference }] }))}
            >
              <Icon name="cross" />
            </button>
          )}
        </span>
      ))}
      {!readOnly && free.length > 0 && (
        <select
          aria-label="Add another request to this link"
          value=""
          onChange={(event) => edit((s) => tie(s, link.name, event.target.value))}
        >
          <option value="" disabled>
            Connect {"\u2026"}
          </option>
          {free.map((request) => (
            <option key={request.name} value={request.name}>
              {shortName(request.name)}
            </option>
          ))}
        </select>
      )}
    </Group>
  );
}
