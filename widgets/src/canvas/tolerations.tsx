// The taints that a request tolerates, a row each.
import type { DeviceToleration } from "../generated/models";
import { Icon } from "../view/icon";
import { useCanvas } from "./editor";
import { TextField } from "./fields";
import type { Part } from "./sketch";

const EFFECTS = ["", "NoSchedule", "NoExecute"] as const;

export function Tolerations({ part, onChange }: { part: Part; onChange(next: readonly DeviceToleration[]): void }) {
  const { readOnly } = useCanvas();
  const list = part.tolerations ?? [];
  if (!list.length) return null;
  const set = (index: number, change: Partial<DeviceToleration>) =>
    onChange(list.map((old, i) => (i === index ? { ...old, ...change } : old)));
  return (
    <div className="dra-field is-wide dra-tolerations">
      {list.map((toleration, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tolerations have no name, and two may be equal
        <div key={i} className="dra-row" role="group" aria-label={`Toleration ${i + 1}`}>
          <TextField label="tolerates" value={toleration.key ?? ""} onDone={(key) => set(i, { key: key.trim() })} />
          <select
            aria-label="operator"
            value={toleration.operator ?? "Equal"}
            disabled={readOnly}
            onChange={(e) =>
              set(i, { operator: e.target.value, ...(e.target.value === "Exists" ? { value: "" } : {}) })
            }
          >
            <option value="Equal">equals</option>
            <option value="Exists">exists</option>
          </select>
          {toleration.operator !== "Exists" && (
            <TextField
              label="value"
              value={toleration.value ?? ""}
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
        </div>
      ))}
    </div>
  );
}
