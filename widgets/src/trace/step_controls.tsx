// The controls of the search: buttons and a slider that choose the present step, and predicting first.
import { Button } from "../components/button";
import { useChannel, useTrait } from "../hardware/model";
import { Icon } from "../view/icon";

interface Props {
  isPlaying: boolean;
  onGo(step: number): void;
  onPlay(): void;
  onPredict(): void;
}

export function StepControls({ isPlaying, onGo, onPlay, onPredict }: Props) {
  const channel = useChannel();
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
        onClick={() => channel.send({ type: "next-allocation" })}
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
