// What became of the latest prediction or drawing: a sentence, and the needs of the task.
import { Icon } from "../view/icon";
import { useTrait } from "./model";
import { Line } from "./text";

export function Judged() {
  const { message = "", passed = false, stale = false, rows = [] } = useTrait("judged");
  return (
    <div className="dra-lesson-judged" role="status" data-passed={message ? passed : undefined}>
      {message && (
        <p className="dra-lesson-message">
          <Icon name={passed ? "check" : "note"} />
          <span>
            <Line text={message} />
          </span>
        </p>
      )}
      {rows.length > 0 && (
        <ul>
          {rows.map(({ text, kept = false }) => (
            <li key={text} data-kept={kept}>
              <b>{kept ? "Done" : "Not yet"}</b>
              <span>
                <Line text={text} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {stale && <p className="dra-lesson-stale">You changed the drawing after this check.</p>}
    </div>
  );
}
