// The form of a request: name, class, count or amount, selectors, tolerations, further ways to serve it.
import { useState } from "react";
import type { DeviceRequest, DeviceToleration } from "../generated/models";
import { useCanvas } from "./editor";
import { Field, TextField, useDraft, Wrong } from "./fields";
import { Icon } from "./icons";
import {
  addAlternative, ALL, changePart, countOf, freeName, isAll, partsOf, removeAlternative, selectorsFrom, selectorsOf, type Part,
} from "./sketch";

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** What is wrong with a new name, in the words of the API's rule; "" for nothing. */
export function wrongName(taken: (name: string) => boolean, own: string, name: string): string {
  if (!LABEL.test(name)) return "Use lower-case letters, digits and -, beginning and ending with a letter or digit.";
  return name !== own && taken(name) ? `There is another ${name}.` : "";
}

export function RequestForm({ request, onRenamed, onLink }: { request: DeviceRequest; onRenamed(to: string): void; onLink(): void }) {
  const { sketch, edit, readOnly } = useCanvas();
  const [way, setWay] = useState(0);
  const parts = partsOf(request);
  const index = Math.min(way, parts.length - 1);
  const part = parts[index];
  if (!part) return null;
  const taken = (name: string) => freeName(sketch, name) !== name;
  return (
    <div className="dra-form">
      <TextField
        label="name" value={request.name} check={(name) => wrongName(taken, request.name, name)} onDone={onRenamed}
      />
      {parts.length > 1 && <Ways request={request} index={index} onPick={setWay} />}
      <PartForm key={`${request.name}/${index}`} request={request} part={part} index={index} />
      {!readOnly && (
        <div className="dra-field is-wide dra-row">
          <button type="button" className="dra-button" onClick={onLink}>Link its devices</button>
          <button type="button" className="dra-button" onClick={() => { edit((s) => addAlternative(s, request.name)); setWay(parts.length); }}>
            Add an alternative
          </button>
        </div>
      )}
    </div>
  );
}

function Ways({ request, index, onPick }: { request: DeviceRequest; index: number; onPick(index: number): void }) {
  const { edit, readOnly } = useCanvas();
  const ways = request.firstAvailable ?? [];
  return (
    <div className="dra-field is-wide dra-row" role="group" aria-label="Alternatives, tried in this order">
      {ways.map((way, i) => (
        <button key={way.name} type="button" className="dra-button" aria-pressed={i === index} onClick={() => onPick(i)}>
          {i + 1}. {way.name}
        </button>
      ))}
      {!readOnly && (
        <button type="button" className="dra-button" onClick={() => { edit((s) => removeAlternative(s, request.name, index)); onPick(0); }}>
          Remove {ways[index]?.name}
        </button>
      )}
    </div>
  );
}

function PartForm({ request, part, index }: { request: DeviceRequest; part: Part; index: number }) {
  const { edit, palette, readOnly } = useCanvas();
  const change = (next: Parameters<typeof changePart>[3]) => edit((s) => changePart(s, request.name, index, next));
  const classes = [...new Set(palette.map((row) => row.deviceClass))].sort();
  const all = isAll(part);
  const whole = (text: string) => (/^[1-9]\d*$/.test(text.trim()) ? "" : "Give a whole number from 1.");
  return (
    <>
      <TextField label="class" mono value={part.deviceClassName ?? ""} list={classes} check={(t) => (t.trim() ? "" : "Name a device class.")} onDone={(t) => change({ deviceClassName: t.trim() })} />
      <div className="dra-field dra-count-field">
        {all ? <span className="dra-all">all that match</span> : <TextField label="count" value={String(countOf(part))} check={whole} onDone={(t) => change({ count: Number(t) })} />}
        <label className="dra-check">
          <input type="checkbox" checked={all} disabled={readOnly} onChange={() => change(all ? { allocationMode: "", count: 1 } : { allocationMode: ALL, count: undefined })} /> all
        </label>
      </div>
      {Object.entries(part.capacity?.requests ?? {}).map(([key, amount]) => (
        <TextField
          key={key} label={key} value={String(amount)} check={(t) => (t.trim() ? "" : "Give an amount like 16 or 40Gi.")}
          onDone={(t) => change({ capacity: { requests: { ...part.capacity?.requests, [key]: t.trim() } } })}
        />
      ))}
      <Selectors request={request} part={part} index={index} />
      <Tolerations part={part} onChange={(tolerations) => change({ tolerations })} />
      {request.exactly && (
        <label className="dra-check dra-field" title="Devices may be handed out that are in use; the namespace needs the admin-access label.">
          <input type="checkbox" checked={request.exactly.adminAccess ?? false} disabled={readOnly} onChange={(e) => change({ adminAccess: e.target.checked })} /> admin access
        </label>
      )}
    </>
  );
}

function Selectors({ request, part, index }: { request: DeviceRequest; part: Part; index: number }) {
  const { edit, status, readOnly } = useCanvas();
  const texts = selectorsOf(part);
  const [more, setMore] = useState(false);
  const shown = texts.length === 0 || more ? [...texts, ""] : texts;
  const told = status.requests?.[request.name];
  const set = (i: number, text: string) => {
    setMore(false);
    edit((s) => changePart(s, request.name, index, { selectors: selectorsFrom(shown.map((old, j) => (j === i ? text : old))) }));
  };
  return (
    <div className="dra-field is-wide">
      {shown.map((text, i) => <SelectorField key={i} label={shown.length > 1 ? `selector ${i + 1}` : "selector"} value={text} onDone={(t) => set(i, t)} />)}
      <div className="dra-row dra-verdict">
        {told?.error ? <Wrong><Icon name="warn" /> {told.error}</Wrong> : told?.text ? <span className="dra-good">{told.text}</span> : null}
        {!readOnly && !more && texts.length > 0 && <button type="button" className="dra-button" onClick={() => setMore(true)}>Add a selector</button>}
      </div>
    </div>
  );
}

function SelectorField({ label, value, onDone }: { label: string; value: string; onDone(text: string): void }) {
  const { readOnly } = useCanvas();
  const { input } = useDraft({ value, onDone, pause: 400 });
  const rows = Math.min(6, Math.max(1, input.value.split("\n").length));
  return (
    <Field label={label}>
      <textarea className="is-mono" rows={rows} spellCheck={false} readOnly={readOnly} placeholder={'device.attributes["driver"].name == \u2026'} {...input} />
    </Field>
  );
}

const EFFECTS = ["", "NoSchedule", "NoExecute"] as const;

function Tolerations({ part, onChange }: { part: Part; onChange(next: readonly DeviceToleration[]): void }) {
  const { readOnly } = useCanvas();
  const list = part.tolerations ?? [];
  const set = (index: number, change: Partial<DeviceToleration>) => onChange(list.map((old, i) => (i === index ? { ...old, ...change } : old)));
  return (
    <div className="dra-field is-wide dra-tolerations">
      {list.map((toleration, i) => (
        <div key={i} className="dra-row" role="group" aria-label={`Toleration ${i + 1}`}>
          <TextField label="tolerates" value={toleration.key ?? ""} onDone={(key) => set(i, { key: key.trim() })} />
          <select aria-label="operator" value={toleration.operator ?? "Equal"} disabled={readOnly} onChange={(e) => set(i, { operator: e.target.value, ...(e.target.value === "Exists" ? { value: "" } : {}) })}>
            <option value="Equal">equals</option>
            <option value="Exists">exists</option>
          </select>
          {toleration.operator !== "Exists" && <TextField label="value" value={toleration.value ?? ""} onDone={(value) => set(i, { value: value.trim() })} />}
          <select aria-label="effect" value={toleration.effect ?? ""} disabled={readOnly} onChange={(e) => set(i, { effect: e.target.value })}>
            {EFFECTS.map((effect) => <option key={effect} value={effect}>{effect || "any effect"}</option>)}
          </select>
          {!readOnly && <button type="button" className="dra-tool" aria-label={`Remove toleration ${i + 1}`} onClick={() => onChange(list.filter((_, j) => j !== i))}><Icon name="cross" /></button>}
        </div>
      ))}
      {!readOnly && <button type="button" className="dra-button" onClick={() => onChange([...list, { operator: "Exists" }])}>Tolerate a taint</button>}
    </div>
  );
}

