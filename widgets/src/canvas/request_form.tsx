// The form of a request: name, class, count or amount, selectors, tolerations, further ways to serve it.
import { useState, type ReactNode } from "react";
import type { DeviceRequest, DeviceToleration } from "../generated/models";
import { useCanvas } from "./editor";
import { Field, TextField, useDraft } from "./fields";
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
  const { sketch, edit } = useCanvas();
  const [way, setWay] = useState(0);
  const parts = partsOf(request);
  const index = Math.min(way, parts.length - 1);
  const part = parts[index];
  if (!part) return null;
  const taken = (name: string) => freeName(sketch, name) !== name;
  return (
    <div className="dra-form">
      {parts.length > 1 && <Ways request={request} index={index} onPick={setWay} />}
      <PartForm key={`${request.name}/${index}`} request={request} part={part} index={index}>
        <button type="button" className="dra-button" onClick={() => { edit((s) => addAlternative(s, request.name)); setWay(parts.length); }}>
          Add an alternative
        </button>
        <button type="button" className="dra-button" onClick={onLink}>Link its devices</button>
      </PartForm>
      <TextField
        label="name" value={request.name} check={(name) => wrongName(taken, request.name, name)} onDone={onRenamed}
      />
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

interface PartProps {
  request: DeviceRequest;
  part: Part;
  index: number;
  /** Further buttons of the form's row of buttons. */
  children?: ReactNode;
}

function PartForm({ request, part, index, children }: PartProps) {
  const { edit, palette, readOnly } = useCanvas();
  const [more, setMore] = useState(false);
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
      <Selectors
        texts={selectorsOf(part)} more={more}
        onChange={(texts) => { setMore(false); change({ selectors: selectorsFrom(texts) }); }}
      />
      <Tolerations part={part} onChange={(tolerations) => change({ tolerations })} />
      {!readOnly && (
        <div className="dra-field is-wide dra-row">
          <button type="button" className="dra-button" disabled={more || !part.selectors?.length} onClick={() => setMore(true)}>Add a selector</button>
          <button type="button" className="dra-button" onClick={() => change({ tolerations: [...(part.tolerations ?? []), { operator: "Exists" }] })}>
            Tolerate a taint
          </button>
          {children}
        </div>
      )}
      {request.exactly && (
        <label className="dra-check dra-field" title="Devices may be handed out that are in use; the namespace needs the admin-access label.">
          <input type="checkbox" checked={request.exactly.adminAccess ?? false} disabled={readOnly} onChange={(e) => change({ adminAccess: e.target.checked })} /> admin access
        </label>
      )}
    </>
  );
}

function Selectors({ texts, more, onChange }: { texts: readonly string[]; more: boolean; onChange(texts: readonly string[]): void }) {
  const shown = texts.length === 0 || more ? [...texts, ""] : texts;
  return (
    <div className="dra-field is-wide dra-selectors">
      {shown.map((text, i) => (
        <SelectorField
          key={i} label={shown.length > 1 ? `selector ${i + 1}` : "selector"} value={text}
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
      <textarea className="is-mono" rows={rows} spellCheck={false} readOnly={readOnly} placeholder={'device.attributes["driver"].name == \u2026'} {...input} />
    </Field>
  );
}

const EFFECTS = ["", "NoSchedule", "NoExecute"] as const;

function Tolerations({ part, onChange }: { part: Part; onChange(next: readonly DeviceToleration[]): void }) {
  const { readOnly } = useCanvas();
  const list = part.tolerations ?? [];
  if (!list.length) return null;
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
    </div>
  );
}

