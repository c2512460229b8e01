// All lessons of the course with what was reached of each.
import { Button } from "../components/button";
import { Icon } from "../view/icon";
import { onArrows } from "../view/keys";
import { useChannel, useTrait } from "./model";

const STATES = { new: "New", started: "Started", done: "Done" } as const;
const onListArrows = onArrows("button");

export function LessonList() {
  const channel = useChannel();
  const [lessons, { title, progress }] = [useTrait("lessons"), useTrait("head")];
  return (
    <section className="dra-lessons" aria-label="Lessons">
      <header>
        <h2>{title}</h2>
        <p>{progress}</p>
      </header>
      <ol onKeyDown={onListArrows}>
        {lessons.map(({ id, number, title, minutes = 0, state = "new", words }) => (
          <li key={id}>
            <Button
              kind="bare"
              className="dra-option"
              data-state={state}
              data-key={id}
              onClick={() => channel.send({ type: "open-lesson", id })}
            >
              <span className="dra-lesson-dot">{state === "done" ? <Icon name="check" /> : number}</span>
              <span className="dra-lesson-name">{title}</span>
              <span className="dra-lesson-state">
                {STATES[state]}
                {words && ` · ${words}`}
              </span>
              <span className="dra-lesson-minutes">{minutes} min</span>
            </Button>
          </li>
        ))}
      </ol>
    </section>
  );
}
