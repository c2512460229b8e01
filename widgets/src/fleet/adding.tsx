// Which nodes to add: what may be added, the cheapest answer with its proof, and what a person does with it.
import "./adding.css";
import { useState } from "react";
import type { AddingRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { copyText, selectAll } from "../view/copy";
import { FindingsList } from "../view/findings_list";
import { Icon, type IconName } from "../view/icon";
import { keyed } from "../view/keyed";
import { saveText } from "../view/save_text";
import { FormButton, NodeField, Stepper, TypedField } from "./form";

const SIGNS: Readonly<Record<string, IconName>> = { nodes: "check", none: "cross", open: "warning", error: "error" };

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
    <button
      type="button"
      className="dra-button"
      disabled={working}
      onClick={() => {
        channel.set({ fleet_side: "adding" });
        channel.send({ type: "find-nodes" });
      }}
    >
      Which nodes to add?
    </button>
  );
}

export function Adding() {
  const row = useTrait("fleet_adding");
  return (
    <section className="dra-adding" aria-label="Nodes to add">
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
      <div className="dra-fleet-card">
        <p className="dra-adding-verdict" role="status">
          Looking for the cheapest nodes …
        </p>
        <div className="dra-fleet-line">
          <progress aria-label="Looking for the cheapest nodes" />
          <button type="button" className="dra-button" onClick={() => channel.send({ type: "stop-finding" })}>
            Stop
          </button>
          <span className="dra-dim">Stop keeps the best answer so far.</span>
        </div>
      </div>
    );
  if (!found)
    return (
      <div className="dra-fleet-card">
        <p>{needed ? "Not all pods have a place." : "All pods have a place. No node has to be added."}</p>
        {needed && (
          <div className="dra-fleet-buttons">
            <button type="button" className="dra-button dra-primary" onClick={find}>
              Find the cheapest nodes
            </button>
          </div>
        )}
      </div>
    );
  return (
    <div className={`dra-fleet-card${stale ? " is-stale" : ""}`} data-found={found}>
      <p className="dra-adding-verdict" role="status">
        <Icon name={SIGNS[found] ?? "note"} />
        <span>{verdict}</span>
      </p>
      {stale && (
        <p className="dra-adding-stale">
          {needed
            ? "The workloads, the cluster or the choice below changed since."
            : "This was the answer before the last change. All pods have a place now."}
        </p>
      )}
      {keyed(lines).map(([key, line]) => (
        <p key={key}>{line}</p>
      ))}
      {rows.length > 0 && <Rows row={row} />}
      <div className="dra-fleet-buttons">
        {rows.length > 0 && !stale && (
          <button
            type="button"
            className="dra-button dra-primary"
            onClick={() => channel.send({ type: "add-found-nodes" })}
          >
            Add as what-if
          </button>
        )}
        {(needed || found === "error") && (
          <button type="button" className={`dra-button${stale ? " dra-primary" : ""}`} onClick={find}>
            Find again
          </button>
        )}
      </div>
      {rows.length > 0 && !stale && <Request row={row} />}
    </div>
  );
}

function Rows({ row }: { row: AddingRow }) {
  const { rows = [], total = ["", ""], word = "" } = row;
  return (
    <table className="dra-fleet-table dra-adding-rows">
      <caption className="dra-sr">Nodes to add</caption>
      <thead>
        <tr>
          <th scope="col">copy of</th>
          <th scope="col">{word || "place"}</th>
          <th scope="col">nodes</th>
          <th scope="col">cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([type, domain, isNew, count, cost]) => (
          <tr key={`${type} ${domain}`}>
            <th scope="row">{type}</th>
            <td>
              {domain}
              {isNew && <b className="dra-adding-new"> new</b>}
            </td>
            <td>{count}</td>
            <td>{cost}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">in all</th>
          <td />
          <td>{total[0]}</td>
          <td>{total[1]}</td>
        </tr>
      </tfoot>
    </table>
  );
}

/** The ProvisioningRequests for Cluster Autoscaler, to copy or save, with what they cannot say. */
function Request({ row }: { row: AddingRow }) {
  const { request = "", file = "", limits = [], findings = [] } = row;
  const [told, setTold] = useState("");
  const copy = async (place: HTMLElement) => {
    const text = place.closest(".dra-adding-request")?.querySelector<HTMLElement>("pre");
    setTold(
      await copyText(request, () => {
        const details = text?.closest("details");
        if (details) details.open = true;
        if (text) selectAll(text);
      }),
    );
  };
  return (
    <div className="dra-adding-request">
      <h3>Request these nodes from Cluster Autoscaler</h3>
      {request && (
        <div className="dra-fleet-buttons">
          <button type="button" className="dra-button" onClick={(event) => copy(event.currentTarget)}>
            Copy ProvisioningRequest
          </button>
          <button type="button" className="dra-button" onClick={() => saveText(file || "request.yaml", request)}>
            Save as a file
          </button>
          <span role="status">{told}</span>
        </div>
      )}
      <FindingsList findings={findings} nothing="" />
      {limits.length > 0 && (
        <ul className="dra-adding-limits">
          {limits.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {request && (
        <details>
          <summary>Show the YAML</summary>
          <pre tabIndex={-1}>{request}</pre>
        </details>
      )}
    </div>
  );
}

function Choices({ row }: { row: AddingRow }) {
  const channel = useChannel();
  const { types = [], levels = [], hierarchy = "", level = "", word = "", words = "", example = "" } = row;
  const { domains = 0, nodes = 1 } = row;
  const [node, setNode] = useState("");
  const send = (by: Partial<Pick<AddingRow, "hierarchy" | "level" | "domains" | "nodes">>) =>
    channel.send({ type: "set-new-domains", hierarchy, level, domains, nodes, ...by });
  return (
    <fieldset className="dra-fleet-card dra-adding-choices">
      <legend className="dra-sr">What may be added</legend>
      <h3>What may be added</h3>
      <table className="dra-fleet-table">
        <thead>
          <tr>
            <th scope="col">copy of</th>
            <th scope="col">cost of a node</th>
            <th scope="col">{word ? `free places in each ${word}` : "free places"}</th>
            <th scope="col">
              <span className="dra-sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {types.map((one) => {
            const set = (by: { cost?: string; places?: string }) =>
              channel.send({ type: "set-node-type", node: one.node, cost: one.cost, places: one.places, ...by });
            return (
              <tr key={one.node}>
                <th scope="row">
                  <span>{one.node}</span>
                  <span className="dra-dim">{one.hardware}</span>
                </th>
                <td>
                  <TypedField label="" name={`cost of ${one.node}`} value={one.cost} onDone={(cost) => set({ cost })} />
                </td>
                <td>
                  <TypedField
                    label=""
                    name={`places for ${one.node}`}
                    value={one.places}
                    placeholder="any"
                    onDone={(places) => set({ places })}
                  />
                </td>
                <td>
                  <button
                    type="button"
                    className="dra-quiet"
                    aria-label={`Do not add copies of ${one.node}`}
                    title="Do not add these"
                    disabled={types.length < 2}
                    onClick={() => channel.send({ type: "remove-node-type", node: one.node })}
                  >
                    <Icon name="cross" />
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p className="dra-dim">
        Places: any, a number{word ? `, or numbers by ${word}: ${example}. Others then have none` : ""}.
      </p>
      <div className="dra-fleet-buttons">
        <FormButton
          label="+ Another node…"
          title="Copies of another node"
          action="Add"
          isReady={node.trim() !== ""}
          onDone={() => channel.send({ type: "set-node-type", node, cost: "1", places: "any" })}
        >
          <NodeField label="Copies of" value={node} onChange={setNode} />
        </FormButton>
      </div>
      {levels.length > 0 && (
        <>
          <div className="dra-fleet-line">
            <label>
              <span>Count places by </span>
              <select
                className="dra-button"
                value={`${hierarchy}/${level}`}
                onChange={(event) => {
                  const chosen = levels.find((one) => `${one.hierarchy}/${one.level}` === event.currentTarget.value);
                  send({ hierarchy: chosen?.hierarchy ?? "", level: chosen?.level ?? "" });
                }}
              >
                {levels.map((one) => (
                  <option key={`${one.hierarchy}/${one.level}`} value={`${one.hierarchy}/${one.level}`}>
                    {one.label}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <div className="dra-fleet-line">
            <span>New {words}, at most</span>
            <Stepper label={`new ${words}`} value={domains} onChange={(value) => send({ domains: value })} />
            <span>each with places for</span>
            <Stepper
              label="nodes of each new one"
              value={nodes}
              least={1}
              onChange={(value) => send({ nodes: value })}
            />
            <span>nodes</span>
          </div>
        </>
      )}
    </fieldset>
  );
}
