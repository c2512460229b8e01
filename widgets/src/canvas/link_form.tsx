// The form of a link: where, how, must or prefer, and which requests it ties.
import { LINK_KINDS, type Link, type LinkOptionRow } from "../generated/models";
import { Icon, Strength } from "../view/icon";
import { useCanvas } from "./editor";
import { Choice, Field, TextField } from "./fields";
import { wrongName } from "./request_form";
import { changeLink, freeName, howOf, mustOf, remove, requestOf, requestsOf, tie, whereOf } from "./sketch";
import { LEVELS, placeLabel } from "./wording";

function placesFor(link: Link, told: readonly LinkOptionRow[] | undefined): readonly LinkOptionRow[] {
  const options = told?.length ? told : Object.entries(LEVELS).map(([where, label]) => ({ where, label }));
  const here = whereOf(link);
  return options.some((option) => option.where === here)
    ? options
    : [...options, { where: here, label: placeLabel(here) }];
}

export function LinkForm({ link, onRenamed }: { link: Link; onRenamed(to: string): void }) {
  const { edit, status, sketch, readOnly } = useCanvas();
  const told = status.links?.[link.name];
  const options = placesFor(link, told?.options);
  const greyed = options.filter((option) => option.enabled === false && option.reason);
  const change = (next: Partial<Link>) => edit((s) => changeLink(s, link.name, next));
  const taken = (name: string) => freeName(sketch, name) !== name;
  return (
    <div className="dra-form">
      <Field label="where">
        <select value={whereOf(link)} disabled={readOnly} onChange={(event) => change({ where: event.target.value })}>
          {options.map((option) => (
            <option key={option.where} value={option.where} disabled={option.enabled === false} title={option.reason}>
              {option.label || option.where}
              {option.enabled === false ? ` \u2013 ${option.reason || "not possible"}` : ""}
            </option>
          ))}
        </select>
      </Field>
      <Choice
        label="strength"
        value={mustOf(link) ? "must" : "prefer"}
        onChoose={(word) => change({ must: word === "must" })}
        options={[
          {
            value: "must",
            label: (
              <>
                <Strength must /> must
              </>
            ),
            reason: "A node without it does not fit.",
          },
          {
            value: "prefer",
            label: (
              <>
                <Strength must={false} /> prefer
              </>
            ),
            reason: "Taken where it can be had; never makes a claim impossible.",
          },
        ]}
      />
      <Choice
        label="how"
        value={howOf(link)}
        onChoose={(how) => change({ how })}
        options={LINK_KINDS.map(({ value, meaning, leastEnds }) => ({
          value,
          label: value,
          reason: meaning,
          disabled: link.requests.length < leastEnds,
        }))}
      />
      <Ends link={link} />
      {told?.problem && (
        <p className="dra-field is-wide dra-wrong">
          <Icon name="warning" /> {told.problem}
        </p>
      )}
      {told?.note && <p className="dra-field is-wide dra-hint">{told.note}</p>}
      {greyed.length > 0 && (
        <ul className="dra-field is-wide dra-hint dra-reasons" aria-label="Places that are not possible">
          {greyed.map((option) => (
            <li key={option.where}>
              <b>{option.label}</b>: {option.reason}
            </li>
          ))}
        </ul>
      )}
      <TextField
        label="name"
        value={link.name}
        check={(name) => wrongName(taken, link.name, name)}
        onDone={onRenamed}
      />
    </div>
  );
}

function Ends({ link }: { link: Link }) {
  const { edit, sketch, readOnly } = useCanvas();
  const free = requestsOf(sketch).filter(
    (request) => !link.requests.some((reference) => requestOf(reference) === request.name),
  );
  return (
    <div className="dra-field is-wide dra-row" role="group" aria-label="Ties">
      <span className="dra-label">ties</span>
      {link.requests.map((reference) => (
        <span key={reference} className="dra-tag">
          {reference}
          {!readOnly && (
            <button
              type="button"
              aria-label={`Untie ${reference}`}
              onClick={() => edit((s) => remove(s, { ends: [{ link: link.name, reference }] }))}
            >
              <Icon name="cross" />
            </button>
          )}
        </span>
      ))}
      {!readOnly && free.length > 0 && (
        <select
          aria-label="Tie a further request"
          value=""
          onChange={(event) => edit((s) => tie(s, link.name, event.target.value))}
        >
          <option value="" disabled>
            tie {"\u2026"}
          </option>
          {free.map((request) => (
            <option key={request.name} value={request.name}>
              {request.name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
