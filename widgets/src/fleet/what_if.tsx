// What-if changes as chips: each is a layer over the snapshot that can be removed again.
import { useState } from "react";
import { useChannel, useTrait } from "../plan/model";
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { FormButton, NodeField, Stepper, TextField } from "./form";

const RELEASES = ["1.34", "1.35", "1.36", "1.37"];

export function WhatIf() {
  const channel = useChannel();
  const layers = useTrait("fleet_layers");
  const [node, setNode] = useState("");
  const [count, setCount] = useState(2);
  const [device, setDevice] = useState("");
  const [how, setHow] = useState("without");
  const [release, setRelease] = useState("1.37");
  return (
    <section className="dra-fleet-part" aria-label="What if">
      <h3>What if</h3>
      {layers.length > 0 && (
        <ul className="dra-fleet-chips" aria-label="Changes">
          {keyed(layers, (layer) => layer.words).map(([key, layer], number) => (
            <li
              key={key}
              className={layer.problem ? "is-refused" : ""}
              title={layer.problem || layer.note || undefined}
            >
              {layer.problem && <Icon name="warning" />}
              <span>{layer.words}</span>
              <button
                type="button"
                className="dra-quiet"
                aria-label={`Remove the change: ${layer.words}`}
                onClick={() => channel.send({ type: "remove-layer", number })}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {layers.map((layer) =>
        layer.note ? (
          <p key={layer.words} className="dra-dim">
            {layer.note}
          </p>
        ) : null,
      )}
      <div className="dra-fleet-buttons">
        <FormButton
          label="Add nodes…"
          title="Add nodes"
          action="Add"
          isReady={node.trim() !== ""}
          onDone={() => channel.send({ type: "add-layer", change: "add", subject: node, count })}
        >
          <span className="dra-fleet-field">
            <span>Nodes</span>
            <Stepper label="nodes to add" value={count} least={1} onChange={setCount} />
          </span>
          <NodeField label="Like" value={node} onChange={setNode} />
        </FormButton>
        <FormButton
          label="Drain…"
          title="Drain a node"
          action="Drain"
          isReady={node.trim() !== ""}
          onDone={() => channel.send({ type: "add-layer", change: "drain", subject: node })}
        >
          <NodeField label="Node" value={node} onChange={setNode} />
        </FormButton>
        <FormButton
          label="Break a device…"
          title="Break a device"
          action="Apply"
          isReady={device.trim() !== ""}
          onDone={() => channel.send({ type: "add-layer", change: how, subject: device })}
        >
          <TextField label="Device" value={device} placeholder="driver/pool/device" onChange={setDevice} />
          <label className="dra-fleet-field">
            <span>How</span>
            <select className="dra-button" value={how} onChange={(event) => setHow(event.currentTarget.value)}>
              <option value="without">remove it</option>
              <option value="taint">taint it (NoSchedule)</option>
            </select>
          </label>
          <p className="dra-dim">Or right-click a device in the picture of its node.</p>
        </FormButton>
        <button
          type="button"
          className="dra-button"
          onClick={() => channel.send({ type: "add-layer", change: "idle" })}
        >
          Nothing in use
        </button>
        <button
          type="button"
          className="dra-button"
          title="What if drivers published each NUMA node that is known from the hardware"
          onClick={() => channel.send({ type: "add-layer", change: "publish-numa" })}
        >
          Next driver publishes NUMA
        </button>
        <FormButton
          label="Release…"
          title="Another Kubernetes release"
          action="Apply"
          isReady
          onDone={() => channel.send({ type: "add-layer", change: "release", subject: release })}
        >
          <label className="dra-fleet-field">
            <span>Every node runs Kubernetes</span>
            <select className="dra-button" value={release} onChange={(event) => setRelease(event.currentTarget.value)}>
              {RELEASES.map((version) => (
                <option key={version}>{version}</option>
              ))}
            </select>
          </label>
        </FormButton>
      </div>
    </section>
  );
}
