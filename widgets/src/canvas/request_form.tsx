// The card of a request: its alternatives, its device configuration, and its name.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import { Fields, Wrong } from "../components/form";
import { named } from "../components/inputs";
import type { ConfigRow, DeviceRequest } from "../generated/models";
import { claimOf, claimsOf, inClaim, shortName } from "./claims";
import { useCanvas, useChannel, useTrait } from "./editor";
import { PartForm } from "./part_form";
import {
  addAlternative,
  freeName,
  isAll,
  moveAlternative,
  type Part,
  partsOf,
  removeAlternative,
  requestOf,
} from "./sketch";
import { partLabel } from "./wording";

// Device configuration: parameters that a claim passes on to a driver, as YAML or JSON. Python reads and checks them.
interface ConfigurationProps {
  request: DeviceRequest;
  /** The drivers of the devices that match, for a new entry. */
  drivers: readonly string[];
  isAdding: boolean;
  onAdded(): void;
}

/** The entries for a request, those for every request of the claim included. */
function Configuration({ request, drivers, isAdding, onAdded }: ConfigurationProps) {
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

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** What is wrong with a new name, in the words of the API's rule; "" for nothing. */
export function wrongName(taken: (name: string) => boolean, own: string, name: string): string {
  if (!LABEL.test(name)) return "Use lower-case letters, digits and -, beginning and ending with a letter or digit.";
  return name !== own && taken(name) ? `There is another ${name}.` : "";
}

interface Props {
  request: DeviceRequest;
  onRenamed(to: string): void;
  onLink(): void;
  /** Move it to another claim of the pod. */
  onMove(claim: string): void;
}

export function RequestForm({ request, onRenamed, onLink, onMove }: Props) {
  const { sketch, status, edit, readOnly } = useCanvas();
  const [way, setWay] = useState(0);
  const [isConfiguring, setConfiguring] = useState(false);
  const parts = partsOf(request);
  const index = Math.min(way, parts.length - 1);
  const part = parts[index];
  if (!part) return null;
  const claim = claimOf(request.name);
  const taken = (name: string) => freeName(sketch, inClaim(claim, name)) !== inClaim(claim, name);
  const told = status.requests?.[request.name];
  const gap = status.gates?.firstAvailable;
  return (
    <div className="dra-stack">
      {told?.note && <Wrong>{told.note}</Wrong>}
      <Fields
        readOnly={readOnly}
        fields={[
          claim !== "" && {
            kind: "select",
            label: "Claim",
            value: claim,
            options: named(claimsOf(sketch)),
            api: status.claims?.[claim]?.field ?? "spec.resourceClaims[].name",
            onSet: onMove,
          },
          parts.length > 1 && {
            kind: "none",
            label: "Alternatives",
            group: "Alternatives, tried in this order",
            api: parts.map((_, i) => (i ? `[${i}]` : "firstAvailable[0]")).join(", "),
            more: <Ways request={request} index={index} onPick={setWay} />,
          },
        ]}
      />
      <PartForm key={`${request.name}/${index}`} request={request} part={part} index={index}>
        <Adding label="Configure the driver" onClick={() => setConfiguring(true)} />
        <Adding
          label="Add an alternative"
          gap={gap}
          onClick={() => {
            edit((s) => addAlternative(s, request.name));
            setWay(parts.length);
          }}
        />
        {!isSingle(part) && <Adding label="Link its devices" onClick={onLink} />}
      </PartForm>
      <Configuration
        request={request}
        drivers={told?.parts?.[index]?.drivers ?? []}
        isAdding={isConfiguring}
        onAdded={() => setConfiguring(false)}
      />
      <Fields
        readOnly={readOnly}
        fields={[
          {
            kind: "text",
            label: "Name",
            value: shortName(request.name),
            api: "name",
            check: (name) => wrongName(taken, shortName(request.name), name),
            onSet: (name) => onRenamed(inClaim(claim, name)),
          },
        ]}
      />
      {readOnly && <p className="dra-hint">This drawing cannot be changed here.</p>}
    </div>
  );
}

const isSingle = (part: Part): boolean => !isAll(part) && (part.count ?? 1) <= 1;

/** A button that adds something to a request, greyed with the reason where the release has no such field. */
export function Adding({ label, gap, onClick }: { label: string; gap?: string | undefined; onClick(): void }) {
  return (
    <Button disabled={Boolean(gap)} title={gap} onClick={onClick}>
      + {label}
    </Button>
  );
}

function Ways({ request, index, onPick }: { request: DeviceRequest; index: number; onPick(index: number): void }) {
  const { edit, readOnly } = useCanvas();
  const ways = request.firstAvailable ?? [];
  const move = (by: -1 | 1) => {
    edit((s) => moveAlternative(s, request.name, index, by));
    onPick(index + by);
  };
  const drop = () => {
    edit((s) => removeAlternative(s, request.name, index));
    onPick(0);
  };
  const act = (label: string, words: ReactNode, disabled: boolean, onClick: () => void) => (
    <Button label={label} title={label} disabled={disabled} onClick={onClick}>
      {words}
    </Button>
  );
  return (
    <>
      {ways.map((way, i) => (
        <Button key={way.name} pressed={i === index} title={way.name} onClick={() => onPick(i)}>
          {i + 1}. {partLabel(way)}
        </Button>
      ))}
      {!readOnly && (
        <>
          {act("Try this alternative earlier", "\u2190", index === 0, () => move(-1))}
          {act("Try this alternative later", "\u2192", index === ways.length - 1, () => move(1))}
          {act("Remove this alternative", "Remove", false, drop)}
        </>
      )}
    </>
  );
}
