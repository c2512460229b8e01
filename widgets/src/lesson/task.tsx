// What a lesson asks, in words: its text, the student's own sentence, hints, what became of an answer.

import { useId } from "react";
import { Button } from "../components/button";
import { Callout, Card } from "../components/content";
import { Input } from "../components/inputs";
import { onEnter } from "../view/keys";
import { keyed } from "../view/text";
import { useTrait } from "./model";

// Text of a lesson: paragraphs with bold words between ** and names between backquotes, and nothing else.
const PARTS = /(\*\*[^*]+\*\*|`[^`]+`)/;

/** One line with bold words and names. */
export function Line({ text }: { text: string }) {
  return keyed(text.split(PARTS)).map(([key, part]) => {
    if (part.startsWith("**") && part.length > 4) return <b key={key}>{part.slice(2, -2)}</b>;
    if (part.startsWith("`") && part.length > 2) return <code key={key}>{part.slice(1, -1)}</code>;
    return part;
  });
}

/** Paragraphs, which a blank line separates. */
export function Paragraphs({ text }: { text: string }) {
  return keyed(text.split(/\n\s*\n/).filter((part) => part.trim())).map(([key, part]) => (
    <p key={key}>
      <Line text={part.trim()} />
    </p>
  ));
}

// The student's own sentence, and beside it the model sentence with the points to compare.
interface Props {
  sentence: string;
  onChange(sentence: string): void;
  onDone(): void;
}

export function Explain({ sentence, onChange, onDone }: Props) {
  const { yours = "", model, points = [] } = useTrait("explained");
  const id = useId();
  return (
    <>
      <div className="dra-stack">
        <label htmlFor={id}>Your sentence</label>
        <Input
          id={id}
          value={sentence}
          maxLength={400}
          onChange={(event) => onChange(event.currentTarget.value)}
          onKeyDown={onEnter(onDone)}
        />
      </div>
      <div role="status">
        {model && (
          <div className="dra-stack dra-lesson-compare">
            <Card title="You">
              <p>{yours}</p>
            </Card>
            <Card title="One good answer">
              <p>
                <Line text={model} />
              </p>
            </Card>
            {points.length > 0 && (
              <Card title="Compare: does your sentence say this?">
                <ul className="dra-points">
                  {points.map((point) => (
                    <li key={point}>
                      <Line text={point} />
                    </li>
                  ))}
                </ul>
              </Card>
            )}
          </div>
        )}
      </div>
    </>
  );
}

// Three hints, each open once the one before it is shown.
export function Hints() {
  const hints = useTrait("hints");
  if (!hints.length) return null;
  return (
    <section className="dra-lesson-hints" aria-label="Hints">
      <h4>Hints</h4>
      <ol className="dra-stack" aria-live="polite">
        {hints.map(({ grade, text, state = "locked", note }, at) => (
          <li key={grade} className="dra-card" data-state={state}>
            <div className="dra-row">
              <b>
                {at + 1}. {grade}
              </b>
              <span className="dra-gap" />
              {state === "open" && (
                <Button label={`Show hint ${at + 1}, ${grade}`} send={{ type: "show-hint" }}>
                  Show
                </Button>
              )}
              {note && <span className="dra-dim">{note}</span>}
            </div>
            {text && <Paragraphs text={text} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

// What became of the latest prediction or drawing: a sentence, and the needs of the task.
export function Judged() {
  const { message = "", passed = false, rows = [] } = useTrait("judged");
  const stale = useTrait("judged_stale");
  return (
    <div className="dra-card dra-lesson-judged" role="status" data-passed={message ? passed : undefined}>
      {message && <Callout tone={passed ? "ok" : "plain"} text={<Line text={message} />} />}
      {rows.length > 0 && (
        <ul>
          {rows.map(({ text, kept = false }) => (
            <li key={text} data-kept={kept}>
              <b className="dra-toned" data-tone={kept ? "ok" : "warn"}>
                {kept ? "Done" : "Not yet"}
              </b>
              <span>
                <Line text={text} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {stale && <p className="dra-dim">You changed the drawing after this check.</p>}
    </div>
  );
}
