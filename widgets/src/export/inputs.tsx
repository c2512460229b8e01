// The rows that every export's form has.
import { named, optionsOf } from "../components/choice";
import type { FieldRow } from "../components/form";
import type { ExportRow } from "../generated/models";
import { useChannel } from "../plan/model";

/** For which release, in which namespace and folder; `extras` stand below the folder. */
export function useCommonFields({ choice, releases = [], namespaces }: ExportRow) {
  const channel = useChannel();
  const release: FieldRow = {
    kind: "select",
    label: "Release",
    value: choice.release ?? "",
    options: optionsOf(releases.map((one) => [one, `Kubernetes ${one}`])),
    onSet: (value) => channel.send({ type: "choose-export", release: value }),
  };
  const namespace: FieldRow = {
    kind: "text",
    label: "Namespace",
    value: choice.namespace ?? "",
    placeholder: "chosen by kubectl apply -n",
    options: named(namespaces),
    onSet: (value) => channel.send({ type: "choose-export", namespace: value.trim() }),
  };
  const folder: FieldRow = {
    kind: "text",
    label: "Folder",
    value: choice.folder ?? "",
    placeholder: "manifests",
    note: "relative to this notebook",
    onSet: (value) => channel.send({ type: "choose-export", folder: value.trim() }),
  };
  return { release, namespace, folder };
}
