// What is exported: kind, lines, for which release it is valid, and what kube-scheduler does with it.
import type { OutgoingRow } from "../generated/models";
import { Icon, type IconName } from "../view/icon";
import { keyed } from "../view/keyed";
import { useChannel, useTrait } from "./model";

const SIGNS: Readonly<Record<NonNullable<OutgoingRow["tone"]>, IconName>> = {
  ok: "check",
  plain: "note",
  warn: "warning",
  error: "error",
};

export function Outgoing({ onYaml }: { onYaml(): void }) {
  const channel = useChannel();
  const [rows, pin] = [useTrait("outgoing"), useTrait("pin_offer")];
  return (
    <section className="dra-outgoing" aria-label="What you export">
      <h3>What you export</h3>
      <ul>
        {keyed(rows, (row) => row.text).map(([key, row]) => (
          <li key={key} data-tone={row.tone ?? "ok"}>
            <Icon name={SIGNS[row.tone ?? "ok"]} />
            <span>{row.text}</span>
          </li>
        ))}
      </ul>
      {pin.text && (
        <label className="dra-switch">
          <input
            type="checkbox"
            role="switch"
            aria-checked={pin.on ?? false}
            checked={pin.on ?? false}
            onChange={(event) => channel.send({ type: "choose-export", pin: event.currentTarget.checked })}
          />
          <span>
            <b>Pin so that it allocates this plan.</b> {pin.text}
          </span>
        </label>
      )}
      <div className="dra-row">
        <button type="button" className="dra-link" onClick={onYaml}>
          Show YAML
        </button>
        <button type="button" className="dra-link" onClick={() => channel.send({ type: "show-export" })}>
          Show what you export
        </button>
      </div>
    </section>
  );
}
