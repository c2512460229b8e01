// The gang of a workload: its size, its levels, what the level costs, and what schedulers do with it.
import type { GangRow, LevelRow, WorkloadRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { Icon, type IconName } from "../view/icon";
import { keyed } from "../view/keyed";
import { Stepper, TypedField } from "./form";

const keyOf = (row: LevelRow) => `${row.hierarchy ?? ""}/${row.level ?? ""}`;
const SIGNS: Readonly<Record<string, IconName>> = { yes: "check", maybe: "warning", no: "cross" };

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
    <fieldset className="dra-fleet-gang">
      <legend className="dra-sr">Gang {name}</legend>
      <div className="dra-fleet-line">
        <span>Pods of one gang</span>
        <Stepper
          label={`pods of one gang of ${name}`}
          value={size}
          least={1}
          onChange={(value) => send({ size: value })}
        />
        <span>at least</span>
        <Stepper
          label={`pods that ${name} needs to start`}
          value={min || size}
          least={1}
          onChange={(value) => send({ min: value })}
        />
      </div>
      <fieldset className="dra-toggle dra-fleet-levels">
        <legend>All pods in one</legend>
        {levels.map((row) => (
          <label key={keyOf(row)} title={row.source}>
            <input
              type="radio"
              checked={row === now}
              onChange={() => {
                const keeps = !row.hierarchy || row.hierarchy === hierarchy;
                const own = row.hierarchy || (prefer ? hierarchy : "");
                send({ level: row.level ?? "", hierarchy: own, prefer: keeps ? prefer : "" });
              }}
            />
            <span>{row.label}</span>
          </label>
        ))}
      </fieldset>
      {note && <p className="dra-dim">{note}</p>}
      {prefers.length > 1 && (
        <div className="dra-fleet-line">
          <label>
            <span>In as few as possible of </span>
            <select
              className="dra-button"
              value={prefer ? `${hierarchy}/${prefer}` : "/"}
              onChange={(event) => {
                const row = prefers.find((one) => keyOf(one) === event.currentTarget.value);
                send({ prefer: row?.level ?? "", hierarchy: row?.hierarchy || (level ? hierarchy : "") });
              }}
            >
              {prefers.map((row) => (
                <option key={keyOf(row)} value={keyOf(row)}>
                  {row.label}
                </option>
              ))}
            </select>
          </label>
          <TypedField
            label="Queue"
            name={`queue of ${name}`}
            value={queue}
            placeholder="LocalQueue of Kueue"
            list={queues}
            onDone={(value) => send({ queue: value })}
          />
        </div>
      )}
      {price.length > 0 && (
        <table className="dra-fleet-table dra-fleet-price">
          <caption>Price of the level, without this plan</caption>
          <thead>
            <tr>
              <th scope="col">all pods in one</th>
              <th scope="col">gangs that fit, in all</th>
            </tr>
          </thead>
          <tbody>
            {price.map((row) => (
              <tr key={row.level} className={row.now ? "is-now" : ""}>
                <th scope="row">{row.level}</th>
                <td>{row.gangs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {stops.length > 0 && (
        <table className="dra-fleet-table dra-fleet-price">
          <caption>What stops it in Kueue</caption>
          <tbody>
            {stops.map((row) => (
              <tr key={row.question} title={row.text}>
                <th scope="row">{row.question}</th>
                <td className={row.stops ? "is-short" : ""}>{row.says}</td>
                <td className="dra-fleet-reason">{row.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {schedulers.length > 0 && (
        <ul className="dra-fleet-schedulers" aria-label="What schedulers do">
          {keyed(schedulers, (row) => row.name).map(([key, row]) => (
            <li key={key} data-verdict={row.verdict}>
              <Icon name={SIGNS[row.verdict] ?? "note"} />
              <span>
                {row.text} <span className="dra-dim">{row.note}</span>
              </span>
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
