// Trace mode: kube-scheduler's search on a node, step by step, on the picture of its hardware.

import { useState } from "react";
import { Button } from "../components/button";
import { Card } from "../components/card";
import { Choice } from "../components/choice";
import { Lines } from "../components/lines";
import { FleetStrip } from "../hardware/fleet";
import { useChannel, useTrait } from "../hardware/model";
import { Figure } from "../view/figure";
import { PaneProblem } from "../view/pane_problem";
import { PredictCard } from "./predict_card";
import { StepControls } from "./step_controls";
import { StepList } from "./step_list";
import { TracePicture } from "./trace_picture";
import { useSteps } from "./use_steps";

export function TracePane() {
  const channel = useChannel();
  const [trace, now, step] = [useTrait("trace"), useTrait("trace_now"), useTrait("trace_step")];
  const [isPredicting, problem] = [useTrait("trace_predict"), useTrait("problem")];
  const [own, setOwn] = useState("");
  const total = trace.total ?? 0;
  const predict = () => channel.set({ trace_predict: !isPredicting });
  const steps = useSteps({
    step,
    total,
    isLocked: isPredicting,
    more: { p: predict, P: predict },
    set: (to) => channel.set({ trace_step: to }),
  });
  if (trace.error) return <Nothing words={trace.error} />;
  return (
    <section className="dra-mode-pane dra-trace dra-column" aria-label="Trace" onKeyDown={steps.onKeyDown}>
      <header className="dra-trace-head">
        <div className="dra-trace-verdict">
          <p className="dra-hint">{trace.title}</p>
          <div role="status">
            <h2>
              {step > 0 && `Step ${step.toLocaleString("en")} of ${total.toLocaleString("en")}. `}
              {now.sentence}
            </h2>
          </div>
        </div>
        <Tiles />
        {trace.working && (
          <p className="dra-row dra-trace-working" role="status">
            <span>kube-scheduler's search is running: {trace.working}.</span>
            <Button onClick={() => channel.send({ type: "stop-trace" })}>Stop</Button>
          </p>
        )}
        <StepControls isPlaying={steps.isPlaying} onGo={steps.go} onPlay={steps.play} onPredict={predict} />
      </header>
      <PaneProblem
        text={problem || own}
        onHide={() => {
          channel.send({ type: "dismiss-problem" });
          setOwn("");
        }}
      />
      <div className="dra-trace-body">
        <div className="dra-trace-left dra-column">
          {isPredicting && <PredictCard />}
          <StepList />
          <Unseen />
        </div>
        <div className="dra-trace-right dra-column">
          <div className="dra-row dra-trace-choice">
            <FleetStrip />
            <Links />
          </div>
          <TracePicture onProblem={setOwn} />
          <div className="dra-grid dra-trace-cards">
            <Told title="So far" lines={now.held ?? []} />
            {(!isPredicting || step === total) && (
              <Told title="At the end" lines={[trace.end ?? "", trace.goals ? `${trace.goals}.` : ""]} />
            )}
          </div>
        </div>
      </div>
    </section>
  );
}

function Tiles() {
  const [now, { recorded = 0, counters = [] }] = [useTrait("trace_now"), useTrait("trace")];
  const more = recorded > 0 && (now.step ?? 0) > recorded ? "+" : "";
  const values = [now.tried, now.rejected, now.givenBack];
  return (
    <div className="dra-tiles">
      {counters.map((row, at) => (
        <Figure key={row.caption} row={{ ...row, value: `${(values[at] ?? 0).toLocaleString("en")}${more}` }} />
      ))}
    </div>
  );
}

/** Whether the search is that of the manifest, or of counts and selectors only. */
function Links() {
  const channel = useChannel();
  const now = useTrait("trace_links");
  return (
    <Choice
      label="Claim of the search"
      options={LINKS}
      value={now ? "Manifest" : "No links"}
      onChoose={(value) => channel.set({ trace_links: value === "Manifest" })}
    />
  );
}

const LINKS = [
  { value: "Manifest", label: "Manifest", title: "The search with the exported manifest" },
  { value: "No links", label: "No links", title: "The search with counts and selectors only" },
];

function Unseen() {
  const { unseen = [] } = useTrait("trace_now");
  return unseen.length > 0 && <Told title="What the planner knows and kube-scheduler does not" lines={unseen} />;
}

const Told = ({ title, lines }: { title: string; lines: readonly string[] }) => (
  <Card title={title} className="dra-trace-card">
    <Lines lines={lines} />
  </Card>
);

function Nothing({ words }: { words: string }) {
  return (
    <section className="dra-mode-pane dra-trace dra-column" aria-label="Trace">
      <div className="dra-empty-state">
        <p>{words}</p>
      </div>
    </section>
  );
}
