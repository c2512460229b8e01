// The taints that a request tolerates, a row each.
import type { DeviceToleration } from "../generated/models";
import { Icon } from "../view/icon";
import { useCanvas } from "./editor";
import { Group, PlainText, Wrong } from "./fields";
import type { Part } from "./sketch";

const EFFECTS = ["", "NoSchedule", "NoExecute"] as const;

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
      <PlainText
        label="tolerates"
        value={toleration.key ?? ""}
        placeholder="any taint"
        onDone={(key) => set(i, { key: key.trim() })}
      />
      <select
        aria-label="operator"
        value={toleration.operator ?? "Equal"}
        disabled={readOnly}
        onChange={(e) => set(i, { operator: e.target.value, ...(e.target.value === "Exists" ? { value: "" } : {}) })}
      >
        <option value="Equal">equals</option>
        <option value="Exists">exists</option>
      </select>
      {toleration.operator !== "Exists" && (
        <PlainText
          label="value"
          value={toleration.value ?? ""}
          placeholder="value"
          onDone={(value) => set(i, { value: value.trim() })}
        />
      )}
      <select
        aria-label="effect"
        value={toleration.effect ?? ""}
        disabled={readOnly}
        onChange={(e) => set(i, { effect: e.target.value })}
      >
        {EFFECTS.map((effect) => (
          <option key={effect} value={effect}>
            {effect || "any effect"}
          </option>
        ))}
      </select>
      {!readOnly && (
        <button
          type="button"
          className="dra-tool"
          aria-label={`Remove toleration ${i + 1}`}
          onClick={() => onChange(list.filter((_, j) => j !== i))}
        >
          <Icon name="cross" />
        </button>
      )}
    </Group>
  ));
}
