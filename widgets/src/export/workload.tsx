// The person's own workload, which gets the claims in place of an example.
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { Field } from "./inputs";

/** The file of a workload that gets the claims, in place of an example. */
export function Workload({ row, canPatch = true }: { row: ExportRow; canPatch?: boolean }) {
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
      {choice.workload && canPatch ? (
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
