// The workloads as rows: what a pod requests, how many are wanted and placed, and how many more fit.

import { Button } from "../components/button";
import { Stepper } from "../components/stepper";
import type { WorkloadRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { FormButton } from "./form";
import { Gang, useShownGang } from "./gang";
import { Head } from "./head";
import { useMenu } from "./menu";

export function Workloads() {
  const channel = useChannel();
  const rows = useTrait("fleet_workloads");
  const shown = useShownGang();
  const { canUndo = false, canRedo = false } = useTrait("fleet_answer");
  return (
    <section className="dra-stack" aria-label="Workloads">
      <div className="dra-row dra-heading">
        <h3>Workloads</h3>
        <Button
          kind="quiet"
          icon="undo"
          label="Undo"
          title="Undo"
          disabled={!canUndo}
          onClick={() => channel.send({ type: "undo" })}
        />
        <Button
          kind="quiet"
          icon="redo"
          label="Redo"
          title="Redo"
          disabled={!canRedo}
          onClick={() => channel.send({ type: "redo" })}
        />
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
        <Button onClick={() => channel.send({ type: "add-workload" })}>+ Add the drawing</Button>
        <FormButton
          label="+ From a file…"
          title="Add a workload from a file"
          action="Add"
          fields={[
            {
              key: "source",
              label: "Drawing, claim, template, Pod or Deployment",
              kind: "live",
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
  const menu = useMenu();
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
      ? { label: "Not a gang any more", act: () => channel.send({ type: "set-gang", name, size: 0 }) }
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
          {name}
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
          <Button
            kind="quiet"
            icon="dots"
            label={`Actions for ${name}`}
            aria-haspopup="menu"
            onClick={(event) => menu(event, name, items)}
          />
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
