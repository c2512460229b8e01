// Measure it: two Jobs to export, and the two numbers that replace the published range.

import { useState } from "react";
import { Button } from "../components/button";
import { Card } from "../components/card";
import { Form } from "../components/form";
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
    <Card title="Measure it">
      <p>Without the link, kube-scheduler keeps {measure.words} of the bandwidth between GPUs and NICs.</p>
      <p className="dra-dim">
        {measure.yours ? "This is your number." : "This is a published range."} Run the same Job with the link and
        without it, and give both bandwidths.
      </p>
      <div onKeyDown={onEnter(use)}>
        <Form
          fields={[
            { kind: "number", label: "With the link", value: near, placeholder: "Gb/s", onSet: setNear },
            { kind: "number", label: "Without it", value: far, placeholder: "Gb/s", onSet: setFar },
          ]}
        />
      </div>
      <div className="dra-row">
        <Button disabled={!isReady} onClick={use}>
          Use my numbers
        </Button>
        <Button onClick={() => channel.send({ type: "write-measure" })}>Export two Jobs to {measure.folder}</Button>
      </div>
    </Card>
  );
}
