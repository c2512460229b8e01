// For which release and workload the manifests are, and where they go.
import { Card } from "../components/card";
import { optionsOf } from "../components/choice";
import { Form } from "../components/form";
import { Check } from "../components/inputs";
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { useCommonFields } from "./inputs";
import { useWorkloadField } from "./workload";

const API_VERSIONS = ["v1", "v1beta2", "v1beta1"];
const KINDS = optionsOf([
  ["template", "Template"],
  ["claim", "Claim"],
]);
const EXAMPLES = optionsOf([
  ["pod", "an example Pod"],
  ["deployment", "an example Deployment"],
  ["statefulset", "an example StatefulSet"],
  ["job", "an example Job"],
  ["none", "nothing"],
]);

export function Settings({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const { choice, fleet = 0, containers = [], pins = [] } = row;
  const { release, namespace, folder } = useCommonFields(row);
  const workload = useWorkloadField(row);
  return (
    <>
      <Form
        fields={[
          release,
          {
            kind: "select",
            label: "API version",
            value: choice.apiVersion ?? "v1",
            options: optionsOf(API_VERSIONS.map((one) => [one, `resource.k8s.io/${one}`])),
            onSet: (apiVersion) => channel.send({ type: "choose-export", apiVersion }),
          },
          {
            kind: "choice",
            label: "Kind",
            value: choice.kind ?? "template",
            options: KINDS.map((one) => ({ ...one, isOff: fleet > 0 && one.value === "claim" })),
            note: `${choice.kind === "claim" ? "ResourceClaim" : "ResourceClaimTemplate"}: ${row.meaning}${
              fleet > 0 ? ". Pods of a fleet cannot share one claim." : ""
            }`,
            onSet: (kind) => channel.send({ type: "choose-export", kind }),
          },
          namespace,
          (fleet < 2 || Boolean(choice.workload)) && workload,
          containers.length > 1 && {
            kind: "select",
            label: "Container",
            value: choice.container ?? "",
            options: optionsOf([
              ["", "the one with devices, or the first"],
              ...containers.map((one) => [one, one] as const),
            ]),
            onSet: (container) => channel.send({ type: "choose-export", container }),
          },
          !choice.workload && {
            kind: "select",
            label: fleet > 1 ? "Examples" : "Without one",
            value: choice.example ?? "pod",
            options: EXAMPLES,
            onSet: (example) => channel.send({ type: "choose-export", example }),
          },
          { ...folder, note: [folder.note, <Extras key="extras" row={row} />] },
        ]}
      />
      {pins.length > 0 && (
        <Card title="What the pin changes">
          <ul>
            {pins.map((pin) => (
              <li key={pin.text}>
                <b>{pin.text}</b>: {pin.reason}. {pin.price[0]?.toUpperCase() + pin.price.slice(1)}.
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

/** The extra files that the export can have. */
function Extras({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const extras = row.extras ?? [];
  const chosen = extras.filter((one) => one.chosen).map((one) => one.name);
  const turn = (name: string, isOn: boolean) =>
    channel.send({
      type: "choose-export",
      extra: isOn ? [...chosen, name] : chosen.filter((other) => other !== name),
    });
  return extras.map(({ name, words, chosen: isChosen = false }) => (
    <Check key={name} checked={isChosen} onTurn={(isOn) => turn(name, isOn)}>
      {words}
    </Check>
  ));
}
