// Three hints, each open once the one before it is shown.
import { Button } from "../components/button";
import { useChannel, useTrait } from "./model";
import { Paragraphs } from "./text";

export function Hints() {
  const channel = useChannel();
  const hints = useTrait("hints");
  if (!hints.length) return null;
  return (
    <section className="dra-lesson-hints" aria-label="Hints">
      <h4>Hints</h4>
      <ol className="dra-stack" aria-live="polite">
        {hints.map(({ grade, text, state = "locked", note }, at) => (
          <li key={grade} className="dra-card" data-state={state}>
            <div className="dra-row dra-lesson-hint-head">
              <b>
                {at + 1}. {grade}
              </b>
              {state === "open" && (
                <Button label={`Show hint ${at + 1}, ${grade}`} onClick={() => channel.send({ type: "show-hint" })}>
                  Show
                </Button>
              )}
              {note && <span>{note}</span>}
            </div>
            {text && <Paragraphs text={text} />}
          </li>
        ))}
      </ol>
    </section>
  );
}
