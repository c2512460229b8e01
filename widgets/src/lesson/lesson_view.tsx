// LessonView: the words of a lesson around its picture and canvas; Python places those beside it.
import "../lesson_view.css";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button, Icon } from "../components/button";
import { PaneProblem, Question } from "../components/content";
import { Figure, Popover, usePopover } from "../components/popover";
import { FullScreen, OpenInTab } from "../view/grid";
import { onArrows } from "../view/keys";
import type { Context } from "../view/late";
import { mount } from "../view/widget";
import { useChannel, useTrait } from "./model";
import { Explain, Hints, Judged, Line, Paragraphs } from "./task";

// The steps of a lesson in a row; a person can go back to what was done.
const STATES = { done: "done", now: "this step", open: "open", later: "comes later" } as const;
const onRailArrows = onArrows("button:not(:disabled)");

function Rail() {
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
              send={{ type: "go-to-step", step: at }}
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

// Begin the lesson again; the button asks first.
function StartOver() {
  const channel = useChannel();
  const over = usePopover({ first: "button" });
  const start = () => {
    over.close();
    channel.send({ type: "start-over" });
  };
  return (
    <>
      <Button {...over.button} data-key="start over">
        Start over
      </Button>
      <Popover over={over} title="Start this lesson again?">
        <p>The lesson begins at step 1 with an empty canvas. A copy of your drawing and your progress is kept.</p>
        <div className="dra-row">
          <Button onClick={over.close}>Keep going</Button>
          <Button onClick={start}>Start over</Button>
        </div>
      </Popover>
    </>
  );
}

// The head of a lesson: its place in the course, its title, and what was reached.
function Head() {
  const { number, title, minutes = 0, progress, tiles = [] } = useTrait("head");
  const canLeave = useTrait("can_leave");
  return (
    <header className="dra-head dra-lesson-head">
      <div>
        <p className="dra-dim">
          {number}
          {minutes > 0 && ` · about ${minutes} minutes`}
        </p>
        <h2>{title}</h2>
        <p className="dra-dim">{progress}</p>
      </div>
      {tiles.map((row) => (
        <Figure key={row.caption} row={row} />
      ))}
      <div className="dra-row">
        <FullScreen of=".dra-lesson-grid" />
        {canLeave ? (
          <Button icon="back" send={{ type: "show-lessons" }}>
            All lessons
          </Button>
        ) : (
          <OpenInTab />
        )}
      </div>
    </header>
  );
}

// Under the lesson: its words, the manifest once the drawing is checked, and that the drawing is the student's own.
function Foot() {
  const [terms, yaml, saved, kind] = [useTrait("terms"), useTrait("yaml"), useTrait("saved"), useTrait("task").kind];
  const [open, setOpen] = useState("");
  const panels: Record<string, ReactNode> = {};
  if (Object.keys(terms).length) {
    panels["Words in this lesson"] = (
      <dl className="dra-terms">
        {Object.entries(terms).map(([word, meaning]) => [
          <dt key={`${word} label`}>
            <b>{word}</b>
          </dt>,
          <dd key={word}>
            <Line text={meaning} />
          </dd>,
        ])}
      </dl>
    );
  }
  if (yaml) panels["YAML of your drawing"] = <pre>{yaml}</pre>;
  const shown = panels[open];
  const isDrawn = kind === "draw" || kind === "check";
  return (
    <footer className="dra-ruled dra-lesson-foot">
      {shown && (
        <div id="dra-lesson-panel" className="dra-lesson-panel" role="region" aria-label={open} tabIndex={0}>
          {shown}
        </div>
      )}
      <div className="dra-row dra-lesson-tabs">
        {Object.keys(panels).map((name) => (
          <Button
            kind="link"
            key={name}
            aria-expanded={open === name}
            onClick={() => setOpen(open === name ? "" : name)}
          >
            {name}
          </Button>
        ))}
        <span className="dra-gap" />
        {isDrawn && !yaml && <span>Fit and YAML appear when you check.</span>}
        {isDrawn && saved && <span>{saved}</span>}
      </div>
    </footer>
  );
}

// All lessons of the course with what was reached of each.
const REACHED = { new: "New", started: "Started", done: "Done" } as const;
const onListArrows = onArrows("button");

function LessonList() {
  const [lessons, { title, progress }] = [useTrait("lessons"), useTrait("head")];
  return (
    <section className="dra-lessons" aria-label="Lessons">
      <header>
        <h2>{title}</h2>
        <p className="dra-dim">{progress}</p>
      </header>
      <ol className="dra-stack" onKeyDown={onListArrows}>
        {lessons.map(({ id, number, title, minutes = 0, state = "new", words }) => (
          <li key={id}>
            <Button
              kind="bare"
              className="dra-option"
              data-state={state}
              data-key={id}
              send={{ type: "open-lesson", id }}
            >
              <span className="dra-lesson-dot">{state === "done" ? <Icon name="check" /> : number}</span>
              <b>{title}</b>
              <span className="dra-dim">
                {REACHED[state]}
                {words && ` · ${words}`}
              </span>
              <span className="dra-dim dra-number">{minutes} min</span>
            </Button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function LessonView() {
  const hasList = useTrait("lessons").length > 0;
  if (hasList) return <LessonList />;
  return (
    <>
      <Head />
      <Task />
      <Foot />
    </>
  );
}

function Task() {
  const channel = useChannel();
  const [{ kind, title, text, ask }, busy] = [useTrait("task"), useTrait("busy")];
  const [{ yours = "" }, picked] = [useTrait("explained"), useTrait("picked")];
  const [sentence, setSentence] = useState(yours);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => setSentence(yours), [yours]);
  const explain = () => {
    if (sentence.trim()) channel.send({ type: "explain", text: sentence.trim() });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step begins at its top
  useEffect(() => {
    if (body.current) body.current.scrollTop = 0;
  }, [title]);
  return (
    <section className="dra-lesson-task dra-column" aria-label="Task">
      <Rail />
      <Question className="dra-lesson-question" />
      <PaneProblem />
      <div ref={body} className="dra-lesson-body dra-column dra-pane" role="region" aria-label={title} tabIndex={0}>
        <h3>{title}</h3>
        {text && <Paragraphs text={text} />}
        {ask && (
          <b>
            <Line text={ask} />
          </b>
        )}
        {kind === "predict" && (
          <p className="dra-dim" role="status">
            {picked.length ? `You chose: ${picked.join(", ")}.` : "You have not chosen a device yet."}
          </p>
        )}
        <Judged />
        {kind === "explain" && <Explain sentence={sentence} onChange={setSentence} onDone={explain} />}
        <Hints />
      </div>
      <p className="dra-dim dra-lesson-busy" role="status">
        {busy}
      </p>
      <Buttons canExplain={sentence.trim() !== ""} onExplain={explain} />
    </section>
  );
}

function Buttons({ canExplain, onExplain }: { canExplain: boolean; onExplain(): void }) {
  const channel = useChannel();
  const [{ primary, action = "next", waits, back, next }, busy] = [useTrait("task"), useTrait("busy")];
  const steps = useTrait("steps");
  const now = steps.findIndex(({ state }) => state === "now");
  const go = (step: number) => channel.send({ type: "go-to-step", step });
  // It keeps the focus while it waits, so it is not disabled for the browser.
  const isWaiting = Boolean(waits || busy) || (action === "explain" && !canExplain);
  const act = () => {
    if (isWaiting) return;
    if (action === "predict") channel.send({ type: "predict-devices" });
    else if (action === "check") channel.send({ type: "check-drawing" });
    else if (action === "next") go(now + 1);
    else onExplain();
  };
  return (
    <div className="dra-row dra-ruled dra-lesson-buttons">
      {back && (
        <Button icon="back" data-key="back" onClick={() => go(now - 1)}>
          {back}
        </Button>
      )}
      <span className="dra-gap" />
      <StartOver />
      {next && (
        <Button data-key="next" onClick={() => go(now + 1)}>
          {next}
        </Button>
      )}
      {primary && (
        <Button kind="primary" data-key="primary" aria-disabled={isWaiting} title={waits} onClick={act}>
          {primary}
        </Button>
      )}
    </div>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-lesson-view", LessonView);
