// Trace mode: kube-scheduler's search on a node, step by step, on the picture of its hardware.
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { FleetStrip } from "../hardware/fleet";
import { useChannel, useTrait } from "../hardware/model";
import { Figure } from "../view/figure";
import { PaneProblem } from "../view/pane_problem";
import { PredictCard } from "./predict_card";
import { StepControls } from "./step_controls";
import { StepList } from "./step_list";
import { TracePicture } from "./trace_picture";

/** Milliseconds for which a step is shown while the search plays. */
const PACE = 800;

export function TracePane() {
  const channel = useChannel();
  const [trace, now, step] = [useTrait("trace"), useTrait("trace_now"), useTrait("trace_step")];
  const [isPredicting, problem] = [useTrait("trace_predict"), useTrait("problem")];
  const [wantsPlay, setPlay] = useState(false);
  const [own, setOwn] = useState("");
  const total = trace.total ?? 0;
  const isPlaying = wantsPlay && step < total && !isPredicting;
  const go = (to: number) => channel.set({ trace_step: Math.max(0, Math.min(total, to)) });
  const play = () => {
    if (isPredicting || !total) return;
    if (!isPlaying && step >= total) go(0);
    setPlay(!isPlaying);
  };
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setTimeout(() => channel.set({ trace_step: step + 1 }), PACE);
    return () => clearTimeout(timer);
  }, [isPlaying, step, channel]);
  const predict = () => channel.set({ trace_predict: !isPredicting });
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (event.key === " " && target.closest("button, input, summary")) return;
    if (target.closest('input[type="radio"]')) return;
    const act = keys({ step, total, isPredicting, go, play, predict })[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  if (trace.error) return <Nothing words={trace.error} />;
  return (
    <section className="dra-mode-pane dra-trace" aria-label="Trace" onKeyDown={onKeyDown}>
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
        <StepControls isPlaying={isPlaying} onGo={go} onPlay={play} onPredict={predict} />
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
            <span className="dra-gap" />
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

interface Steps {
  step: number;
  total: number;
  isPredicting: boolean;
  go(to: number): void;
  play(): void;
  predict(): void;
}

/** What the keys do; while a person predicts, no key shows a later step. */
function keys({ step, total, isPredicting, go, play, predict }: Steps): Record<string, () => void> {
  const back = { ArrowLeft: () => go(step - 1), Home: () => go(0), p: predict, P: predict };
  if (isPredicting) return back;
  return { ...back, ArrowRight: () => go(step + 1), End: () => go(total), " ": play };
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
