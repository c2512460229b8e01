// The left side of Fleet under the workloads: what-if changes with their forms, and the kept scenarios.

import { useState } from "react";
import { Browse } from "../components/browse";
import { Button, Icon } from "../components/button";
import { Chip } from "../components/content";
import { Form } from "../components/form";
import { named, type Option, optionsOf } from "../components/inputs";
import { MenuButton, Popover, usePopover } from "../components/popover";
import { ACTIONS, Table } from "../components/table";
import type { PlanViewMessage } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { PrintButton } from "../plan/print";
import { onEnter } from "../view/keys";
import { keyed } from "../view/text";
import { Head } from "./workloads";

// A button that opens a small form, and the fields that the forms of Fleet share; Enter does what its button does.
interface FormRow {
  readonly key: string;
  readonly label: string;
  /** `node` is the name of a node: a small cluster offers its names. `file` is a path, which can be chosen. */
  readonly kind: "live" | "node" | "file" | "select" | "count";
  /** What it holds at first. */
  readonly first?: string;
  readonly options?: readonly Option<string>[];
  readonly placeholder?: string;
  /** The name of the control where the label says too little. */
  readonly name?: string;
}

interface Props {
  label: string;
  title: string;
  action: string;
  fields: readonly FormRow[];
  hint?: string;
  /** Gets what was entered, by the keys of the fields; called when no text is empty. */
  onDone(values: Readonly<Record<string, string>>): void;
}

export function FormButton({ label, title, action, fields, hint, onDone }: Props) {
  const { names = [] } = useTrait("fleet_bars");
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const values = Object.fromEntries(fields.map((row) => [row.key, typed[row.key] ?? row.first ?? ""]));
  const over = usePopover({ first: "input, select" });
  const isReady = Object.values(values).every((text) => text.trim() !== "");
  const done = () => {
    if (!isReady) return;
    over.close();
    onDone(values);
  };
  const rows = fields.map((row) => {
    const [isNode, isFile, value] = [row.kind === "node", row.kind === "file", values[row.key] ?? ""];
    const onSet = (value: string) => setTyped((now) => ({ ...now, [row.key]: value }));
    return {
      label: row.label,
      name: row.name,
      kind: row.kind === "node" || row.kind === "file" ? ("live" as const) : row.kind,
      value,
      least: 1,
      placeholder: isNode ? "name of a node" : row.placeholder,
      options: isNode ? named(names) : row.options,
      onSet,
      beside: isFile && <Browse what="file" path={value} onChoose={onSet} />,
    };
  });
  return (
    <>
      <Button {...over.button}>{label}</Button>
      <Popover over={over} title={title} className="dra-fleet-form">
        <div onKeyDown={onEnter(done)}>
          <Form fields={rows}>{hint && <p className="dra-dim">{hint}</p>}</Form>
        </div>
        <Button kind="primary" disabled={!isReady} onClick={done}>
          {action}
        </Button>
      </Popover>
    </>
  );
}

// What-if changes as chips: each is a layer over the snapshot that can be removed again.
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
        options: optionsOf([
          ...["1.34", "1.35", "1.36", "1.37"].map((one) => [one, one] as const),
          ["1.38", "1.38 (alpha)"],
        ]),
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
          {keyed(layers, (layer) => layer.words).map(([key, layer]) => (
            <li key={key}>
              <Chip
                className={layer.problem ? "is-refused" : "is-on"}
                title={layer.problem || layer.note || undefined}
                removal={`Remove the change: ${layer.words}`}
                onRemove={() =>
                  channel.send({ type: "remove-layer", number: layer.first ?? 0, count: layer.count ?? 1 })
                }
              >
                {layer.problem && <Icon name="warning" />}
                <span>{layer.words}</span>
              </Chip>
            </li>
          ))}
        </ul>
      )}
      {layers.map(
        ({ words, note }) =>
          note && (
            <p key={words} className="dra-dim">
              {note}
            </p>
          ),
      )}
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

/** `11 of 13` is short; a number that differs from the present one is marked. */
function markOf(cell: string, present: string | undefined): string {
  const [head, all] = cell.split(" of ");
  if (all !== undefined && all !== head) return "is-short";
  return cell === present ? "" : "is-other";
}

export function Scenarios() {
  const { columns = [], rows = [] } = useTrait("fleet_scenarios");
  const { stale = false } = useTrait("fleet_answer");
  const hasKept = rows.some((row) => row.kept);
  if (!rows.length) return null;
  const now = rows.find((row) => row.now);
  return (
    <section className="dra-stack" aria-label="Scenarios">
      <h3>Scenarios</h3>
      <div className="dra-wide-table">
        <Table
          className="is-numbers"
          columns={[
            ["scenario", "scenario"],
            ...columns.map((column) => [column, <Head key={column} word={column} />] as const),
            ACTIONS,
          ]}
          rows={rows.map((row) => ({
            key: row.name,
            head: row.name,
            className: row.now ? "is-now" : undefined,
            title: row.title || undefined,
            cells: [...(row.cells ?? []), row.kept && <Actions key="actions" name={row.name} />],
            marks: (row.cells ?? []).map((cell, at) => markOf(cell, now?.cells?.[at])),
          }))}
        />
      </div>
      <div className="dra-row">
        <Button disabled={stale} send={{ type: "keep-scenario" }}>
          Keep as scenario
        </Button>
        <Button disabled={!hasKept} send={{ type: "mode", mode: "compare" }}>
          Compare…
        </Button>
        <PrintButton />
      </div>
    </section>
  );
}

function Actions({ name }: { name: string }) {
  const channel = useChannel();
  const items = [
    { label: "Restore", act: () => channel.send({ type: "restore-kept", name }) },
    { label: "Remove", act: () => channel.send({ type: "remove-kept", name }) },
  ];
  return <MenuButton of={name} items={items} />;
}
