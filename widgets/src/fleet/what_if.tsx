// What-if changes as chips: each is a layer over the snapshot that can be removed again.
import { Button } from "../components/button";
import { Chip } from "../components/chip";
import { named, optionsOf } from "../components/choice";
import type { PlanViewMessage } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { FormButton, type FormRow } from "./form";

const HOW = optionsOf([
  ["without", "remove it"],
  ["taint", "taint it (NoSchedule)"],
]);

type Layer = Omit<Extract<PlanViewMessage, { type: "add-layer" }>, "type">;

interface Change {
  readonly label: string;
  readonly title: string;
  readonly action?: string;
  readonly hint?: string;
  /** Without fields, the change is made at once. */
  readonly fields?: readonly FormRow[];
  layer(values: Readonly<Record<string, string>>): Layer;
}

const CHANGES: readonly Change[] = [
  {
    label: "Add nodes…",
    title: "Add nodes",
    action: "Add",
    fields: [
      { key: "count", label: "Nodes", kind: "count", name: "nodes to add", first: "2" },
      { key: "node", label: "Like", kind: "node" },
    ],
    layer: ({ node, count }) => ({ change: "add", subject: node, count: Number(count) }),
  },
  {
    label: "Drain…",
    title: "Drain a node",
    action: "Drain",
    fields: [{ key: "node", label: "Node", kind: "node" }],
    layer: ({ node }) => ({ change: "drain", subject: node }),
  },
  {
    label: "Break a device…",
    title: "Break a device",
    action: "Apply",
    hint: "Or right-click a device in the picture of its node.",
    fields: [
      { key: "device", label: "Device", kind: "live", placeholder: "driver/pool/device" },
      { key: "how", label: "How", kind: "select", options: HOW, first: "without" },
    ],
    layer: ({ device, how = "" }) => ({ change: how, subject: device }),
  },
  { label: "Nothing in use", title: "", layer: () => ({ change: "idle" }) },
  {
    label: "Next driver publishes NUMA",
    title: "What if drivers published each NUMA node that is known from the hardware",
    layer: () => ({ change: "publish-numa" }),
  },
  {
    label: "Release…",
    title: "Another Kubernetes release",
    action: "Apply",
    fields: [
      {
        key: "release",
        label: "Every node runs Kubernetes",
        kind: "select",
        options: named(["1.34", "1.35", "1.36", "1.37"]),
        first: "1.37",
      },
    ],
    layer: ({ release }) => ({ change: "release", subject: release }),
  },
];

export function WhatIf() {
  const channel = useChannel();
  const layers = useTrait("fleet_layers");
  const add = (layer: Layer) => channel.send({ type: "add-layer", ...layer });
  return (
    <section className="dra-stack" aria-label="What if">
      <h3>What if</h3>
      {layers.length > 0 && (
        <ul className="dra-row dra-fleet-chips" aria-label="Changes">
          {keyed(layers, (layer) => layer.words).map(([key, layer], number) => (
            <li key={key}>
              <Chip
                className={layer.problem ? "is-refused" : "is-on"}
                title={layer.problem || layer.note || undefined}
                removal={`Remove the change: ${layer.words}`}
                onRemove={() => channel.send({ type: "remove-layer", number })}
              >
                {layer.problem && <Icon name="warning" />}
                <span>{layer.words}</span>
              </Chip>
            </li>
          ))}
        </ul>
      )}
      {layers.map(({ words, note }) => note && <Dim key={words}>{note}</Dim>)}
      <div className="dra-row">
        {CHANGES.map(({ label, title, action = "", hint, fields, layer }) =>
          fields ? (
            <FormButton
              key={label}
              {...{ label, title, action, hint, fields }}
              onDone={(values) => add(layer(values))}
            />
          ) : (
            <Button key={label} title={title || undefined} onClick={() => add(layer({}))}>
              {label}
            </Button>
          ),
        )}
      </div>
    </section>
  );
}

const Dim = ({ children }: { children: string }) => <p className="dra-dim">{children}</p>;
