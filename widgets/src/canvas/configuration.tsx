// Device configuration: parameters that a claim passes on to a driver, as YAML or JSON. Python reads and checks them.

import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import { Wrong } from "../components/field";
import { Fields } from "../components/form";
import type { ConfigRow, DeviceRequest } from "../generated/models";
import { claimOf, inClaim, shortName } from "./claims";
import { useCanvas } from "./editor";
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
  useEffect(() => setDriver(row.driver ?? ""), [row.driver]);
  const send = (text: string, of = driver) =>
    channel.send({ type: "configure", index, requests: [...requests], driver: of, text });
  const names = requests.map(shortName).filter(Boolean);
  const others = names.length === 0 ? "for every request" : names.length > 1 ? `for ${names.join(", ")}` : "";
  return (
    <Fields
      readOnly={readOnly}
      fields={[
        {
          kind: "text",
          label: "Device config",
          group: `Device configuration ${index + 1}`,
          name: "driver",
          isMono: true,
          value: driver,
          placeholder: "gpu.example.com",
          api: `config[${index}].opaque.driver`,
          onSet: (text) => {
            setDriver(text);
            if (!isNew && row.text) send(row.text, text);
          },
          more: (
            <>
              {others && <span className="dra-hint">{others}</span>}
              {!readOnly && !isNew && <Button onClick={() => send("")}>Remove</Button>}
            </>
          ),
        },
        {
          kind: "area",
          label: "Parameters",
          name: "parameters",
          value: row.text ?? "",
          placeholder: "YAML or JSON, such as sharing: {strategy: TimeSlicing}",
          api: `config[${index}].opaque.parameters`,
          note: answer.message && (answer.index ?? 0) === index && <Wrong>{answer.message}</Wrong>,
          onSet: (text) => send(text),
        },
      ]}
    />
  );
}
