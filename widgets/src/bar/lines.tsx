// The lines under the bar: the example, a question, a problem. Each is there only when it says something.

import { useRef, useState } from "react";
import { Button } from "../components/button";
import { Callout, Question } from "../components/content";
import { useHeightOf } from "../view/grid";
import { useChannel, useTrait } from "./model";
import { MessageText } from "./source_picker";

// The pods of the cluster that are pending for devices, each with its reason; a press draws the claims of one.
const FEW = 3;

function PendingPods() {
  const [pods, mode, read] = [useTrait("pending"), useTrait("mode"), useTrait("read_at")];
  const [isWhole, setWhole] = useState(false);
  if (pods.length === 0 || mode !== "plan") return null;
  const shown = isWhole ? pods : pods.slice(0, FEW);
  return (
    <Callout tone="warn" className="dra-line dra-pending" role="region" aria-label="Pending pods">
      <div className="dra-stack">
        <b>
          {pods.length} {pods.length === 1 ? "pod is" : "pods are"} pending for devices
        </b>
        {read && <span className="dra-dim">Snapshot of {read}.</span>}
      </div>
      <ul className="dra-stack dra-fill">
        {shown.map(({ pod, reason }) => (
          <li key={pod}>
            <b>{pod}</b>
            <span className="dra-clamp" title={reason}>
              {reason}
            </span>
            <Button kind="link" label={`Draw the claims of ${pod}`} send={{ type: "open-pod", pod }}>
              Open
            </Button>
          </li>
        ))}
        {pods.length > FEW && (
          <li>
            <Button kind="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
              {isWhole ? "Show fewer" : `Show ${pods.length - FEW} more`}
            </Button>
          </li>
        )}
      </ul>
    </Callout>
  );
}

/** `onLoad` opens the choice of a cluster, where a reading that goes on and its failure are told. */
export function Lines({ onLoad }: { onLoad(): void }) {
  const channel = useChannel();
  const problem = useTrait("problem");
  // What comes and goes is under the answer strip, which never moves.
  const over = useRef<HTMLDivElement>(null);
  // In the planner a row under the answer strip is as high as that: it covers no pane, and the strip stays.
  useHeightOf(over, "--dra-note");
  return (
    <div className="dra-lines" data-home='[data-key="source"]'>
      <div ref={over} className="dra-lines-over">
        <div role="status">
          {problem && (
            <Callout
              tone="error"
              className="dra-line dra-problem"
              onHide={() => channel.send({ type: "dismiss-problem" })}
            >
              <MessageText text={problem} />
            </Callout>
          )}
        </div>
        <Question className="dra-line dra-ask" />
        <WhatIf />
        <PendingPods />
      </div>
      <Example onLoad={onLoad} />
    </div>
  );
}

/** What-if changes hold in every mode: what they are, and the ways to undo the last one and to see all. */
function WhatIf() {
  const [changes, leaving, mode] = [useTrait("what_if"), useTrait("leaving"), useTrait("mode")];
  if (changes.length === 0 || mode === "learn") return null;
  return (
    <Callout tone="warn" className="dra-line dra-what-if" role="status">
      <b>What if:</b>
      <span>
        {changes.join(", ")}. {leaving}
      </span>
      <Button send={{ type: "undo-what-if" }}>Undo</Button>
      {mode !== "fleet" && <Button send={{ type: "mode", mode: "fleet" }}>Show in Fleet</Button>}
      <span className="dra-gap" aria-hidden="true" />
      <span className="dra-dim">The cluster is not changed.</span>
    </Callout>
  );
}

function Example({ onLoad }: { onLoad(): void }) {
  if (!useTrait("example")) return null;
  return (
    <div className="dra-row dra-line dra-example">
      <b>This is an example.</b>
      <Button kind="link" onClick={onLoad}>
        Load your cluster
      </Button>
      <span aria-hidden="true">·</span>
      <Button kind="link" send={{ type: "start-empty" }}>
        Start empty
      </Button>
      <span className="dra-gap" aria-hidden="true" />
      <Button
        kind="quiet"
        icon="cross"
        label="Keep the example and hide this line"
        title="Keep it"
        send={{ type: "dismiss-example" }}
      />
    </div>
  );
}
