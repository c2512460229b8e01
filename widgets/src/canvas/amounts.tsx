// Amounts of a capacity that are requested of each device, with what its driver makes of them.

import { Button } from "../components/button";
import { named } from "../components/choice";
import { Group, Wrong } from "../components/field";
import { Select, TextInput } from "../components/inputs";
import type { AmountRow, ExactDeviceRequest } from "../generated/models";
import { useCanvas } from "./editor";
import type { Part } from "./sketch";

const SUFFIXES = named(["Mi", "Gi", "Ti"]);
const BYTES = /^(\d+)(Mi|Gi|Ti)$/;

interface Props {
  part: Part;
  rows: readonly AmountRow[];
  root: string;
  gap: string | undefined;
  onChange(next: Pick<ExactDeviceRequest, "capacity">): void;
}

export function Amounts({ part, rows, root, gap, onChange }: Props) {
  const { readOnly } = useCanvas();
  const amounts = Object.entries(part.capacity?.requests ?? {});
  const set = (key: string, amount: string) =>
    onChange({ capacity: { requests: { ...part.capacity?.requests, [key]: amount } } });
  const drop = (key: string) => {
    const rest = Object.fromEntries(amounts.filter(([other]) => other !== key));
    onChange({ capacity: Object.keys(rest).length ? { requests: rest } : null });
  };
  return amounts.map(([key, given]) => {
    const row = rows.find((known) => known.key === key);
    const bytes = row?.unit === "bytes" ? BYTES.exec(String(given)) : null;
    const note = gap || row?.note;
    return (
      <Group
        key={key}
        label="Amount"
        name={`Amount of ${key}`}
        api={`${root}.capacity.requests`}
        note={note && (gap || row?.wrong ? <Wrong>{note}</Wrong> : note)}
      >
        <code>{key}</code>
        <TextInput
          readOnly={readOnly}
          aria-label={key}
          value={bytes?.[1] ?? String(given)}
          check={(t) => (t.trim() ? "" : "Enter an amount, for example 16 or 40Gi.")}
          onDone={(t) => set(key, bytes && /^\d+$/.test(t.trim()) ? `${t.trim()}${bytes[2]}` : t.trim())}
        />
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
        {!readOnly && (
          <Button kind="link" onClick={() => drop(key)}>
            Remove
          </Button>
        )}
      </Group>
    );
  });
}
