// The same drawing as a form: nothing needs a drag. With nothing selected it lists everything there is.

import { Icon, Strength } from "../view/icon";
import { useCanvas } from "./editor";
import { TextField, Wrong } from "./fields";
import { type CanvasNode, isRequestId, linkId, nameOf, requestId } from "./flow";
import { LinkForm } from "./link_form";
import { RequestForm, wrongName } from "./request_form";
import { linkNamed, linksOf, mustOf, rename, requestNamed, requestsOf } from "./sketch";
import { amountLabel, badgeOf, linkWords } from "./wording";

interface Props {
  selected: readonly CanvasNode[];
  ends: number;
  onSelect(id: string): void;
  onDelete(): void;
  onLink(request: string): void;
}

export function Inspector({ selected, ends, onSelect, onDelete, onLink }: Props) {
  const { readOnly } = useCanvas();
  const count = selected.length + ends;
  return (
    <section className="dra-inspector" aria-label="What is selected">
      {count === 0 && <Overview onSelect={onSelect} />}
      {count === 1 && selected[0] && <One id={selected[0].id} onSelect={onSelect} onLink={onLink} />}
      {count === 1 && ends === 1 && (
        <header>
          <h3>One end of a link</h3>
        </header>
      )}
      {count > 1 && (
        <header>
          <h3>{count} things selected</h3>
        </header>
      )}
      {count > 0 && !readOnly && (
        <button type="button" className="dra-button dra-delete" onClick={onDelete}>
          {ends === 1 && count === 1 ? "Untie" : "Delete"}
        </button>
      )}
    </section>
  );
}

function One({ id, onSelect, onLink }: { id: string; onSelect(id: string): void; onLink(request: string): void }) {
  const { sketch, status, edit, positions } = useCanvas();
  const name = nameOf(id);
  const request = isRequestId(id) ? requestNamed(sketch, name) : undefined;
  const link = isRequestId(id) ? undefined : linkNamed(sketch, name);
  const renamed = (to: string) => {
    const { [name]: place, ...others } = positions;
    edit((s) => rename(s, request ? "request" : "link", name, to), place ? { ...others, [to]: place } : undefined);
    onSelect(request ? requestId(to) : linkId(to));
  };
  if (request)
    return (
      <>
        <header>
          <Letter name={name} />
          <h3>{name}</h3>
          <Verdict name={name} />
        </header>
        <RequestForm request={request} onRenamed={renamed} onLink={() => onLink(name)} />
      </>
    );
  if (!link) return null;
  const { how, where } = linkWords(link, status);
  return (
    <>
      <header>
        <Strength must={mustOf(link)} />
        <h3>
          {how} · {where}
        </h3>
      </header>
      <LinkForm link={link} onRenamed={renamed} />
    </>
  );
}

/** Whether the selectors compile, and what they match: the words of Python. */
function Verdict({ name }: { name: string }) {
  const told = useCanvas().status.requests?.[name];
  if (told?.error)
    return (
      <Wrong>
        <Icon name="warning" /> {told.error}
      </Wrong>
    );
  return told?.text ? <span className="dra-good">{told.text}</span> : null;
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

function Overview({ onSelect }: { onSelect(id: string): void }) {
  const { sketch, status, edit } = useCanvas();
  const [requests, links] = [requestsOf(sketch), linksOf(sketch)];
  return (
    <>
      <header>
        <h3>This claim</h3>
      </header>
      <div className="dra-form">
        <TextField
          label="name"
          value={sketch.name ?? "claim"}
          check={(name) => wrongName(() => false, "", name)}
          onDone={(name) => edit((s) => ({ ...s, name }))}
        />
        <div className="dra-field is-wide dra-row" role="group" aria-label="Requests and links">
          {requests.map((request) => (
            <button
              key={request.name}
              type="button"
              className="dra-button"
              onClick={() => onSelect(requestId(request.name))}
            >
              <Letter name={request.name} /> {request.name} <span className="dra-hint">× {amountLabel(request)}</span>
            </button>
          ))}
          {links.map((link) => (
            <button key={link.name} type="button" className="dra-button" onClick={() => onSelect(linkId(link.name))}>
              <Strength must={mustOf(link)} /> {linkWords(link, status).how} · {linkWords(link, status).where}
            </button>
          ))}
          {requests.length === 0 && <span className="dra-hint">Nothing drawn yet.</span>}
        </div>
      </div>
    </>
  );
}
