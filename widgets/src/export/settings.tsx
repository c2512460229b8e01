// For which release and workload the manifests are, and where they go.

import { useId, useState } from "react";
import { Browse } from "../components/browse";
import { Button } from "../components/button";
import { Card, Points } from "../components/content";
import { type FieldRow, Form } from "../components/form";
import { Check, named, optionsOf, Switch, Ticks } from "../components/inputs";
import type { ExportRow, GangSheetRow, MeasureRow, PlanViewMessage } from "../generated/models";
import { useChannel } from "../plan/model";
import { onEnter } from "../view/keys";

type Choice = Omit<Extract<PlanViewMessage, { type: "choose-export" }>, "type">;

/** Change what is exported. */
function useChoose(): (choice: Choice) => void {
  const channel = useChannel();
  return (choice) => channel.send({ type: "choose-export", ...choice });
}

/** For which release, for which workload, in which namespace and folder. */
function useCommonFields(row: ExportRow, canPatch = true) {
  const { choice, release: present = "", releases = [], namespaces, templates = [] } = row;
  const choose = useChoose();
  const isPatchable = Boolean(choice.workload) && canPatch;
  const release: FieldRow = {
    kind: "select",
    label: "Release",
    value: present,
    options: optionsOf(releases.map(([one, words]) => [one, `Kubernetes ${words}`])),
    onSet: (release) => choose({ release }),
  };
  const namespace: FieldRow = {
    kind: "text",
    label: "Namespace",
    value: choice.namespace ?? "",
    placeholder: "chosen by kubectl apply -n",
    options: named(namespaces),
    onSet: (value) => choose({ namespace: value.trim() }),
  };
  const workload: FieldRow = {
    kind: "text",
    label: "Workload",
    value: choice.workload ?? "",
    placeholder: "file with pods, such as a Job",
    beside: <Browse what="file" path={choice.workload ?? ""} onChoose={(workload) => choose({ workload })} />,
    onSet: (value) => choose({ workload: value.trim() }),
    note: (templates.length > 0 || isPatchable) && (
      <>
        {templates.length > 0 && (
          <div role="group" aria-label="Pod templates that get the claim">
            <Ticks
              rows={templates.map((row) => ({
                ...row,
                words: (
                  <>
                    <code>{row.name}</code> <span className="dra-dim">{row.words}</span>
                  </>
                ),
              }))}
              onSet={(paths) => choose({ templates: paths })}
            />
          </div>
        )}
        {isPatchable && (
          <Check checked={choice.patch ?? false} onTurn={(patch) => choose({ patch })}>
            a kustomize patch instead of a copy
          </Check>
        )}
      </>
    ),
  };
  const folder: FieldRow = {
    kind: "text",
    label: "Folder",
    value: choice.folder ?? "manifests",
    placeholder: "manifests",
    beside: <Browse what="folder" path={choice.folder ?? ""} onChoose={(folder) => choose({ folder })} />,
    note: "relative to this notebook",
    onSet: (value) => choose({ folder: value.trim() }),
  };
  return { release, namespace, workload, folder };
}

// Measure it: two Jobs to export, and the two numbers that replace the published range.
export function Measure({ measure }: { measure: MeasureRow }) {
  const channel = useChannel();
  const [near, setNear] = useState("");
  const [far, setFar] = useState("");
  const isReady = Number(near) > 0 && Number(far) > 0;
  const use = () => {
    if (isReady) channel.send({ type: "use-measured", withLink: Number(near), withoutLink: Number(far) });
  };
  return (
    <Card title="Measure it">
      <p>Without the link, kube-scheduler keeps {measure.words} of the bandwidth between GPUs and NICs.</p>
      <p className="dra-dim">
        {measure.yours ? "This is your number." : "This is a published range."} Run the same Job with the link and
        without it, and give both bandwidths.
      </p>
      <div onKeyDown={onEnter(use)}>
        <Form
          fields={[
            { kind: "number", label: "With the link", value: near, placeholder: "Gb/s", onSet: setNear },
            { kind: "number", label: "Without it", value: far, placeholder: "Gb/s", onSet: setFar },
          ]}
        />
      </div>
      <div className="dra-row">
        <Button disabled={!isReady} onClick={use}>
          Use my numbers
        </Button>
        <Button send={{ type: "write-measure" }}>Export two Jobs to {measure.folder}</Button>
      </div>
    </Card>
  );
}

// A gang in the Export sheet: its scheduler, queue and planned domain, and what the scheduler cannot express.
export function GangSettings({ row, gang }: { row: ExportRow; gang: GangSheetRow }) {
  const channel = useChannel();
  const { gangs = [], schedulers = [], scheduler = "", notExpressed = [] } = gang;
  const title = schedulers.find(([name]) => name === scheduler)?.[1] ?? scheduler;
  const { release, namespace, workload, folder } = useCommonFields(row, false);
  return (
    <>
      <Form
        fields={[
          gangs.length > 1 && {
            kind: "select",
            label: "Gang",
            value: gang.name,
            options: named(gangs),
            onSet: (name) => channel.send({ type: "choose-gang-export", name }),
          },
          {
            kind: "select",
            label: "Scheduler",
            value: scheduler,
            options: optionsOf(schedulers),
            onSet: (name) => channel.send({ type: "choose-gang-export", scheduler: name }),
          },
          {
            kind: "text",
            label: "Queue",
            value: gang.queue ?? "",
            placeholder: "none",
            options: named(gang.queues),
            note: gang.queueHint,
            onSet: (queue) => channel.send({ type: "choose-gang-export", queue: queue.trim() }),
          },
          release,
          namespace,
          workload,
          folder,
        ]}
      >
        {gang.others && <p className="dra-hint">{gang.others}</p>}
      </Form>
      {notExpressed.length > 0 && (
        <Card title={`What ${title} cannot express`}>
          <Points lines={notExpressed} />
        </Card>
      )}
    </>
  );
}

/** Whether the pods are held to the planned domain, or why they cannot be. */
export function PinnedDomain({ gang }: { gang: GangSheetRow }) {
  const choose = useChoose();
  const id = useId();
  const { pin = false, domain = "", noDomain = "" } = gang;
  return (
    <div className="dra-outcome-pin">
      <Switch checked={pin} aria-describedby={id} disabled={noDomain !== ""} onTurn={(pin) => choose({ pin })}>
        <b>Pin the planned domain</b>
      </Switch>
      <p id={id} className="dra-dim">
        {noDomain || `${domain}: ${pin ? "the pods may run in no other." : "without the pin, the scheduler chooses."}`}
      </p>
    </div>
  );
}

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
  const choose = useChoose();
  const { choice, fleet = 0, containers = [], pins = [], extras = [] } = row;
  const { release, namespace, workload, folder } = useCommonFields(row);
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
            onSet: (apiVersion) => choose({ apiVersion }),
          },
          {
            kind: "choice",
            label: "Kind",
            value: choice.kind ?? "template",
            options: KINDS.map((one) => ({ ...one, isOff: fleet > 0 && one.value === "claim" })),
            note: `${choice.kind === "claim" ? "ResourceClaim" : "ResourceClaimTemplate"}: ${row.meaning}${
              fleet > 0 ? ". Pods of a fleet cannot share one claim." : ""
            }`,
            onSet: (kind) => choose({ kind }),
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
            onSet: (container) => choose({ container }),
          },
          !choice.workload && {
            kind: "select",
            label: fleet > 1 ? "Examples" : "Without one",
            value: choice.example ?? "pod",
            options: EXAMPLES,
            onSet: (example) => choose({ example }),
          },
          { ...folder, note: [folder.note, <Ticks key="extras" rows={extras} onSet={(extra) => choose({ extra })} />] },
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
