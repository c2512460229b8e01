// The controls of the search for one pod: the stepper, the next device, and predicting first.
import { useChannel, useTrait } from "../hardware/model";
import { Stepper } from "./stepper";

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
  return (
    <Stepper
      step={step}
      total={total}
      isPlaying={isPlaying}
      locked={isPredicting ? "Predict the next device first" : ""}
      onGo={onGo}
      onPlay={onPlay}
      more={
        <button
          type="button"
          className="dra-button"
          title="Go to the next device that is allocated or given back"
          disabled={step >= total}
          onClick={() => channel.send({ type: "next-allocation" })}
        >
          {isPredicting ? "Show without predicting" : "Next device"}
        </button>
      }
      end={
        <button
          type="button"
          className={`dra-button${isPredicting ? " is-on" : ""}`}
          aria-pressed={isPredicting}
          title="Predict each device before it is shown (P)"
          onClick={onPredict}
        >
          Predict first
        </button>
      }
    />
  );
}
