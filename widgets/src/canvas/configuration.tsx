// Device configuration: parameters that a claim passes on to a driver, as YAML or JSON. Python reads and checks them.
import { useEffect, useId, useRef, useState } from "react";
import type { ConfigRow, DeviceRequest } from "../generated/models";
import { claimOf, inClaim, shortName } from "./claims";
import { useCanvas } from "./editor";
import { PlainText, useDraft, Wrong } from "./fields";
import { useChannel, useTrait } from "./model";
import { requestOf } from "./sketch";

interface Props {
  request: DeviceRequest;
  /** The drivers of the devices that match, for a new entry. */
  drivers: readonly string[];
  isAdding: boolean;
  onAdded(): void;
}

/** The entries for a request, those for every request of the claim included. */
export function Configuration({ request, drivers, isAdding, onAdded }: Props) {
  const { sketch, status } = useCanvas();
  const all = sketch.config ?? [];
  const own = all.flatMap((entry, index) => {
    const requests = entry.requests ?? [];
    const all = inClaim(claimOf(request.name), "");
    const isOwn = requests.some((name) => name === all || requestOf(name) === request.name);
    return !requests.length || isOwn ? [{ index, requests }] : [];
  });
  const count = all.length;
  const before = useRef(count);
  useEffect(() => {
    if (count > before.current) onAdded();
    before.current = count;
  }, [count, onAdded]);
  return (
    <>
      {own.map(({ index, requests }) => (
        <Entry key={index} index={index} requests={requests} row={status.config?.[index] ?? {}} />
      ))}
      {isAdding && <Entry index={count} requests={[request.name]} row={{ driver: drivers[0] ?? "" }} isNew />}
    </>
  );
}

interface EntryProps {
  index: number;
  requests: readonly string[];
  row: ConfigRow;
  isNew?: boolean;
}

function Entry({ index, requests, row, isNew = false }: EntryProps) {
  const { readOnly } = useCanvas();
  const channel = useChannel();
  const answer = useTrait("configured");
  const [driver, setDriver] = useState(row.driver ?? "");
  const id = useId();
  useEffect(() => setDriver(row.driver ?? ""), [row.driver]);
  const send = (text: string, of = driver) =>
    channel.send({ type: "configure", index, requests: [...requests], driver: of, text });
  const { input } = useDraft({ value: row.text ?? "", onDone: (text) => send(text) });
  const names = requests.map(shortName).filter(Boolean);
  const others = names.length === 0 ? "for every request" : names.length > 1 ? `for ${names.join(", ")}` : "";
  return (
    <div className="dra-field" role="group" aria-label={`Device configuration ${index + 1}`}>
      <span className="dra-label" aria-hidden="true">
        Device config
      </span>
      <div className="dra-control dra-row">
        <PlainText
          label="driver"
          mono
          value={driver}
          placeholder="gpu.example.com"
          onDone={(text) => {
            setDriver(text);
            if (!isNew && row.text) send(row.text, text);
          }}
        />
        {others && <span className="dra-hint">{others}</span>}
        {!readOnly && !isNew && (
          <button type="button" className="dra-button" onClick={() => send("")}>
            Remove
          </button>
        )}
      </div>
      <code className="dra-api">config[{index}].opaque</code>
      <div className="dra-note">
        <label className="dra-sr" htmlFor={id}>
          parameters
        </label>
        <textarea
          id={id}
          className="is-mono"
          rows={Math.min(6, Math.max(2, input.value.split("\n").length))}
          spellCheck={false}
          readOnly={readOnly}
          placeholder={"YAML or JSON, such as\nsharing: {strategy: TimeSlicing}"}
          {...input}
        />
        {answer.message && (answer.index ?? 0) === index && <Wrong>{answer.message}</Wrong>}
      </div>
    </div>
  );
}
