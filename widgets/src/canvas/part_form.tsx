// One way to serve a request: class, count, amounts, selectors, tolerations, and what can be added to it.

import { type ReactNode, useState } from "react";
import { Button, Icon } from "../components/button";
import { type FieldRow, Fields, Wrong } from "../components/form";
import { Check, named, Select, TextInput } from "../components/inputs";
import type { DeviceRequest, DeviceToleration, PartRow } from "../generated/models";
import { shortName } from "./claims";
import { type Editor, useCanvas } from "./editor";
import { Adding } from "./request_form";
import {
  ALL,
  changePart,
  countOf,
  isAll,
  type Part,
  partnersOf,
  selectorsFrom,
  selectorsOf,
  step,
  withCount,
} from "./sketch";

// Amounts of a capacity that are requested of each device, with what its driver makes of them.
const SUFFIXES = named(["Mi", "Gi", "Ti"]);
const BYTES = /^(\d+)(Mi|Gi|Ti)$/;

/** A row for each amount. */
function amountRows({ part, told, root, gates, readOnly, change }: PartTable): readonly FieldRow[] {
  const amounts = part.capacity?.requests ?? {};
  const set = (key: string, amount: string) => change({ capacity: { requests: { ...amounts, [key]: amount } } });
  const drop = (key: string) => {
    const rest = Object.fromEntries(Object.entries(amounts).filter(([other]) => other !== key));
    change({ capacity: Object.keys(rest).length ? { requests: rest } : null });
  };
  return Object.entries(amounts).map(([key, given]): FieldRow => {
    const row = told?.amounts?.find((known) => known.key === key);
    const bytes = row?.unit === "bytes" ? BYTES.exec(String(given)) : null;
    const note = gates.capacity || row?.note;
    return {
      kind: "text",
      label: "Amount",
      group: `Amount of ${key}`,
      name: key,
      value: bytes?.[1] ?? String(given),
      api: `${root}.capacity.requests`,
      note: note && (gates.capacity || row?.wrong ? <Wrong>{note}</Wrong> : note),
      check: (text) => (text.trim() ? "" : "Enter an amount, for example 16 or 40Gi."),
      onSet: (text) => set(key, bytes && /^\d+$/.test(text.trim()) ? `${text.trim()}${bytes[2]}` : text.trim()),
      more: (
        <>
          {bytes ? (
            <Select
              label={`unit of ${key}`}
              value={bytes[2] ?? ""}
              options={SUFFIXES}
              disabled={readOnly}
              onChoose={(suffix) => set(key, `${bytes[1]}${suffix}`)}
            />
          ) : (
            row?.unit && <span className="dra-hint">{row.unit}</span>
          )}
          <code>{key}</code>
          {!readOnly && (
            <Button kind="link" onClick={() => drop(key)}>
              Remove
            </Button>
          )}
        </>
      ),
    };
  });
}

// The taints that a request tolerates, a row each.
const EFFECTS = ["", "NoSchedule", "NoExecute"].map((value) => ({ value, label: value || "any effect" }));
const OPERATORS = [
  { value: "Equal", label: "equals" },
  { value: "Exists", label: "exists" },
];

function tolerationRows({ part, root, gates, readOnly, change }: PartTable): readonly FieldRow[] {
  const list = part.tolerations ?? [];
  const set = (index: number, by: Partial<DeviceToleration>) =>
    change({ tolerations: list.map((old, i) => (i === index ? { ...old, ...by } : old)) });
  return list.map(
    ({ key = "", operator = "Equal", value = "", effect = "" }, i): FieldRow => ({
      kind: "text",
      label: i === 0 ? "Tolerates" : "",
      group: `Toleration ${i + 1}`,
      name: "tolerates",
      value: key ?? "",
      placeholder: "any taint",
      api: `${root}.tolerations[${i}]`,
      note: gates.tolerations && i === 0 ? <Wrong>{gates.tolerations}</Wrong> : undefined,
      onSet: (text) => set(i, { key: text.trim() }),
      more: (
        <>
          <Select
            label="operator"
            value={operator}
            options={OPERATORS}
            disabled={readOnly}
            onChoose={(next) => set(i, { operator: next, ...(next === "Exists" ? { value: "" } : {}) })}
          />
          {operator !== "Exists" && (
            <TextInput
              readOnly={readOnly}
              aria-label="value"
              value={value ?? ""}
              placeholder="value"
              onDone={(text) => set(i, { value: text.trim() })}
            />
          )}
          <Select
            label="effect"
            value={effect}
            options={EFFECTS}
            disabled={readOnly}
            onChoose={(next) => set(i, { effect: next })}
          />
          {!readOnly && (
            <Button
              kind="quiet"
              icon="cross"
              label={`Remove toleration ${i + 1}`}
              onClick={() => change({ tolerations: list.filter((_, j) => j !== i) })}
            />
          )}
        </>
      ),
    }),
  );
}

/** What the rows of one way need. */
interface PartTable {
  readonly request: DeviceRequest;
  readonly part: Part;
  readonly told: PartRow | undefined;
  /** Where it is written. */
  readonly root: string;
  /** Why the release has not a field, by its name. */
  readonly gates: Readonly<Record<string, string>>;
  readonly readOnly: boolean;
  change(next: Parameters<typeof changePart>[3]): void;
}

interface PartProps {
  request: DeviceRequest;
  part: Part;
  index: number;
  /** Further buttons of the form's row of buttons. */
  children?: ReactNode;
}

export function PartForm({ request, part, index, children }: PartProps) {
  const editor = useCanvas();
  const { edit, status, readOnly } = editor;
  const [more, setMore] = useState(false);
  const change = (next: Parameters<typeof changePart>[3]) => {
    setMore(false);
    edit((s) => changePart(s, request.name, index, next));
  };
  const told = status.requests?.[request.name]?.parts?.[index];
  const gates = status.gates ?? {};
  const root = request.exactly ? "exactly" : `firstAvailable[${index}]`;
  const table: PartTable = { request, part, told, root, gates, readOnly, change };
  const key = told?.keys?.[0];
  return (
    <>
      <Fields
        readOnly={readOnly}
        fields={[
          classRow(table, editor),
          countRow(table, editor),
          ...amountRows(table),
          ...selectorRows(table, more),
          ...tolerationRows(table),
          request.exactly?.adminAccess === true && adminRow(table),
        ]}
      />
      {!readOnly && (
        <div className="dra-row" role="group" aria-label="Add to this request">
          {!more && part.selectors?.length ? <Adding label="Selector" onClick={() => setMore(true)} /> : null}
          {key && (
            <Adding
              label="Amount"
              gap={gates.capacity}
              onClick={() => change({ capacity: { requests: { ...part.capacity?.requests, [key]: "1" } } })}
            />
          )}
          <Adding
            label="Tolerate a taint"
            gap={gates.tolerations}
            onClick={() => change({ tolerations: [...(part.tolerations ?? []), { operator: "Exists" }] })}
          />
          {request.exactly && !request.exactly.adminAccess && (
            <Adding label="Admin access" gap={gates.adminAccess} onClick={() => change({ adminAccess: true })} />
          )}
          {children}
        </div>
      )}
    </>
  );
}

const classRow = ({ part, told, root, change }: PartTable, { palette }: Editor): FieldRow => ({
  kind: "text",
  label: "Class",
  isMono: true,
  value: part.deviceClassName ?? "",
  options: named([...new Set(palette.map((row) => row.deviceClass))].sort()),
  api: `${root}.deviceClassName`,
  note: told?.classWords,
  check: (text) => (text.trim() ? "" : "Name a device class."),
  onSet: (text) => change({ deviceClassName: text.trim() }),
});

function countRow({ request, part, root, readOnly, change }: PartTable, { sketch, edit }: Editor): FieldRow {
  const [name, all, count] = [request.name, isAll(part), countOf(part)];
  const partners = request.exactly && !all ? partnersOf(sketch, name).map(shortName) : [];
  const set = (to: number) => (request.exactly ? edit((s) => withCount(s, name, to)) : change({ count: to }));
  return {
    kind: all ? "none" : "count",
    label: "Count",
    name: "count",
    names: ["One less", "One more"],
    value: String(count),
    least: 1,
    api: `${root}.${all ? "allocationMode" : "count"}`,
    note: partners.length > 0 && `Moves together with ${partners.join(", ")} (Alt: ${shortName(name)} alone).`,
    onSet: (to) => set(Number(to)),
    onStep: (by, event) =>
      request.exactly && !part.capacity ? edit((s) => step(s, name, by, event.altKey)) : set(count + by),
    more: (
      <Check
        checked={all}
        disabled={readOnly}
        onTurn={(isOn) => change(isOn ? { allocationMode: ALL, count: undefined } : { allocationMode: "", count: 1 })}
      >
        all that match
      </Check>
    ),
  };
}

/** A row for each selector; an empty one if there is none, or if `more` is wanted. */
function selectorRows({ part, told, root, readOnly, change }: PartTable, more: boolean): readonly FieldRow[] {
  const texts = selectorsOf(part);
  const shown = texts.length === 0 || more ? [...texts, ""] : texts;
  return shown.map((value, i): FieldRow => {
    const { error, text } = (value && told?.selectors?.[i]) || {};
    const removal = value && !readOnly && (
      <Button kind="link" onClick={() => change({ selectors: selectorsFrom(shown.filter((_, j) => j !== i)) })}>
        Remove
      </Button>
    );
    return {
      kind: "area",
      label: shown.length > 1 ? `Selector ${i + 1}` : "Selector",
      value,
      pause: 400,
      placeholder: 'device.attributes["driver"].name == \u2026',
      api: `${root}.selectors[${i}].cel.expression`,
      note: (error || text || removal) && (
        <span className="dra-row">
          {error ? (
            <Wrong>
              <Icon name="warning" /> {error}
            </Wrong>
          ) : (
            text && <span className="dra-good">{text}</span>
          )}
          {removal}
        </span>
      ),
      onSet: (now) => change({ selectors: selectorsFrom(shown.map((old, j) => (j === i ? now : old))) }),
    };
  });
}

const adminRow = ({ gates, readOnly, change }: PartTable): FieldRow => ({
  kind: "none",
  label: "Admin access",
  api: "exactly.adminAccess",
  note: gates.adminAccess ? <Wrong>{gates.adminAccess}</Wrong> : "The namespace needs the label for it.",
  more: (
    <Check checked disabled={readOnly} onTurn={() => change({ adminAccess: false })}>
      also devices in use
    </Check>
  ),
});
