// The person's own workload, which gets the claims in place of an example.
import type { FieldRow } from "../components/form";
import { Check } from "../components/inputs";
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";

/** The row of the file of a workload that gets the claims, in place of an example. */
export function useWorkloadField(row: ExportRow, canPatch = true): FieldRow {
  const channel = useChannel();
  const { choice, templates = [] } = row;
  const isPatchable = Boolean(choice.workload) && canPatch;
  return {
    kind: "text",
    label: "Workload",
    value: choice.workload ?? "",
    placeholder: "file with pods, such as a Job",
    onSet: (workload) => channel.send({ type: "choose-export", workload: workload.trim() }),
    note: (templates.length > 0 || isPatchable) && (
      <>
        {templates.length > 0 && <Templates row={row} />}
        {isPatchable && (
          <Check checked={choice.patch ?? false} onTurn={(patch) => channel.send({ type: "choose-export", patch })}>
            a kustomize patch instead of a copy
          </Check>
        )}
      </>
    ),
  };
}

/** Which pod templates of the workload get the claim. */
function Templates({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const templates = row.templates ?? [];
  const chosen = templates.filter((one) => one.chosen).map((one) => one.path);
  const turn = (path: string, isOn: boolean) =>
    channel.send({
      type: "choose-export",
      templates: isOn ? [...chosen, path] : chosen.filter((other) => other !== path),
    });
  return (
    <ul aria-label="Pod templates that get the claim">
      {templates.map(({ path, words, chosen: isChosen = false }) => (
        <li key={path}>
          <Check checked={isChosen} onTurn={(isOn) => turn(path, isOn)}>
            <code>{path}</code> <span className="dra-dim">{words}</span>
          </Check>
        </li>
      ))}
    </ul>
  );
}
