// What Kueue or kube-scheduler does with a gang, step by step, beside the domains at the present step.
import { useId } from "react";
import { useChannel, useTrait } from "../hardware/model";
import { Figure } from "../view/figure";
import { PaneProblem } from "../view/pane_problem";
import { GangDomains } from "./gang_domains";
import { GangSteps } from "./gang_steps";
import { Stepper } from "./stepper";
import { Subject } from "./subject";
import { useSteps } from "./use_steps";

export function GangPane() {
  const channel = useChannel();
  const [head, now, step] = [useTrait("gang_trace"), useTrait("gang_trace_now"), useTrait("gang_trace_step")];
  const problem = useTrait("problem");
  const total = head.total ?? 0;
  const steps = useSteps({ step, total, set: (to) => channel.set({ gang_trace_step: to }) });
  return (
    <section className="dra-mode-pane dra-trace dra-gang-trace" aria-label="Trace" onKeyDown={steps.onKeyDown}>
      <header className="dra-trace-head">
        <div className="dra-trace-verdict">
          <p className="dra-hint">{head.title}</p>
          <div role="status">
            <h2>
              {step > 0 && `Step ${step} of ${total}. `}
              {now.sentence ?? head.error ?? ""}
            </h2>
          </div>
        </div>
        <div className="dra-trace-tiles">
          {(head.tiles ?? []).map((row) => (
            <Figure key={row.caption} row={row} />
          ))}
        </div>
        {head.working && (
          <p className="dra-trace-working" role="status">
            <span>Working: {head.working}.</span>
            <button type="button" className="dra-button" onClick={() => channel.send({ type: "stop-trace" })}>
              Stop
            </button>
          </p>
        )}
        <div className="dra-trace-choice dra-gang-choice">
          <Subject />
          <Schedulers />
        </div>
        <Stepper step={step} total={total} isPlaying={steps.isPlaying} onGo={steps.go} onPlay={steps.play} />
      </header>
      <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
      {head.error ? (
        <div className="dra-empty-state">
          <p>{head.error}</p>
        </div>
      ) : (
        <div className="dra-trace-body">
          <div className="dra-trace-left">
            <GangSteps />
          </div>
          <div className="dra-trace-right">
            <GangDomains />
            <div className="dra-trace-cards">
              <Card title="At the end" text={head.sentence} />
              <Card title="Beside the best plan" text={head.regret || "Not computed yet."} />
            </div>
            {now.source && (
              <p className="dra-hint dra-gang-source">
                The rule of this step: <code>{now.source}</code>
              </p>
            )}
          </div>
        </div>
      )}
    </section>
  );
}

function Schedulers() {
  const channel = useChannel();
  const [now, group] = [useTrait("gang_trace_scheduler"), useId()];
  const choices: readonly (readonly [typeof now, string, string])[] = [
    ["kueue", "Kueue", "Kueue 0.19 chooses nodes by CPUs, memory and pods"],
    ["kube-scheduler", "kube-scheduler", "The PodGroup loop of kube-scheduler tries each domain"],
  ];
  return (
    <fieldset className="dra-toggle">
      <legend className="dra-sr">Scheduler</legend>
      {choices.map(([value, label, title]) => (
        <label key={value} title={title}>
          <input
            type="radio"
            name={group}
            value={value}
            checked={value === now}
            onChange={() => channel.set({ gang_trace_scheduler: value })}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Card({ title, text = "" }: { title: string; text?: string }) {
  return (
    <section className="dra-trace-card">
      <h3>{title}</h3>
      <p>{text}</p>
    </section>
  );
}
