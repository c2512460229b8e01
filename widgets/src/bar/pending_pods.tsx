// The pods of the cluster that are pending for devices, each with its reason; a press draws the claims of one.
import { useState } from "react";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import { useChannel, useTrait } from "./model";

const FEW = 3;

export function PendingPods() {
  const channel = useChannel();
  const [pods, mode, read] = [useTrait("pending"), useTrait("mode"), useTrait("read_at")];
  const [isWhole, setWhole] = useState(false);
  if (pods.length === 0 || mode !== "plan") return null;
  const shown = isWhole ? pods : pods.slice(0, FEW);
  return (
    <Callout tone="warn" className="dra-line dra-pending" role="region" aria-label="Pending pods">
      <div className="dra-pending-head">
        <b>
          {pods.length} {pods.length === 1 ? "pod is" : "pods are"} pending for devices
        </b>
        {read && <span className="dra-dim">Snapshot of {read}.</span>}
      </div>
      <ul className="dra-pending-pods">
        {shown.map(({ pod, reason }) => (
          <li key={pod}>
            <b>{pod}</b>
            <span className="dra-clamp" title={reason}>
              {reason}
            </span>
            <Button
              kind="link"
              label={`Draw the claims of ${pod}`}
              onClick={() => channel.send({ type: "open-pod", pod })}
            >
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
