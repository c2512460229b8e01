// What became of the latest prediction or drawing: a sentence, and the needs of the task.
import { Callout } from "../components/callout";
import { useTrait } from "./model";
import { Line } from "./text";

export function Judged() {
  const { message = "", passed = false, stale = false, rows = [] } = useTrait("judged");
  return (
    <div className="dra-card dra-lesson-judged" role="status" data-passed={message ? passed : undefined}>
      {message && (
        <Callout tone={passed ? "ok" : "plain"}>
          <span>
            <Line text={message} />
          </span>
        </Callout>
      )}
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
