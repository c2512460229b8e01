// For which release and workload the manifests are, and where they go.
import { useId } from "react";
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { Folder, Namespace, Release, Select } from "./inputs";
import { Workload } from "./workload";

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
        <Release row={row} />
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
          </div>
        </fieldset>
        <Namespace row={row} />
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
        <Folder row={row}>
          <Extras row={row} />
        </Folder>
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
