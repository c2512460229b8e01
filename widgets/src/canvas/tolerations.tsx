// The taints that a request tolerates, a row each.

import { Button } from "../components/button";
import { Group, Wrong } from "../components/field";
import { Select, TextInput } from "../components/inputs";
import type { DeviceToleration } from "../generated/models";
import { useCanvas } from "./editor";
import type { Part } from "./sketch";

const EFFECTS = ["", "NoSchedule", "NoExecute"].map((value) => ({ value, label: value || "any effect" }));
const OPERATORS = [
  { value: "Equal", label: "equals" },
  { value: "Exists", label: "exists" },
];

interface Props {
  part: Part;
  api: string;
  /** Why the release has no tolerations; undefined where it has them. */
  gap: string | undefined;
  onChange(next: readonly DeviceToleration[]): void;
}

export function Tolerations({ part, api, gap, onChange }: Props) {
  const { readOnly } = useCanvas();
  const list = part.tolerations ?? [];
  if (!list.length) return null;
  const set = (index: number, change: Partial<DeviceToleration>) =>
    onChange(list.map((old, i) => (i === index ? { ...old, ...change } : old)));
  return list.map((toleration, i) => (
    <Group
      // biome-ignore lint/suspicious/noArrayIndexKey: tolerations have no name, and two may be equal
      key={i}
      label={i === 0 ? "Tolerates" : ""}
      name={`Toleration ${i + 1}`}
      api={`${api}[${i}]`}
      note={gap && i === 0 ? <Wrong>{gap}</Wrong> : undefined}
    >
      <TextInput
        readOnly={readOnly}
        aria-label="tolerates"
        value={toleration.key ?? ""}
        placeholder="any taint"
        onDone={(key) => set(i, { key: key.trim() })}
      />
      <Select
        label="operator"
        value={toleration.operator ?? "Equal"}
        options={OPERATORS}
        disabled={readOnly}
        onChoose={(operator) => set(i, { operator, ...(operator === "Exists" ? { value: "" } : {}) })}
      />
      {toleration.operator !== "Exists" && (
        <TextInput
          readOnly={readOnly}
          aria-label="value"
          value={toleration.value ?? ""}
          placeholder="value"
          onDone={(value) => set(i, { value: value.trim() })}
        />
      )}
      <Select
        label="effect"
        value={toleration.effect ?? ""}
        options={EFFECTS}
        disabled={readOnly}
        onChoose={(effect) => set(i, { effect })}
      />
      {!readOnly && (
        <Button
          kind="quiet"
          icon="cross"
          label={`Remove toleration ${i + 1}`}
          onClick={() => onChange(list.filter((_, j) => j !== i))}
        />
      )}
    </Group>
  ));
}
