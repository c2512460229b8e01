// A button that opens a small form, and the fields that the forms of Fleet share; Enter does what its button does.
import { useState } from "react";
import { Button } from "../components/button";
import { named, type Option } from "../components/choice";
import { Form } from "../components/form";
import { Popover } from "../components/popover";
import { useTrait } from "../plan/model";
import { onEnter } from "../view/keys";
import { usePopover } from "../view/use_popover";

export interface FormRow {
  readonly key: string;
  readonly label: string;
  /** `node` is the name of a node: a small cluster offers its names. */
  readonly kind: "live" | "node" | "select" | "count";
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
  const over = usePopover({
    first: () => document.activeElement?.closest(".dra-fleet-mode")?.querySelector<HTMLElement>(":popover-open input"),
  });
  const isReady = Object.values(values).every((text) => text.trim() !== "");
  const done = () => {
    if (!isReady) return;
    over.close();
    onDone(values);
  };
  const rows = fields.map((row) => ({
    label: row.label,
    name: row.name,
    kind: row.kind === "node" ? ("live" as const) : row.kind,
    value: values[row.key] ?? "",
    least: 1,
    placeholder: row.kind === "node" ? "name of a node" : row.placeholder,
    options: row.kind === "node" ? named(names) : row.options,
    onSet: (value: string) => setTyped((now) => ({ ...now, [row.key]: value })),
  }));
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
