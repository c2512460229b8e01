// For which release and workload the manifests are, and where they go.
import { type ReactNode, useEffect, useId, useRef } from "react";
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { onEnter } from "../view/keys";

const API_VERSIONS = ["v1", "v1beta2", "v1beta1"];
const KINDS = [
  ["template", "Template"],
  ["claim", "Claim"],
] as const;
const EXAMPLES = [
  ["pod", "an example Pod"],
  ["deployment", "an example Deployment"],
  ["statefulset", "an example StatefulSet"],
  ["job", "an example Job"],
  ["none", "nothing"],
] as const;

export function Settings({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const name = useId();
  const { choice, fleet = 0, containers = [], pins = [] } = row;
  return (
    <>
      <div className="dra-settings">
        <Select
          label="Release"
          value={choice.release ?? ""}
          options={(row.releases ?? []).map((one) => [one, `Kubernetes ${one}`])}
          onChoose={(release) => channel.send({ type: "choose-export", release })}
        />
        <Select
          label="API version"
          value={choice.apiVersion ?? "v1"}
          options={API_VERSIONS.map((one) => [one, `resource.k8s.io/${one}`])}
          onChoose={(apiVersion) => channel.send({ type: "choose-export", apiVersion })}
        />
        <fieldset className="dra-setting">
          <legend>Kind</legend>
          <div>
            <div className="dra-toggle">
              {KINDS.map(([kind, label]) => (
                <label key={kind}>
                  <input
                    type="radio"
                    name={name}
                    checked={(choice.kind ?? "template") === kind}
                    disabled={fleet > 0 && kind === "claim"}
                    onChange={() => channel.send({ type: "choose-export", kind })}
                  />
                  <span>{label}</span>
                </label>
              ))}
            </div>
            <p className="dra-hint">
              {choice.kind === "claim" ? "ResourceClaim" : "ResourceClaimTemplate"}: {row.meaning}
              {fleet > 0 && ". Pods of a fleet cannot share one claim."}
            </p>
            {fleet > 0 && !choice.workload && (
              <label className="dra-check">
                <input
                  type="checkbox"
                  checked={choice.split ?? false}
                  onChange={(event) => channel.send({ type: "choose-export", split: event.currentTarget.checked })}
                />
                split a workload that one template cannot pin
              </label>
            )}
          </div>
        </fieldset>
        <Field
          label="Namespace"
          value={choice.namespace ?? ""}
          placeholder="chosen by kubectl apply -n"
          options={row.namespaces ?? []}
          onSet={(namespace) => channel.send({ type: "choose-export", namespace })}
        />
        {(fleet < 2 || choice.workload) && <Workload row={row} />}
        {containers.length > 1 && (
          <Select
            label="Container"
            value={choice.container ?? ""}
            options={[["", "the one with devices, or the first"], ...containers.map((one) => [one, one] as const)]}
            onChoose={(container) => channel.send({ type: "choose-export", container })}
          />
        )}
        {!choice.workload && (
          <Select
            label={fleet > 1 ? "Examples" : "Without one"}
            value={choice.example ?? "pod"}
            options={EXAMPLES}
            onChoose={(example) => channel.send({ type: "choose-export", example })}
          />
        )}
        <Field
          label="Folder"
          value={choice.folder ?? ""}
          placeholder="manifests"
          onSet={(folder) => channel.send({ type: "choose-export", folder })}
        >
          <p className="dra-hint">relative to this notebook</p>
          <Extras row={row} />
        </Field>
      </div>
      {pins.length > 0 && (
        <section className="dra-sheet-card" aria-label="What the pin changes">
          <h3>What the pin changes</h3>
          <ul>
            {pins.map((pin) => (
              <li key={pin.text}>
                <b>{pin.text}</b>: {pin.reason}. {pin.price[0]?.toUpperCase() + pin.price.slice(1)}.
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** The file of a workload that gets the claims, in place of an example. */
function Workload({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const { choice, templates = [] } = row;
  return (
    <Field
      label="Workload"
      value={choice.workload ?? ""}
      placeholder="file with pods, such as a Job"
      onSet={(workload) => channel.send({ type: "choose-export", workload })}
    >
      {templates.length > 0 ? <Templates row={row} /> : null}
      {choice.workload ? (
        <label className="dra-check">
          <input
            type="checkbox"
            checked={choice.patch ?? false}
            onChange={(event) => channel.send({ type: "choose-export", patch: event.currentTarget.checked })}
          />
          a kustomize patch instead of a copy
        </label>
      ) : null}
    </Field>
  );
}

/** The extra files that the export can have. */
function Extras({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const extras = row.extras ?? [];
  const chosen = extras.filter((one) => one.chosen).map((one) => one.name);
  return extras.map((one) => (
    <label key={one.name} className="dra-check">
      <input
        type="checkbox"
        checked={one.chosen ?? false}
        onChange={(event) =>
          channel.send({
            type: "choose-export",
            extra: event.currentTarget.checked ? [...chosen, one.name] : chosen.filter((name) => name !== one.name),
          })
        }
      />
      {one.words}
    </label>
  ));
}

/** Which pod templates of the workload get the claim. */
function Templates({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const templates = row.templates ?? [];
  const chosen = templates.filter((one) => one.chosen).map((one) => one.path);
  return (
    <ul className="dra-templates" aria-label="Pod templates that get the claim">
      {templates.map((one) => (
        <li key={one.path}>
          <label className="dra-check">
            <input
              type="checkbox"
              checked={one.chosen ?? false}
              onChange={(event) =>
                channel.send({
                  type: "choose-export",
                  templates: event.currentTarget.checked
                    ? [...chosen, one.path]
                    : chosen.filter((path) => path !== one.path),
                })
              }
            />
            <code>{one.path}</code> <span className="dra-dim">{one.words}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChoose(value: string): void;
}

function Select({ label, value, options, onChoose }: SelectProps) {
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
function Field({ label, value, placeholder, options, onSet, children }: FieldProps) {
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
