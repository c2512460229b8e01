// The taints that a request tolerates, a row each.

import { Button } from "../components/button";
import { Wrong } from "../components/field";
import type { FieldRow } from "../components/form";
import { Select, TextInput } from "../components/inputs";
import type { DeviceToleration } from "../generated/models";
import type { PartTable } from "./part_form";

const EFFECTS = ["", "NoSchedule", "NoExecute"].map((value) => ({ value, label: value || "any effect" }));
const OPERATORS = [
  { value: "Equal", label: "equals" },
  { value: "Exists", label: "exists" },
];

export function tolerationRows({ part, root, gates, readOnly, change }: PartTable): readonly FieldRow[] {
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
