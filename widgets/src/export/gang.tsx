// A gang in the Export sheet: its scheduler, queue and planned domain, and what the scheduler cannot express.
import { useId } from "react";
import type { ExportRow, GangSheetRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { Field, Folder, Namespace, Release, Select } from "./inputs";
import { Workload } from "./workload";

export function GangSettings({ row, gang }: { row: ExportRow; gang: GangSheetRow }) {
  const channel = useChannel();
  const { gangs = [], schedulers = [], scheduler = "", notExpressed = [] } = gang;
  const title = schedulers.find(([name]) => name === scheduler)?.[1] ?? scheduler;
  return (
    <>
      <div className="dra-settings">
        {gangs.length > 1 && (
          <Select
            label="Gang"
            value={gang.name}
            options={gangs.map((name) => [name, name])}
            onChoose={(name) => channel.send({ type: "choose-gang-export", name })}
          />
        )}
        <Select
          label="Scheduler"
          value={scheduler}
          options={schedulers}
          onChoose={(name) => channel.send({ type: "choose-gang-export", scheduler: name })}
        />
        <Field
          label="Queue"
          value={gang.queue ?? ""}
          placeholder="none"
          options={gang.queues ?? []}
          onSet={(queue) => channel.send({ type: "choose-gang-export", queue })}
        >
          <p className="dra-hint">{gang.queueHint}</p>
        </Field>
        <Release row={row} />
        <Namespace row={row} />
        <Workload row={row} canPatch={false} />
        <Folder row={row} />
        {gang.others && <p className="dra-hint">{gang.others}</p>}
      </div>
      {notExpressed.length > 0 && (
        <section className="dra-sheet-card" aria-label={`What ${title} cannot express`}>
          <h3>What {title} cannot express</h3>
          <ul>
            {notExpressed.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
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
      <label className="dra-switch" htmlFor={id}>
        <input
          id={id}
          type="checkbox"
          role="switch"
          aria-checked={pin}
          aria-describedby={`${id}-words`}
          checked={pin}
          disabled={noDomain !== ""}
          onChange={(event) => channel.send({ type: "choose-export", pin: event.currentTarget.checked })}
        />
        <b>Pin the planned domain</b>
      </label>
      <p id={`${id}-words`} className="dra-outcome-detail dra-dim">
        {noDomain || `${domain}: ${pin ? "the pods may run in no other." : "without the pin, the scheduler chooses."}`}
      </p>
    </div>
  );
}
