// One way to serve a request: class, count, amounts, selectors, tolerations, and what can be added to it.

import { type ReactNode, useState } from "react";
import { Button } from "../components/button";
import { named } from "../components/choice";
import { Field, Group, Wrong } from "../components/field";
import { Fields } from "../components/form";
import { Check } from "../components/inputs";
import { Stepper } from "../components/stepper";
import { useDraft } from "../components/use_draft";
import type { DeviceRequest, SelectorRow } from "../generated/models";
import { Icon } from "../view/icon";
import { Amounts } from "./amounts";
import { shortName } from "./claims";
import { useCanvas } from "./editor";
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
import { Tolerations } from "./tolerations";

interface PartProps {
  request: DeviceRequest;
  part: Part;
  index: number;
  /** Further buttons of the form's row of buttons. */
  children?: ReactNode;
}

export function PartForm({ request, part, index, children }: PartProps) {
  const { edit, palette, status, readOnly } = useCanvas();
  const [more, setMore] = useState(false);
  const change = (next: Parameters<typeof changePart>[3]) => edit((s) => changePart(s, request.name, index, next));
  const classes = [...new Set(palette.map((row) => row.deviceClass))].sort();
  const told = status.requests?.[request.name]?.parts?.[index];
  const gates = status.gates ?? {};
  const root = request.exactly ? "exactly" : `firstAvailable[${index}]`;
  const key = told?.keys?.[0];
  return (
    <>
      <Fields
        readOnly={readOnly}
        fields={[
          {
            kind: "text",
            label: "Class",
            isMono: true,
            value: part.deviceClassName ?? "",
            options: named(classes),
            api: `${root}.deviceClassName`,
            note: told?.classWords,
            check: (text) => (text.trim() ? "" : "Name a device class."),
            onSet: (text) => change({ deviceClassName: text.trim() }),
          },
        ]}
      />
      <Count
        request={request}
        part={part}
        api={isAll(part) ? `${root}.allocationMode` : `${root}.count`}
        index={index}
      />
      <Amounts part={part} rows={told?.amounts ?? []} root={root} gap={gates.capacity} onChange={change} />
      <Selectors
        texts={selectorsOf(part)}
        rows={told?.selectors ?? []}
        api={`${root}.selectors`}
        more={more}
        onChange={(texts) => {
          setMore(false);
          change({ selectors: selectorsFrom(texts) });
        }}
      />
      <Tolerations
        part={part}
        api={`${root}.tolerations`}
        gap={gates.tolerations}
        onChange={(tolerations) => change({ tolerations })}
      />
      {request.exactly?.adminAccess && (
        <Group
          label="Admin access"
          api="exactly.adminAccess"
          note={gates.adminAccess ? <Wrong>{gates.adminAccess}</Wrong> : "The namespace needs the label for it."}
        >
          <Check checked disabled={readOnly} onTurn={() => change({ adminAccess: false })}>
            also devices in use
          </Check>
        </Group>
      )}
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

interface CountProps {
  request: DeviceRequest;
  part: Part;
  index: number;
  api: string;
}

function Count({ request, part, index, api }: CountProps) {
  const { sketch, edit, readOnly } = useCanvas();
  const [all, count] = [isAll(part), countOf(part)];
  const partners = request.exactly && !all ? partnersOf(sketch, request.name) : [];
  const change = (next: Parameters<typeof changePart>[3]) => edit((s) => changePart(s, request.name, index, next));
  const set = (to: number) => {
    if (request.exactly) edit((s) => withCount(s, request.name, to));
    else change({ count: to });
  };
  const by = (sign: 1 | -1, alone: boolean) => {
    if (request.exactly && !part.capacity) edit((s) => step(s, request.name, sign, alone));
    else set(count + sign);
  };
  return (
    <Group
      label="Count"
      api={api}
      note={
        partners.length
          ? `Moves together with ${partners.map(shortName).join(", ")} (Alt: ${shortName(request.name)} alone).`
          : undefined
      }
    >
      {!all && (
        <Stepper
          label="count"
          names={["One less", "One more"]}
          value={count}
          least={1}
          readOnly={readOnly}
          onChange={set}
          onStep={(sign, event) => by(sign, event.altKey)}
        />
      )}
      <Check
        checked={all}
        disabled={readOnly}
        onTurn={(isOn) => change(isOn ? { allocationMode: ALL, count: undefined } : { allocationMode: "", count: 1 })}
      >
        all that match
      </Check>
    </Group>
  );
}

interface SelectorsProps {
  texts: readonly string[];
  rows: readonly SelectorRow[];
  api: string;
  more: boolean;
  onChange(texts: readonly string[]): void;
}

function Selectors({ texts, rows, api, more, onChange }: SelectorsProps) {
  const { readOnly } = useCanvas();
  const shown = texts.length === 0 || more ? [...texts, ""] : texts;
  return shown.map((text, i) => (
    <SelectorField
      // biome-ignore lint/suspicious/noArrayIndexKey: selectors have no name, and two may be equal
      key={i}
      label={shown.length > 1 ? `Selector ${i + 1}` : "Selector"}
      value={text}
      row={rows[i]}
      api={`${api}[${i}].cel.expression`}
      onDone={(now) => onChange(shown.map((old, j) => (j === i ? now : old)))}
      onRemove={text && !readOnly ? () => onChange(shown.filter((_, j) => j !== i)) : undefined}
    />
  ));
}

interface SelectorProps {
  label: string;
  value: string;
  row: SelectorRow | undefined;
  api: string;
  onDone(text: string): void;
  onRemove: (() => void) | undefined;
}

function SelectorField({ label, value, row, api, onDone, onRemove }: SelectorProps) {
  const { readOnly } = useCanvas();
  const { input } = useDraft({ value, onDone, pause: 400 });
  const rows = Math.min(6, Math.max(1, input.value.split("\n").length));
  const note = value && (row?.error || row?.text || onRemove) && (
    <span className="dra-row">
      {row?.error ? (
        <Wrong>
          <Icon name="warning" /> {row.error}
        </Wrong>
      ) : (
        row?.text && <span className="dra-good">{row.text}</span>
      )}
      {onRemove && (
        <Button kind="link" onClick={onRemove}>
          Remove
        </Button>
      )}
    </span>
  );
  return (
    <Field label={label} api={api} note={note || undefined}>
      <textarea
        className="dra-input is-mono"
        rows={rows}
        spellCheck={false}
        readOnly={readOnly}
        placeholder={'device.attributes["driver"].name == \u2026'}
        {...input}
      />
    </Field>
  );
}
