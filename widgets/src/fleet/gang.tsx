// The gang of a workload: its size, its levels, what the level costs, and what schedulers do with it.
import { Callout } from "../components/callout";
import { Choice, named } from "../components/choice";
import { Form } from "../components/form";
import { Table } from "../components/table";
import type { GangRow, LevelRow, WorkloadRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { keyed } from "../view/keyed";

const keyOf = (row: LevelRow) => `${row.hierarchy ?? ""}/${row.level ?? ""}`;
const SIGNS = {
  yes: { tone: "ok" },
  maybe: { tone: "plain", icon: "warning" },
  no: { tone: "error", icon: "cross" },
} as const;

/** What is changed of a gang; a level of another hierarchy has no preferred level of the one before. */
function changed(gang: GangRow, by: Partial<GangRow>) {
  const { size = 1, min = 0, level = "", hierarchy = "", prefer = "", queue = "" } = { ...gang, ...by };
  return { size, min: min >= size ? 0 : min, level, hierarchy, prefer, queue };
}

export function Gang({ workload }: { workload: WorkloadRow }) {
  const channel = useChannel();
  const { name } = workload;
  const gang = workload.gang ?? {};
  const { size = 1, min = 0, level = "", hierarchy = "", prefer = "", queue = "" } = gang;
  const { levels = [], prefers = [], price = [], schedulers = [], stops = [], queues = [], note = "" } = gang;
  const send = (by: Partial<GangRow>) => channel.send({ type: "set-gang", name, ...changed(gang, by) });
  const now = levels.find((row) => row.level === level && (!level || !row.hierarchy || row.hierarchy === hierarchy));
  return (
    <fieldset className="dra-card dra-fleet-gang">
      <legend className="dra-sr">Gang {name}</legend>
      <Choice
        className="dra-fleet-levels"
        label="All pods in one"
        isLabelled
        value={now ? keyOf(now) : ""}
        options={levels.map((row) => ({ value: keyOf(row), label: row.label, title: row.source }))}
        onChoose={(key) => {
          const row: LevelRow | undefined = levels.find((one) => keyOf(one) === key);
          const keeps = !row?.hierarchy || row.hierarchy === hierarchy;
          const own = row?.hierarchy || (prefer ? hierarchy : "");
          send({ level: row?.level ?? "", hierarchy: own, prefer: keeps ? prefer : "" });
        }}
      />
      {note && <p className="dra-dim">{note}</p>}
      <Form
        fields={[
          {
            kind: "count",
            label: "Pods of one gang",
            name: `pods of one gang of ${name}`,
            value: String(size),
            least: 1,
            onSet: (value) => send({ size: Number(value) }),
          },
          {
            kind: "count",
            label: "At least",
            name: `pods that ${name} needs to start`,
            value: String(min || size),
            least: 1,
            onSet: (value) => send({ min: Number(value) }),
          },
          prefers.length > 1 && {
            kind: "select",
            label: "In as few as possible of",
            value: prefer ? `${hierarchy}/${prefer}` : "/",
            options: prefers.map((row) => ({ value: keyOf(row), label: row.label })),
            onSet: (key) => {
              const row = prefers.find((one) => keyOf(one) === key);
              send({ prefer: row?.level ?? "", hierarchy: row?.hierarchy || (level ? hierarchy : "") });
            },
          },
          prefers.length > 1 && {
            kind: "text",
            label: "Queue",
            name: `queue of ${name}`,
            value: queue,
            placeholder: "LocalQueue of Kueue",
            options: named(queues),
            onSet: (value) => send({ queue: value.trim() }),
          },
        ]}
      />
      {price.length > 0 && (
        <Table
          className="is-numbers"
          caption="Price of the level, without this plan"
          columns={[
            ["level", "all pods in one"],
            ["gangs", "gangs that fit, in all"],
          ]}
          rows={price.map((row) => ({
            key: row.level,
            head: row.level,
            cells: [row.gangs],
            className: row.now ? "is-now" : undefined,
          }))}
        />
      )}
      {stops.length > 0 && (
        <Table
          caption="What stops it in Kueue"
          rows={stops.map((row) => ({
            key: row.question,
            title: row.text,
            head: row.question,
            cells: [row.says, row.text],
            marks: [row.stops ? "is-short" : undefined],
          }))}
        />
      )}
      {schedulers.length > 0 && (
        <ul className="dra-stack" aria-label="What schedulers do">
          {keyed(schedulers, (row) => row.name).map(([key, row]) => (
            <li key={key} data-verdict={row.verdict}>
              <Callout {...SIGNS[row.verdict]}>
                <span>
                  {row.text} <span className="dra-dim">{row.note}</span>
                </span>
              </Callout>
            </li>
          ))}
          <li className="dra-dim">dra-lab export writes the gang for each of them.</li>
        </ul>
      )}
    </fieldset>
  );
}

/** Whether a gang is the one whose domains are shown: the chosen one, else the first. */
export function useShownGang(): string {
  const [chosen, rows] = [useTrait("fleet_gang"), useTrait("fleet_workloads")];
  const gangs = rows.filter((row) => row.gang);
  return (gangs.find((row) => row.name === chosen) ?? gangs[0])?.name ?? "";
}
