// The card of the frame that keeps several such pods together: how many, and in one of what.
import { Form } from "../components/form";
import type { GangRow, LevelRow } from "../generated/models";
import { useCanvas } from "./editor";

const keyOf = (row: LevelRow) => `${row.hierarchy ?? ""}/${row.level ?? ""}`;
const whole = (text: string) => (/^[1-9]\d*$/.test(text.trim()) ? "" : "Enter a whole number, 1 or more");

export function GangForm() {
  const { gang, readOnly, changeGang } = useCanvas();
  const { size = 1, min = 0, level = "", hierarchy = "", levels = [], note = "" } = gang;
  const now = levels.find((row) => row.level === level && (!level || !row.hierarchy || row.hierarchy === hierarchy));
  const change = (by: Partial<GangRow>) => changeGang({ ...gang, ...by });
  return (
    <Form
      readOnly={readOnly}
      fields={[
        {
          kind: "text",
          label: "Pods",
          value: String(size),
          check: whole,
          onSet: (text) => change({ size: Number(text), min: min >= Number(text) ? 0 : min }),
        },
        {
          kind: "text",
          label: "At least",
          value: String(min || size),
          check: (text) => whole(text) || (Number(text) > size ? `Enter at most ${size}` : ""),
          note: "The gang starts with these pods or not at all.",
          onSet: (text) => change({ min: Number(text) >= size ? 0 : Number(text) }),
        },
        {
          kind: "select",
          label: "All in one",
          value: now ? keyOf(now) : "",
          options: [
            ...(now ? [] : [{ value: "", label: level }]),
            ...levels.map((row) => ({ value: keyOf(row), label: row.label, title: row.source })),
          ],
          note,
          onSet: (key) => {
            const row = levels.find((one) => keyOf(one) === key);
            if (row) change({ level: row.level ?? "", hierarchy: row.hierarchy ?? "", prefer: "" });
          },
        },
      ]}
    >
      <p className="dra-hint">Plan answers for one pod. Fleet answers for the gang.</p>
    </Form>
  );
}
