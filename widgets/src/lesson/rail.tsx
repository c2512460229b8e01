// The steps of a lesson in a row; a person can go back to what was done.
import { Button } from "../components/button";
import { Icon } from "../view/icon";
import { onArrows } from "../view/keys";
import { useChannel, useTrait } from "./model";

const STATES = { done: "done", now: "this step", open: "open", later: "comes later" } as const;
const onRailArrows = onArrows("button:not(:disabled)");

export function Rail() {
  const channel = useChannel();
  const steps = useTrait("steps");
  return (
    <nav className="dra-lesson-rail" aria-label="Steps of the lesson" onKeyDown={onRailArrows}>
      <ol>
        {steps.map(({ label, state = "later" }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the steps of a lesson keep their places
          <li key={at} data-state={state}>
            <Button
              kind="bare"
              data-key={`step ${at}`}
              aria-current={state === "now" ? "step" : undefined}
              label={`Step ${at + 1}, ${label}: ${STATES[state]}`}
              disabled={state === "later"}
              onClick={() => channel.send({ type: "go-to-step", step: at })}
            >
              <span className="dra-lesson-dot">{state === "done" ? <Icon name="check" /> : at + 1}</span>
              <span>{label}</span>
            </Button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
