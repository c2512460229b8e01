// A gang in the Export sheet: its scheduler, queue and planned domain, and what the scheduler cannot express.
import { useId } from "react";
import { Card } from "../components/card";
import { named, optionsOf } from "../components/choice";
import { Form } from "../components/form";
import { Switch } from "../components/inputs";
import { Points } from "../components/lines";
import type { ExportRow, GangSheetRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { useCommonFields } from "./inputs";
import { useWorkloadField } from "./workload";

export function GangSettings({ row, gang }: { row: ExportRow; gang: GangSheetRow }) {
  const channel = useChannel();
  const { gangs = [], schedulers = [], scheduler = "", notExpressed = [] } = gang;
  const title = schedulers.find(([name]) => name === scheduler)?.[1] ?? scheduler;
  const { release, namespace, folder } = useCommonFields(row);
  const workload = useWorkloadField(row, false);
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
  const channel = useChannel();
  const id = useId();
  const { pin = false, domain = "", noDomain = "" } = gang;
  return (
    <div className="dra-outcome-pin">
      <Switch
        checked={pin}
        aria-describedby={id}
        disabled={noDomain !== ""}
        onTurn={(isOn) => channel.send({ type: "choose-export", pin: isOn })}
      >
        <b>Pin the planned domain</b>
      </Switch>
      <p id={id} className="dra-dim">
        {noDomain || `${domain}: ${pin ? "the pods may run in no other." : "without the pin, the scheduler chooses."}`}
      </p>
    </div>
  );
}
