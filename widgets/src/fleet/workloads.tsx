// The workloads as rows: what a pod requests, how many are wanted and placed, and how many more fit.
import { Button } from "../components/button";
import { Callout } from "../components/content";
import { Form } from "../components/form";
import { changedGang, keyOf, levelOf, sameField, sizeFields, toLevel } from "../components/gang_fields";
import { Choice, EditableName, named, Stepper } from "../components/inputs";
import { MenuButton, Term } from "../components/popover";
import { Table } from "../components/table";
import type { GangRow, WorkloadRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { keyed } from "../view/text";
import { FormButton } from "./what_if";

/** A word of the table; "more fit" and "stranded GPUs" mean what their first word means. */
export function Head({ word }: { word: string }) {
  const terms = useTrait("fleet_terms");
  const text = terms[word.split(" ")[0] ?? ""];
  return text === undefined ? word : <Term title={word} text={text} />;
}

// The gang of a workload: its size, its levels, what the level costs, and what schedulers do with it.
const VERDICTS = {
  yes: { tone: "ok" },
  maybe: { tone: "plain", icon: "warning" },
  no: { tone: "error", icon: "cross" },
} as const;

function Gang({ workload }: { workload: WorkloadRow }) {
  const channel = useChannel();
  const { name } = workload;
  const gang = workload.gang ?? {};
  const { level = "", hierarchy = "", prefer = "", queue = "" } = gang;
  const { levels = [], prefers = [], price = [], schedulers = [], stops = [], queues = [], note = "" } = gang;
  const send = (by: Partial<GangRow>) => channel.send({ type: "set-gang", name, gang: changedGang(gang, by) });
  const now = levelOf(gang);
  return (
    <fieldset className="dra-card dra-fleet-gang">
      <legend className="dra-sr">Gang {name}</legend>
      <Choice
        className="dra-fleet-levels"
        label="All pods in one"
        isLabelled
        value={now ? keyOf(now) : ""}
        options={levels.map((row) => ({ value: keyOf(row), label: row.label, title: row.source }))}
        onChoose={(key) =>
          send(
            toLevel(
              gang,
              levels.find((one) => keyOf(one) === key),
            ),
          )
        }
      />
      {note && <p className="dra-dim">{note}</p>}
      <Form
        fields={[
          ...sizeFields(gang, send, name),
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
          (gang.sames ?? []).length > 0 && sameField(gang, (same) => send({ same })),
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
          className="is-words"
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
              <Callout {...VERDICTS[row.verdict]}>
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
function useShownGang(): string {
  const [chosen, rows] = [useTrait("fleet_gang"), useTrait("fleet_workloads")];
  const gangs = rows.filter((row) => row.gang);
  return (gangs.find((row) => row.name === chosen) ?? gangs[0])?.name ?? "";
}

export function Workloads() {
  const channel = useChannel();
  const rows = useTrait("fleet_workloads");
  const shown = useShownGang();
  const [canUndo, canRedo] = [useTrait("can_undo"), useTrait("can_redo")];
  return (
    <section className="dra-stack" aria-label="Workloads">
      <div className="dra-row">
        <h3 className="dra-fill">Workloads</h3>
        <Button kind="quiet" icon="undo" label="Undo" title="Undo" disabled={!canUndo} send={{ type: "undo" }} />
        <Button kind="quiet" icon="redo" label="Redo" title="Redo" disabled={!canRedo} send={{ type: "redo" }} />
      </div>
      {rows.length > 0 && (
        <table className="dra-table is-numbers dra-fleet-workloads">
          <thead>
            <tr>
              <th scope="col">{rows.some((row) => row.gang) ? "pod or gang" : "pod"}</th>
              {["wanted", "placed", "more fit"].map((word) => (
                <th key={word} scope="col">
                  <Head word={word} />
                </th>
              ))}
              <th scope="col">
                <span className="dra-sr">Actions</span>
              </th>
            </tr>
          </thead>
          {rows.map((row) => (
            <Workload key={row.name} row={row} isShown={row.name === shown} />
          ))}
        </table>
      )}
      <div className="dra-row">
        <Button send={{ type: "add-workload" }}>+ Add the drawing</Button>
        <FormButton
          label="+ From a file…"
          title="Add a workload from a file"
          action="Add"
          fields={[
            {
              key: "source",
              label: "Drawing, claim, template, Pod or Deployment",
              kind: "file",
              placeholder: "file, or sample:NAME/EXAMPLE",
            },
          ]}
          onDone={({ source }) => channel.send({ type: "add-workload", source })}
        />
      </div>
    </section>
  );
}

function Workload({ row, isShown }: { row: WorkloadRow; isShown: boolean }) {
  const channel = useChannel();
  const { name, wanted, placed = 0, pins = [], gang } = row;
  const items = [
    {
      label: "Open in Plan",
      act: () => channel.send({ type: "open-workload", name }),
    },
    ...pins.map(([node, pods]) => ({
      label: `Unpin ${pods.toLocaleString("en")} from ${node}`,
      act: () => channel.send({ type: "pin-pods", name, node, pods: 0 }),
    })),
    gang
      ? { label: "Not a gang any more", act: () => channel.send({ type: "set-gang", name, gang: null }) }
      : {
          label: "Make it a gang: all its pods in one rack or other place",
          act: () => channel.send({ type: "make-gang", name }),
        },
    { label: "Remove", act: () => channel.send({ type: "remove-workload", name }) },
  ];
  return (
    <tbody>
      {/* The name has a line of its own, so that it is whole beside four columns of numbers. */}
      <tr className="dra-fleet-named">
        <th scope="rowgroup" colSpan={4}>
          <span className="dra-letter" aria-hidden="true" style={{ background: row.colour, color: row.ink }}>
            {row.letter}
          </span>
          <EditableName name={name} onRename={(to) => channel.send({ type: "rename-workload", name, to })} />
          {row.editing && (
            <span className="dra-dim" title="Plan shows this workload; what you draw there changes it">
              {" "}
              in Plan
            </span>
          )}
          {!gang && pins.length > 0 && (
            <span className="dra-dim"> · {pins.map(([node, pods]) => `${pods} pinned to ${node}`).join(", ")}</span>
          )}
        </th>
        <td>
          <MenuButton of={name} items={items} />
        </td>
      </tr>
      <tr>
        <td className="dra-dim is-left">{row.detail}</td>
        <td>
          <Stepper
            label={`${gang ? "gangs" : "pods"} of ${name}`}
            value={wanted}
            onChange={(replicas) => channel.send({ type: "set-replicas", name, replicas })}
          />
        </td>
        <td className={placed < wanted ? "is-short" : ""}>{placed.toLocaleString("en")}</td>
        <td title={row.more && !/[–≥]/.test(row.more) ? "proven" : undefined}>{row.more || "…"}</td>
        <td />
      </tr>
      {gang && (
        <tr className="dra-fleet-of-gang">
          <td colSpan={5} className="is-left">
            <p>{gang.words}</p>
            {isShown ? (
              <Gang workload={row} />
            ) : (
              <Button onClick={() => channel.set({ fleet_gang: name })}>Show the gang {name}</Button>
            )}
          </td>
        </tr>
      )}
    </tbody>
  );
}
