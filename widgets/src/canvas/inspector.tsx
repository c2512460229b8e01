// The card of what is selected, and of the whole claim: nothing needs a drag.
import { useEffect, useState } from "react";
import { Icon, Strength } from "../view/icon";
import { useCanvas } from "./editor";
import { Group, TextField, Wrong } from "./fields";
import { type CanvasNode, isRequestId, linkId, nameOf, requestId } from "./flow";
import { LinkForm } from "./link_form";
import { RequestForm, wrongName } from "./request_form";
import { linkNamed, linksOf, mustOf, rename, requestNamed, requestsOf } from "./sketch";
import { amountLabel, badgeOf, linkTitle, linkWords } from "./wording";

interface Props {
  selected: readonly CanvasNode[];
  ends: number;
  onSelect(id: string): void;
  onDelete(): void;
  onLink(request: string): void;
  /** Close the card: nothing is selected any more. */
  onClose(): void;
}

/** The card of what is selected; with nothing selected a button that opens the card of the claim. */
export function Inspector({ selected, ends, onSelect, onDelete, onLink, onClose }: Props) {
  const { sketch, readOnly } = useCanvas();
  const [isClaimShown, setClaimShown] = useState(false);
  const count = selected.length + ends;
  useEffect(() => {
    if (count) setClaimShown(false);
  }, [count]);
  if (count === 0 && !isClaimShown)
    return (
      <button
        type="button"
        className="dra-button dra-claim"
        aria-label={`Claim ${sketch.name ?? "claim"}: name, requests and links`}
        onClick={() => setClaimShown(true)}
      >
        Claim <b>{sketch.name ?? "claim"}</b>
      </button>
    );
  const close = () => {
    setClaimShown(false);
    onClose();
  };
  const one = count === 1 ? selected[0] : undefined;
  return (
    <section className="dra-inspector" aria-label="What is selected">
      <header>
        <Title one={one} count={count} ends={ends} />
        <span className="dra-gap" />
        {count > 0 && !readOnly && (
          <button type="button" className="dra-button dra-delete" onClick={onDelete}>
            {ends === 1 && count === 1 ? "Disconnect" : "Delete"}
          </button>
        )}
        <button type="button" className="dra-tool" aria-label="Close the card" title="Close (Esc)" onClick={close}>
          <Icon name="cross" />
        </button>
      </header>
      {count === 0 && <Overview onSelect={onSelect} />}
      {one && <One id={one.id} onSelect={onSelect} onLink={onLink} />}
    </section>
  );
}

function Title({ one, count, ends }: { one: CanvasNode | undefined; count: number; ends: number }) {
  const { sketch, status, problems } = useCanvas();
  if (!one) {
    const words = count === 0 ? "This claim" : ends === 1 && count === 1 ? "One end of a link" : `${count} selected`;
    return <h3>{words}</h3>;
  }
  const name = nameOf(one.id);
  const kind = isRequestId(one.id) ? "request" : "link";
  const link = kind === "link" ? linkNamed(sketch, name) : undefined;
  const cause = problems.find((problem) => problem.kind === kind && problem.name === name)?.text;
  const told = kind === "request" ? status.requests?.[name] : undefined;
  return (
    <>
      {link ? <Strength must={mustOf(link)} /> : <Letter name={name} />}
      <h3>{link ? `Link: ${linkTitle(link)}` : `Request ${name}`}</h3>
      {(told || cause) && (
        <div className="dra-subtitle">
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

function One({ id, onSelect, onLink }: { id: string; onSelect(id: string): void; onLink(request: string): void }) {
  const { sketch, edit, positions } = useCanvas();
  const name = nameOf(id);
  const request = isRequestId(id) ? requestNamed(sketch, name) : undefined;
  const link = isRequestId(id) ? undefined : linkNamed(sketch, name);
  const renamed = (to: string) => {
    const { [name]: place, ...others } = positions;
    edit((s) => rename(s, name, to), place ? { ...others, [to]: place } : undefined);
    onSelect(requestId(to));
  };
  if (request) return <RequestForm key={id} request={request} onRenamed={renamed} onLink={() => onLink(name)} />;
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

function Overview({ onSelect }: { onSelect(id: string): void }) {
  const { sketch, status, edit } = useCanvas();
  const [requests, links] = [requestsOf(sketch), linksOf(sketch)];
  return (
    <div className="dra-form">
      <TextField
        label="Name"
        value={sketch.name ?? "claim"}
        api="metadata.name"
        check={(name) => wrongName(() => false, "", name)}
        onDone={(name) => edit((s) => ({ ...s, name }))}
      />
      <Group label="Draws" name="Requests and links">
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
            <Strength must={mustOf(link)} /> {linkTitle(link)}: {linkWords(link, status).how}
          </button>
        ))}
        {requests.length === 0 && <span className="dra-hint">Nothing drawn yet.</span>}
      </Group>
    </div>
  );
}
