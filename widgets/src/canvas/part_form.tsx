// The form of one way to serve a request: class, count or amount, selectors, tolerations.
import { type ReactNode, useState } from "react";
import type { DeviceRequest } from "../generated/models";
import { useCanvas } from "./editor";
import { Field, TextField, useDraft } from "./fields";
import { ALL, changePart, countOf, isAll, type Part, selectorsFrom, selectorsOf } from "./sketch";
import { Tolerations } from "./tolerations";

interface PartProps {
  request: DeviceRequest;
  part: Part;
  index: number;
  /** Further buttons of the form's row of buttons. */
  children?: ReactNode;
}

export function PartForm({ request, part, index, children }: PartProps) {
  const { edit, palette, readOnly } = useCanvas();
  const [more, setMore] = useState(false);
  const change = (next: Parameters<typeof changePart>[3]) => edit((s) => changePart(s, request.name, index, next));
  const classes = [...new Set(palette.map((row) => row.deviceClass))].sort();
  const all = isAll(part);
  const whole = (text: string) => (/^[1-9]\d*$/.test(text.trim()) ? "" : "Give a whole number from 1.");
  return (
    <>
      <TextField
        label="class"
        mono
        value={part.deviceClassName ?? ""}
        list={classes}
        check={(t) => (t.trim() ? "" : "Name a device class.")}
        onDone={(t) => change({ deviceClassName: t.trim() })}
      />
      <div className="dra-field dra-count-field">
        {all ? (
          <span className="dra-all">all that match</span>
        ) : (
          <TextField
            label="count"
            value={String(countOf(part))}
            check={whole}
            onDone={(t) => change({ count: Number(t) })}
          />
        )}
        <label className="dra-check">
          <input
            type="checkbox"
            checked={all}
            disabled={readOnly}
            onChange={() => change(all ? { allocationMode: "", count: 1 } : { allocationMode: ALL, count: undefined })}
          />{" "}
          all
        </label>
      </div>
      {Object.entries(part.capacity?.requests ?? {}).map(([key, amount]) => (
        <TextField
          key={key}
          label={key}
          value={String(amount)}
          check={(t) => (t.trim() ? "" : "Give an amount like 16 or 40Gi.")}
          onDone={(t) => change({ capacity: { requests: { ...part.capacity?.requests, [key]: t.trim() } } })}
        />
      ))}
      <Selectors
        texts={selectorsOf(part)}
        more={more}
        onChange={(texts) => {
          setMore(false);
          change({ selectors: selectorsFrom(texts) });
        }}
      />
      <Tolerations part={part} onChange={(tolerations) => change({ tolerations })} />
      {!readOnly && (
        <div className="dra-field is-wide dra-row">
          <button
            type="button"
            className="dra-button"
            disabled={more || !part.selectors?.length}
            onClick={() => setMore(true)}
          >
            Add a selector
          </button>
          <button
            type="button"
            className="dra-button"
            onClick={() => change({ tolerations: [...(part.tolerations ?? []), { operator: "Exists" }] })}
          >
            Tolerate a taint
          </button>
          {children}
        </div>
      )}
      {request.exactly && (
        <label
          className="dra-check dra-field"
          title="Devices may be handed out that are in use; the namespace needs the admin-access label."
        >
          <input
            type="checkbox"
            checked={request.exactly.adminAccess ?? false}
            disabled={readOnly}
            onChange={(e) => change({ adminAccess: e.target.checked })}
          />{" "}
          admin access
        </label>
      )}
    </>
  );
}

function Selectors({
  texts,
  more,
  onChange,
}: {
  texts: readonly string[];
  more: boolean;
  onChange(texts: readonly string[]): void;
}) {
  const shown = texts.length === 0 || more ? [...texts, ""] : texts;
  return (
    <div className="dra-field is-wide dra-selectors">
      {shown.map((text, i) => (
        <SelectorField
          // biome-ignore lint/suspicious/noArrayIndexKey: selectors have no name, and two may be equal
          key={i}
          label={shown.length > 1 ? `selector ${i + 1}` : "selector"}
          value={text}
          onDone={(now) => onChange(shown.map((old, j) => (j === i ? now : old)))}
        />
      ))}
    </div>
  );
}

function SelectorField({ label, value, onDone }: { label: string; value: string; onDone(text: string): void }) {
  const { readOnly } = useCanvas();
  const { input } = useDraft({ value, onDone, pause: 400 });
  const rows = Math.min(6, Math.max(1, input.value.split("\n").length));
  return (
    <Field label={label}>
      <textarea
        className="is-mono"
        rows={rows}
        spellCheck={false}
        readOnly={readOnly}
        placeholder={'device.attributes["driver"].name == \u2026'}
        {...input}
      />
    </Field>
  );
}
