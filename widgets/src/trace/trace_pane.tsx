// Trace mode: kube-scheduler's search on a node, step by step, on the picture of its hardware.

import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button, classes, Icon } from "../components/button";
import { Card, Lines, PaneProblem } from "../components/content";
import { Choice } from "../components/inputs";
import { Figures } from "../components/popover";
import { FleetStrip } from "../hardware/fleet";
import { useChannel, useTrait } from "../hardware/model";
import { DeviceTree } from "../hardware/picture";
import { DEVICES, devicesOf } from "../hardware/tree";
import { StepList } from "./step_list";

// What is to be predicted, what became of the last prediction, and the score.
function PredictCard() {
  const { question = "", verdict = "", right = false, score = 0, asked = 0 } = useTrait("trace_prediction");
  return (
    <Card title="Predict first" className="dra-trace-predict">
      {verdict && (
        <p role="status" className="dra-toned" data-tone={right ? "ok" : "warn"} data-right={right}>
          {verdict}
        </p>
      )}
      <p>
        {question
          ? `${question} Click it on the picture, or move there with the arrows and press Enter.`
          : "kube-scheduler allocates no more devices here. Show the rest without predicting."}
      </p>
      <p className="dra-hint">
        Score: {score} of {asked}
      </p>
    </Card>
  );
}

/** Milliseconds for which a step is shown while the trace plays. */
const PACE = 800;

interface Asked {
  step: number;
  total: number;
  /** Whether no later step may be shown. */
  isLocked: boolean;
  /** What further keys do. */
  more: Readonly<Record<string, () => void>>;
  set(step: number): void;
}

function useSteps({ step, total, isLocked, more, set }: Asked) {
  const [wantsPlay, setPlay] = useState(false);
  const isPlaying = wantsPlay && step < total && !isLocked;
  const go = (to: number) => set(Math.max(0, Math.min(total, to)));
  const play = () => {
    if (isLocked || !total) return;
    if (!isPlaying && step >= total) go(0);
    setPlay(!isPlaying);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a step is shown for its time, whoever renders meanwhile
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setTimeout(() => set(step + 1), PACE);
    return () => clearTimeout(timer);
  }, [isPlaying, step]);
  const back = { ArrowLeft: () => go(step - 1), Home: () => go(0), ...more };
  const keys: Record<string, () => void> = isLocked
    ? back
    : { ...back, ArrowRight: () => go(step + 1), End: () => go(total), " ": play };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (event.key === " " && target.closest("button, input, summary")) return;
    if (target.closest('input[type="radio"]')) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return { isPlaying, go, play, onKeyDown };
}

// The controls of the search: buttons and a slider that choose the present step, and predicting first.
interface Props {
  isPlaying: boolean;
  onGo(step: number): void;
  onPlay(): void;
  onPredict(): void;
}

function StepControls({ isPlaying, onGo, onPlay, onPredict }: Props) {
  const [trace, step, isPredicting] = [useTrait("trace"), useTrait("trace_step"), useTrait("trace_predict")];
  const total = trace.total ?? 0;
  const [isFirst, isLast] = [step <= 0, step >= total];
  const locked = isPredicting ? "Predict the next device first" : "";
  return (
    <div className="dra-row dra-trace-controls">
      <Button
        icon="first"
        label="First step"
        title="Before the first step (Home)"
        disabled={isFirst}
        onClick={() => onGo(0)}
      />
      <Button icon="back" title="The step before (Left arrow)" disabled={isFirst} onClick={() => onGo(step - 1)}>
        Back
      </Button>
      <Button
        kind="primary"
        title={locked || "The next step (Right arrow)"}
        disabled={isLast || locked !== ""}
        onClick={() => onGo(step + 1)}
      >
        Next
        <Icon name="next" />
      </Button>
      <Button
        title="Go to the next device that is allocated or given back"
        disabled={isLast}
        send={{ type: "next-allocation" }}
      >
        {isPredicting ? "Show without predicting" : "Next device"}
      </Button>
      <input
        type="range"
        className="dra-trace-slider"
        aria-label="Step"
        aria-valuetext={`step ${step} of ${total}`}
        min={0}
        max={total}
        step={1}
        value={step}
        onChange={(event) => {
          const to = Number(event.currentTarget.value);
          if (!locked || to < step) onGo(to);
        }}
      />
      <span className="dra-number dra-dim">
        {step.toLocaleString("en")} of {total.toLocaleString("en")}
      </span>
      <Button
        icon={isPlaying ? "pause" : "play"}
        title={locked || (isPlaying ? "Stop (Space)" : "Play the steps (Space)")}
        disabled={locked !== "" || total === 0}
        onClick={onPlay}
      >
        {isPlaying ? "Pause" : "Play"}
      </Button>
      <Button pressed={isPredicting} title="Predict each device before it is shown (P)" onClick={onPredict}>
        Predict first
      </Button>
    </div>
  );
}

// The picture of the node with the devices that the search holds; the device of the present step is marked.
const MEANING: Readonly<Record<string, string>> = {
  rejected: "rejected in this step",
  allocated: "allocated in this step",
  "given-back": "given back in this step",
};

function TracePicture({ onProblem }: { onProblem(words: string): void }) {
  const channel = useChannel();
  const [svg, now, isPredicting] = [useTrait("trace_svg"), useTrait("trace_now"), useTrait("trace_predict")];
  const { picked } = useTrait("trace_prediction");
  const root = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another picture is marked as well
  useLayoutEffect(() => {
    for (const item of root.current?.querySelectorAll(DEVICES) ?? []) {
      const isNow = Boolean(now.device) && devicesOf(item).includes(now.device ?? "");
      item.classList.toggle("dra-trace-now", isNow);
      if (isNow) item.setAttribute("data-step", now.kind ?? "");
      else item.removeAttribute("data-step");
      item.classList.toggle("dra-trace-picked", isPredicting && devicesOf(item).includes(picked ?? ""));
    }
    // only once the picture has its size
    const frame = requestAnimationFrame(() =>
      root.current?.querySelector(".dra-trace-now")?.scrollIntoView?.({ block: "nearest", inline: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [svg, now.device, now.kind, isPredicting, picked]);

  const predict = (item: Element) => {
    const [device] = devicesOf(item);
    if (device) channel.send({ type: "predict", device });
    return true;
  };
  const meaning = MEANING[now.kind ?? ""];
  return (
    <div className="dra-trace-hardware dra-column">
      <DeviceTree
        root={root}
        svg={svg}
        className={classes("dra-picture", isPredicting && "is-choosing")}
        onProblem={onProblem}
        onDevice={isPredicting ? predict : undefined}
      />
      <p className="dra-hint dra-row dra-trace-legend" aria-hidden="true">
        {meaning && (
          <>
            <span className="dra-swatch dra-trace-swatch" data-step={now.kind} /> {meaning}
          </>
        )}
      </p>
    </div>
  );
}

export function TracePane() {
  const channel = useChannel();
  const [trace, now, step] = [useTrait("trace"), useTrait("trace_now"), useTrait("trace_step")];
  const { unseen = [], held = [] } = now;
  const [isPredicting, hasLinks] = [useTrait("trace_predict"), useTrait("trace_links")];
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
  if (trace.error)
    return (
      <section className="dra-mode-pane dra-trace dra-column dra-fill" aria-label="Trace">
        <p className="dra-empty-state">{trace.error}</p>
      </section>
    );
  return (
    <section className="dra-mode-pane dra-trace dra-column dra-fill" aria-label="Trace" onKeyDown={steps.onKeyDown}>
      <header className="dra-head dra-trace-head">
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
            <Button send={{ type: "stop-trace" }}>Stop</Button>
          </p>
        )}
        <StepControls isPlaying={steps.isPlaying} onGo={steps.go} onPlay={steps.play} onPredict={predict} />
      </header>
      <PaneProblem own={own} onHide={() => setOwn("")} />
      <div className="dra-split">
        <div className="dra-column">
          {isPredicting && <PredictCard />}
          <StepList />
          {unseen.length > 0 && <Told title="What the planner knows and kube-scheduler does not" lines={unseen} />}
        </div>
        <div className="dra-column">
          <div className="dra-row">
            <FleetStrip />
            <Choice
              label="Claim of the search"
              options={LINKS}
              value={hasLinks ? "Manifest" : "No links"}
              onChoose={(value) => channel.set({ trace_links: value === "Manifest" })}
            />
          </div>
          <TracePicture onProblem={setOwn} />
          <div className="dra-grid">
            <Told title="So far" lines={held} />
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
    <Figures
      rows={counters.map((row, at) => ({ ...row, value: `${(values[at] ?? 0).toLocaleString("en")}${more}` }))}
    />
  );
}

/** Whether the search is that of the manifest, or of counts and selectors only. */
const LINKS = [
  { value: "Manifest", label: "Manifest", title: "The search with the exported manifest" },
  { value: "No links", label: "No links", title: "The search with counts and selectors only" },
];

const Told = ({ title, lines }: { title: string; lines: readonly string[] }) => (
  <Card title={title} className="dra-trace-card">
    <Lines lines={lines} />
  </Card>
);
