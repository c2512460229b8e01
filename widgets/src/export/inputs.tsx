// The inputs of the Export sheet, and the settings that every export has.
import { type ReactNode, useEffect, useId, useRef } from "react";
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { onEnter } from "../view/keys";

export function Release({ row }: { row: ExportRow }) {
  const channel = useChannel();
  return (
    <Select
      label="Release"
      value={row.choice.release ?? ""}
      options={(row.releases ?? []).map((one) => [one, `Kubernetes ${one}`])}
      onChoose={(release) => channel.send({ type: "choose-export", release })}
    />
  );
}

export function Namespace({ row }: { row: ExportRow }) {
  const channel = useChannel();
  return (
    <Field
      label="Namespace"
      value={row.choice.namespace ?? ""}
      placeholder="chosen by kubectl apply -n"
      options={row.namespaces ?? []}
      onSet={(namespace) => channel.send({ type: "choose-export", namespace })}
    />
  );
}

export function Folder({ row, children }: { row: ExportRow; children?: ReactNode }) {
  const channel = useChannel();
  return (
    <Field
      label="Folder"
      value={row.choice.folder ?? ""}
      placeholder="manifests"
      onSet={(folder) => channel.send({ type: "choose-export", folder })}
    >
      <p className="dra-hint">relative to this notebook</p>
      {children}
    </Field>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChoose(value: string): void;
}

export function Select({ label, value, options, onChoose }: SelectProps) {
  const id = useId();
  return (
    <div className="dra-setting">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="dra-button" value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([key, words]) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

interface FieldProps {
  label: string;
  value: string;
  placeholder: string;
  options?: readonly string[];
  onSet(value: string): void;
  children?: ReactNode;
}

/** A text that is sent when a person leaves the field or presses Enter. */
export function Field({ label, value, placeholder, options, onSet, children }: FieldProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && field.current !== document.activeElement) field.current.value = value;
  }, [value]);
  const send = () => {
    const text = field.current?.value.trim() ?? "";
    if (text !== value) onSet(text);
  };
  return (
    <div className="dra-setting">
      <label htmlFor={id}>{label}</label>
      <div>
        <input
          ref={field}
          id={id}
          className="dra-field"
          type="text"
          defaultValue={value}
          placeholder={placeholder}
          list={options?.length ? `${id}-options` : undefined}
          spellCheck={false}
          autoComplete="off"
          onBlur={send}
          onKeyDown={onEnter(send)}
        />
        {options?.length ? (
          <datalist id={`${id}-options`}>
            {options.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        ) : null}
        {children}
      </div>
    </div>
  );
}
