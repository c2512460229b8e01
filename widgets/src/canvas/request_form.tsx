// The form of a request: its ways to be served, and its name.
import { useState } from "react";
import type { DeviceRequest } from "../generated/models";
import { useCanvas } from "./editor";
import { TextField } from "./fields";
import { PartForm } from "./part_form";
import { addAlternative, freeName, partsOf, removeAlternative } from "./sketch";

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** What is wrong with a new name, in the words of the API's rule; "" for nothing. */
export function wrongName(taken: (name: string) => boolean, own: string, name: string): string {
  if (!LABEL.test(name)) return "Use lower-case letters, digits and -, beginning and ending with a letter or digit.";
  return name !== own && taken(name) ? `There is another ${name}.` : "";
}

export function RequestForm({
  request,
  onRenamed,
  onLink,
}: {
  request: DeviceRequest;
  onRenamed(to: string): void;
  onLink(): void;
}) {
  const { sketch, edit } = useCanvas();
  const [way, setWay] = useState(0);
  const parts = partsOf(request);
  const index = Math.min(way, parts.length - 1);
  const part = parts[index];
  if (!part) return null;
  const taken = (name: string) => freeName(sketch, name) !== name;
  return (
    <div className="dra-form">
      {parts.length > 1 && <Ways request={request} index={index} onPick={setWay} />}
      <PartForm key={`${request.name}/${index}`} request={request} part={part} index={index}>
        <button
          type="button"
          className="dra-button"
          onClick={() => {
            edit((s) => addAlternative(s, request.name));
            setWay(parts.length);
          }}
        >
          Add an alternative
        </button>
        <button type="button" className="dra-button" onClick={onLink}>
          Link its devices
        </button>
      </PartForm>
      <TextField
        label="name"
        value={request.name}
        check={(name) => wrongName(taken, request.name, name)}
        onDone={onRenamed}
      />
    </div>
  );
}

function Ways({ request, index, onPick }: { request: DeviceRequest; index: number; onPick(index: number): void }) {
  const { edit, readOnly } = useCanvas();
  const ways = request.firstAvailable ?? [];
  return (
    <div className="dra-field is-wide dra-row" role="group" aria-label="Alternatives, tried in this order">
      {ways.map((way, i) => (
        <button
          key={way.name}
          type="button"
          className="dra-button"
          aria-pressed={i === index}
          onClick={() => onPick(i)}
        >
          {i + 1}. {way.name}
        </button>
      ))}
      {!readOnly && (
        <button
          type="button"
          className="dra-button"
          onClick={() => {
            edit((s) => removeAlternative(s, request.name, index));
            onPick(0);
          }}
        >
          Remove {ways[index]?.name}
        </button>
      )}
    </div>
  );
}
