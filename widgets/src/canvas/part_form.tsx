// One way to serve a request: class, count, amounts, selectors, tolerations, and what can be added to it.

import { type ReactNode, useState } from "react";
import { Button } from "../components/button";
import { named } from "../components/choice";
import { Wrong } from "../components/field";
import { type FieldRow, Fields } from "../components/form";
import { Check } from "../components/inputs";
import type { DeviceRequest, PartRow } from "../generated/models";
import { Icon } from "../view/icon";
import { amountRows } from "./amounts";
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
import { tolerationRows } from "./tolerations";

/** What the rows of one way need. */
export interface PartTable {
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
