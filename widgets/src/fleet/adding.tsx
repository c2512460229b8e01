// Which nodes to add: what may be added, the cheapest answer with its proof, and what a person does with it.

import { useRef } from "react";
import { Button, CopyButton, classes, type IconName } from "../components/button";
import { Callout, FindingsList, Lines, Points, type Tone } from "../components/content";
import { Form } from "../components/form";
import { TextInput } from "../components/inputs";
import { ACTIONS, Table } from "../components/table";
import type { AddingRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { saveText, selectAll } from "../view/text";
import { FormButton } from "./what_if";

const SIGNS: Readonly<Record<string, { tone: Tone; icon?: IconName }>> = {
  nodes: { tone: "ok" },
  none: { tone: "error", icon: "cross" },
  open: { tone: "plain", icon: "warning" },
  error: { tone: "error" },
};

/** Whether the right side shows the nodes to add, or offers to. */
export function useIsAdding(): boolean {
  const { needed = false, working = false, found = "" } = useTrait("fleet_adding");
  return needed || working || found !== "";
}

/** One click below the verdict: find the nodes, and show them. */
export function AddingButton() {
  const channel = useChannel();
  const { needed = false, working = false } = useTrait("fleet_adding");
  if (!needed) return null;
  return (
    <Button
      disabled={working}
      onClick={() => {
        channel.set({ fleet_side: "adding" });
        channel.send({ type: "find-nodes" });
      }}
    >
      Which nodes to add?
    </Button>
  );
}

export function Adding() {
  const row = useTrait("fleet_adding");
  return (
    <section className="dra-stack" aria-label="Nodes to add">
      <Answer row={row} />
      <Choices row={row} />
    </section>
  );
}

function Answer({ row }: { row: AddingRow }) {
  const channel = useChannel();
  const { working = false, found = "", verdict = "", lines = [], rows = [], stale = false, needed = false } = row;
  const find = () => channel.send({ type: "find-nodes" });
  if (working)
    return (
      <div className="dra-card">
        <p role="status">Looking for the cheapest nodes …</p>
        <div className="dra-row">
          <progress aria-label="Looking for the cheapest nodes" />
          <Button send={{ type: "stop-finding" }}>Stop</Button>
          <span className="dra-dim">Stop keeps the best answer so far.</span>
        </div>
      </div>
    );
  if (!found)
    return (
      <div className="dra-card">
        <p>{needed ? "Not all pods have a place." : "All pods have a place. No node has to be added."}</p>
        {needed && (
          <div className="dra-row">
            <Button kind="primary" onClick={find}>
              Find the cheapest nodes
            </Button>
          </div>
        )}
      </div>
    );
  return (
    <div className={classes("dra-card", stale && "is-stale")} data-found={found}>
      <Callout {...SIGNS[found]} role="status">
        <b>{verdict}</b>
      </Callout>
      {stale && (
        <p>
          {needed
            ? "The workloads, the cluster or the choice below changed since."
            : "This was the answer before the last change. All pods have a place now."}
        </p>
      )}
      <Lines lines={lines} />
      {rows.length > 0 && <Rows row={row} />}
      <div className="dra-row">
        {rows.length > 0 && !stale && (
          <Button kind="primary" send={{ type: "add-found-nodes" }}>
            Add as what-if
          </Button>
        )}
        {(needed || found === "error") && (
          <Button kind={stale ? "primary" : "plain"} onClick={find}>
            Find again
          </Button>
        )}
      </div>
      {rows.length > 0 && !stale && <Request row={row} />}
    </div>
  );
}

function Rows({ row }: { row: AddingRow }) {
  const { rows = [], total = ["", ""], word = "" } = row;
  return (
    <Table
      className="is-numbers"
      caption="Nodes to add"
      isCaptionHidden
      columns={["copy of", word || "place", "nodes", "cost"].map((text) => [text, text])}
      rows={rows.map(([type, domain, isNew, count, cost]) => ({
        key: `${type} ${domain}`,
        head: type,
        cells: [
          <span key="domain">
            {domain}
            {isNew && <b> new</b>}
          </span>,
          count,
          cost,
        ],
        marks: ["is-left"],
      }))}
      total={{ key: "total", head: "in all", cells: ["", ...total] }}
    />
  );
}

/** The ProvisioningRequests for Cluster Autoscaler, to copy or save, with what they cannot say. */
function Request({ row }: { row: AddingRow }) {
  const { request = "", file = "", limits = [], findings = [] } = row;
  const text = useRef<HTMLPreElement>(null);
  const select = () => {
    text.current?.closest("details")?.setAttribute("open", "");
    if (text.current) selectAll(text.current);
  };
  return (
    <div className="dra-stack">
      <h3>Request these nodes from Cluster Autoscaler</h3>
      {request && (
        <div className="dra-row">
          <CopyButton text={() => request} select={select}>
            Copy ProvisioningRequest
          </CopyButton>
          <Button onClick={() => saveText(file || "request.yaml", request)}>Save as a file</Button>
        </div>
      )}
      <FindingsList findings={findings} nothing="" />
      <Points lines={limits} className="dra-dim" />
      {request && (
        <details>
          <summary>Show the YAML</summary>
          <pre ref={text} tabIndex={-1}>
            {request}
          </pre>
        </details>
      )}
    </div>
  );
}

function Choices({ row }: { row: AddingRow }) {
  const channel = useChannel();
  const { types = [], levels = [], hierarchy = "", level = "", word = "", words = "", example = "" } = row;
  const { domains = 0, nodes = 1 } = row;
  const send = (by: Partial<Pick<AddingRow, "hierarchy" | "level" | "domains" | "nodes">>) =>
    channel.send({ type: "set-new-domains", hierarchy, level, domains, nodes, ...by });
  return (
    <fieldset className="dra-card dra-adding-choices">
      <legend className="dra-sr">What may be added</legend>
      <h3>What may be added</h3>
      <Table
        columns={[
          ["type", "copy of"],
          ["cost", "cost of a node"],
          ["places", word ? `free places in each ${word}` : "free places"],
          ACTIONS,
        ]}
        rows={types.map((one) => {
          const set = (by: { cost?: string; places?: string }) =>
            channel.send({ type: "set-node-type", node: one.node, cost: one.cost, places: one.places, ...by });
          return {
            key: one.node,
            head: (
              <>
                {one.node} <p className="dra-dim">{one.hardware}</p>
              </>
            ),
            cells: [
              <TextInput
                key="cost"
                aria-label={`cost of ${one.node}`}
                value={one.cost}
                onDone={(cost) => set({ cost: cost.trim() })}
              />,
              <TextInput
                key="places"
                aria-label={`places for ${one.node}`}
                value={one.places}
                placeholder="any"
                onDone={(places) => set({ places: places.trim() })}
              />,
              <Button
                key="remove"
                kind="quiet"
                icon="cross"
                label={`Do not add copies of ${one.node}`}
                title="Do not add these"
                disabled={types.length < 2}
                send={{ type: "remove-node-type", node: one.node }}
              />,
            ],
          };
        })}
      />
      <p className="dra-dim">
        Places: any, a number{word ? `, or numbers by ${word}: ${example}. Others then have none` : ""}.
      </p>
      <div className="dra-row">
        <FormButton
          label="+ Another node…"
          title="Copies of another node"
          action="Add"
          fields={[{ key: "node", label: "Copies of", kind: "node" }]}
          onDone={({ node = "" }) => channel.send({ type: "set-node-type", node, cost: "1", places: "any" })}
        />
      </div>
      {levels.length > 0 && (
        <Form
          fields={[
            {
              kind: "select",
              label: "Count places by",
              value: `${hierarchy}/${level}`,
              options: levels.map((one) => ({ value: `${one.hierarchy}/${one.level}`, label: one.label })),
              onSet: (key) => {
                const chosen = levels.find((one) => `${one.hierarchy}/${one.level}` === key);
                send({ hierarchy: chosen?.hierarchy ?? "", level: chosen?.level ?? "" });
              },
            },
            {
              kind: "count",
              label: `New ${words}, at most`,
              name: `new ${words}`,
              value: String(domains),
              onSet: (value) => send({ domains: Number(value) }),
            },
            {
              kind: "count",
              label: "Nodes of each",
              name: "nodes of each new one",
              least: 1,
              value: String(nodes),
              onSet: (value) => send({ nodes: Number(value) }),
            },
          ]}
        />
      )}
    </fieldset>
  );
}
