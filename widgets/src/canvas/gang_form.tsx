// The card of the frame that keeps several such pods together: how many, and in one of what.
import type { GangRow, LevelRow } from "../generated/models";
import { useCanvas } from "./editor";
import { Field, TextField } from "./fields";

const keyOf = (row: LevelRow) => `${row.hierarchy ?? ""}/${row.level ?? ""}`;
const whole = (text: string) => (/^[1-9]\d*$/.test(text.trim()) ? "" : "Enter a whole number, 1 or more");

export function GangForm() {
  const { gang, readOnly, changeGang } = useCanvas();
  const { size = 1, min = 0, level = "", hierarchy = "", levels = [], note = "" } = gang;
  const now = levels.find((row) => row.level === level && (!level || !row.hierarchy || row.hierarchy === hierarchy));
  const change = (by: Partial<GangRow>) => changeGang({ ...gang, ...by });
  return (
    <div className="dra-form">
      <TextField
        label="Pods"
        value={String(size)}
        check={whole}
        onDone={(text) => change({ size: Number(text), min: min >= Number(text) ? 0 : min })}
      />
      <TextField
        label="At least"
        value={String(min || size)}
        check={(text) => whole(text) || (Number(text) > size ? `Enter at most ${size}` : "")}
        onDone={(text) => change({ min: Number(text) >= size ? 0 : Number(text) })}
        note="The gang starts with these pods or not at all."
      />
      <Field label="All in one" note={note}>
        <select
          value={now ? keyOf(now) : ""}
          disabled={readOnly}
          onChange={(event) => {
            const row = levels.find((one) => keyOf(one) === event.currentTarget.value);
            if (row) change({ level: row.level ?? "", hierarchy: row.hierarchy ?? "", prefer: "" });
          }}
        >
          {!now && <option value="">{level}</option>}
          {levels.map((row) => (
            <option key={keyOf(row)} value={keyOf(row)} title={row.source}>
              {row.label}
            </option>
          ))}
        </select>
      </Field>
      <p className="dra-hint">Plan answers for one pod. Fleet answers for the gang.</p>
    </div>
  );
}
