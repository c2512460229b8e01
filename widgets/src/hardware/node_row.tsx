// Whose picture it is, whether the plan is held to that node, and what else can be had.

import type { ReactNode } from "react";
import { Button } from "../components/button";
import { useChannel, useTrait } from "./model";

/** `toggle` chooses what is drawn. */
export function NodeRow({ toggle, children }: { toggle: ReactNode; children: ReactNode }) {
  const channel = useChannel();
  const [name, caption, best] = [useTrait("node"), useTrait("caption"), useTrait("fleet").best ?? ""];
  return (
    <div className="dra-row dra-node-row">
      <span className="dra-node-title">
        <b className="dra-node-name">{name}</b>
        {caption && <span className="dra-hint dra-equal">{caption}</span>}
      </span>
      {best && best !== name && (
        <Button kind="link" data-key="back" onClick={() => channel.send({ type: "node", name: best })}>
          Show the best
        </Button>
      )}
      {toggle}
      <span className="dra-row">
        <Pin node={name} />
        {children}
      </span>
    </div>
  );
}

/** Plan on this node only, or let the plan choose again. */
function Pin({ node }: { node: string }) {
  const channel = useChannel();
  const pinned = useTrait("pinned");
  const title = pinned ? `The plan uses only ${pinned}; press to let it choose the best node` : `Plan on ${node} only`;
  return (
    <Button
      icon="pin"
      data-key="pin"
      title={title}
      label={pinned ? undefined : "Plan here"}
      onClick={() => channel.send({ type: "pin", name: pinned ? "" : node })}
      className={pinned ? "is-on" : undefined}
    >
      {pinned ? "Best node again" : <span className="dra-word">Plan here</span>}
    </Button>
  );
}
