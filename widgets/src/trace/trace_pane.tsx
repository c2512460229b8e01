// Trace mode: kube-scheduler's search on a node, step by step, on the picture of its hardware.
import { useId, useState } from "react";
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
    <section className="dra-mode-pane dra-trace" aria-label="Trace" onKeyDown={steps.onKeyDown}>
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
          <p className="dra-trace-working" role="status">
            <span>kube-scheduler's search is running: {trace.working}.</span>
            <button type="button" className="dra-button" onClick={() => channel.send({ type: "stop-trace" })}>
              Stop
            </button>
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
        <div className="dra-trace-left">
          {isPredicting && <PredictCard />}
          <StepList />
          <Unseen />
        </div>
        <div className="dra-trace-right">
          <div className="dra-trace-choice">
            <FleetStrip />
            <Links />
          </div>
          <TracePicture onProblem={setOwn} />
          <div className="dra-trace-cards">
            <Card title="So far" lines={now.held ?? []} />
            {(!isPredicting || step === total) && (
              <Card title="At the end" lines={[trace.end ?? "", trace.goals ? `${trace.goals}.` : ""]} />
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
    <div className="dra-trace-tiles">
      {counters.map((row, at) => (
        <Figure key={row.caption} row={{ ...row, value: `${(values[at] ?? 0).toLocaleString("en")}${more}` }} />
      ))}
    </div>
  );
}

/** Whether the search is that of the manifest, or of counts and selectors only. */
function Links() {
  const channel = useChannel();
  const [now, name] = [useTrait("trace_links"), useId()];
  const choices: readonly (readonly [boolean, string, string])[] = [
    [true, "Manifest", "The search with the exported manifest"],
    [false, "No links", "The search with counts and selectors only"],
  ];
  return (
    <fieldset className="dra-toggle">
      <legend className="dra-sr">Claim of the search</legend>
      {choices.map(([value, label, title]) => (
        <label key={label} title={title}>
          <input
            type="radio"
            name={name}
            value={label}
            checked={value === now}
            onChange={() => channel.set({ trace_links: value })}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Unseen() {
  const { unseen = [] } = useTrait("trace_now");
  return unseen.length > 0 && <Card title="What the planner knows and kube-scheduler does not" lines={unseen} />;
}

function Card({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <section className="dra-trace-card">
      <h3>{title}</h3>
      {lines.filter(Boolean).map((line) => (
        <p key={line}>{line}</p>
      ))}
    </section>
  );
}

function Nothing({ words }: { words: string }) {
  return (
    <section className="dra-mode-pane dra-trace" aria-label="Trace">
      <div className="dra-empty-state">
        <p>{words}</p>
      </div>
    </section>
  );
}
