// LessonView: the words of a lesson around its picture and canvas; Python places those beside it.
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import "../lesson_view.css";
import { useEffect, useRef, useState } from "react";
import type { Context } from "../view/late";
import { PaneProblem } from "../view/pane_problem";
import { mount } from "../view/widget";
import { Explain } from "./explain";
import { Foot } from "./foot";
import { Head } from "./head";
import { Hints } from "./hints";
import { Judged } from "./judged";
import { LessonList } from "./lesson_list";
import { useChannel, useTrait } from "./model";
import { Rail } from "./rail";
import { StartOver } from "./start_over";
import { Line, Paragraphs } from "./text";

function LessonView() {
  const hasList = useTrait("lessons").length > 0;
  return hasList ? <LessonList /> : <Lesson />;
}

function Lesson() {
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
  const [{ kind, title, text, ask }, problem, busy] = [useTrait("task"), useTrait("problem"), useTrait("busy")];
  const { yours = "" } = useTrait("explained");
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
      <Question />
      <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
      <div ref={body} className="dra-lesson-body dra-column" role="region" aria-label={title} tabIndex={0}>
        <h3>{title}</h3>
        {text && <Paragraphs text={text} />}
        {ask && (
          <p className="dra-lesson-asked">
            <Line text={ask} />
          </p>
        )}
        {kind === "predict" && <Picked />}
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

/** The drawing's file was changed elsewhere. */
function Question() {
  const channel = useChannel();
  const { text, options = [] } = useTrait("ask");
  if (!text) return null;
  return (
    <Callout tone="warn" className="dra-lesson-question" role="alert">
      <span>{text}</span>
      {options.map(([id, label]) => (
        <Button key={id} onClick={() => channel.send({ type: "answer", id })}>
          {label}
        </Button>
      ))}
    </Callout>
  );
}

function Picked() {
  const picked = useTrait("picked");
  return (
    <p className="dra-dim" role="status">
      {picked.length ? `You chose: ${picked.join(", ")}.` : "You have not chosen a device yet."}
    </p>
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
    <div className="dra-row dra-lesson-buttons">
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
        <Button
          kind="primary"
          className="dra-lesson-primary"
          data-key="primary"
          aria-disabled={isWaiting}
          title={waits}
          onClick={act}
        >
          {primary}
        </Button>
      )}
    </div>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-lesson-view", LessonView);
