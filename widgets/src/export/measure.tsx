// Measure it: two Jobs to export, and the two numbers that replace the published range.
import { useState } from "react";
import type { MeasureRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { onEnter } from "../view/keys";

export function Measure({ measure }: { measure: MeasureRow }) {
  const channel = useChannel();
  const [near, setNear] = useState("");
  const [far, setFar] = useState("");
  const isReady = Number(near) > 0 && Number(far) > 0;
  const use = () => {
    if (isReady) channel.send({ type: "use-measured", near: Number(near), far: Number(far) });
  };
  return (
    <section className="dra-sheet-card dra-measure" aria-label="Measure it">
      <h3>Measure it</h3>
      <p>Without the link, kube-scheduler keeps {measure.words} of the bandwidth between GPUs and NICs.</p>
      <p className="dra-dim">
        {measure.yours ? "This is your number." : "This is a published range."} Run the same Job with the link and
        without it, and give both bandwidths.
      </p>
      <div className="dra-row">
        <Bandwidth label="With the link" value={near} onSet={setNear} onDone={use} />
        <Bandwidth label="Without it" value={far} onSet={setFar} onDone={use} />
        <button type="button" className="dra-button" disabled={!isReady} onClick={use}>
          Use my numbers
        </button>
      </div>
      <button type="button" className="dra-button" onClick={() => channel.send({ type: "write-measure" })}>
        Export two Jobs to {measure.folder}
      </button>
    </section>
  );
}

interface NumberProps {
  label: string;
  value: string;
  onSet(value: string): void;
  onDone(): void;
}

function Bandwidth({ label, value, onSet, onDone }: NumberProps) {
  return (
    <label>
      <span className="dra-hint">{label}</span>
      <input
        className="dra-field"
        type="number"
        min="0"
        step="any"
        value={value}
        placeholder="Gb/s"
        onChange={(event) => onSet(event.currentTarget.value)}
        onKeyDown={onEnter(onDone)}
      />
    </label>
  );
}
