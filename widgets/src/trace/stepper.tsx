// The buttons and the slider that choose the present step of a trace.
import type { ReactNode } from "react";
import { Icon } from "../view/icon";

interface Props {
  step: number;
  total: number;
  isPlaying: boolean;
  /** Why later steps cannot be shown; "" if they can. */
  locked?: string;
  more?: ReactNode;
  end?: ReactNode;
  onGo(step: number): void;
  onPlay(): void;
}

export function Stepper({ step, total, isPlaying, locked = "", more, end, onGo, onPlay }: Props) {
  const [isFirst, isLast] = [step <= 0, step >= total];
  return (
    <div className="dra-trace-controls">
      <button
        type="button"
        className="dra-button"
        aria-label="First step"
        title="Before the first step (Home)"
        disabled={isFirst}
        onClick={() => onGo(0)}
      >
        <Icon name="first" />
      </button>
      <button
        type="button"
        className="dra-button"
        title="The step before (Left arrow)"
        disabled={isFirst}
        onClick={() => onGo(step - 1)}
      >
        <Icon name="back" />
        Back
      </button>
      <button
        type="button"
        className="dra-button dra-primary"
        title={locked || "The next step (Right arrow)"}
        disabled={isLast || locked !== ""}
        onClick={() => onGo(step + 1)}
      >
        Next
        <Icon name="next" />
      </button>
      {more}
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
      <span className="dra-trace-count">
        {step.toLocaleString("en")} of {total.toLocaleString("en")}
      </span>
      <button
        type="button"
        className="dra-button"
        title={locked || (isPlaying ? "Stop (Space)" : "Play the steps (Space)")}
        disabled={locked !== "" || total === 0}
        onClick={onPlay}
      >
        <Icon name={isPlaying ? "pause" : "play"} />
        {isPlaying ? "Pause" : "Play"}
      </button>
      {end}
    </div>
  );
}
