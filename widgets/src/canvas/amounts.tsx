// Amounts of a capacity that are requested of each device, with what its driver makes of them.

import { Button } from "../components/button";
import { named } from "../components/choice";
import { Wrong } from "../components/field";
import type { FieldRow } from "../components/form";
import { Select } from "../components/inputs";
import type { PartTable } from "./part_form";

const SUFFIXES = named(["Mi", "Gi", "Ti"]);
const BYTES = /^(\d+)(Mi|Gi|Ti)$/;

/** A row for each amount. */
export function amountRows({ part, told, root, gates, readOnly, change }: PartTable): readonly FieldRow[] {
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
