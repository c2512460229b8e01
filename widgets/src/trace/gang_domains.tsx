// The domains at the present step: how many pods each has room for, and which ones get some.
import type { GangDomainRow } from "../generated/models";
import { useTrait } from "../hardware/model";

const MARKS: Readonly<Record<string, string>> = {
  above: "",
  chosen: "★",
  fits: "✓",
  few: "✕",
  none: "–",
  maybe: "?",
  later: "·",
  waits: "!",
};

export function GangDomains() {
  const { heading = "", rows = [], more = "", scale = "" } = useTrait("gang_trace_now");
  return (
    <section className="dra-gang-domains" aria-label="Domains">
      <h3>{heading || "Domains"}</h3>
      {rows.length > 0 ? (
        <table>
          <thead className="dra-sr">
            <tr>
              <th scope="col">domain</th>
              <th scope="col">room</th>
              <th scope="col">state</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Domain key={row.key} row={row} />
            ))}
          </tbody>
        </table>
      ) : (
        <p className="dra-hint">No domains are compared at this step.</p>
      )}
      {(more || scale) && <p className="dra-hint">{[more, scale].filter(Boolean).join(" ")}</p>}
    </section>
  );
}

function Domain({ row }: { row: GangDomainRow }) {
  const { name, depth = 0, pods = -1, wanted = 0, state = "above", words = "" } = row;
  const share = wanted > 0 ? Math.min(100, (100 * Math.max(0, pods)) / wanted) : 0;
  return (
    <tr data-state={state}>
      <th scope="row" style={{ paddingLeft: `${6 + 18 * depth}px` }}>
        {name}
      </th>
      <td>
        {pods >= 0 && state !== "later" && (
          <span className="dra-gang-bar" aria-hidden="true">
            <span style={{ width: `${share}%` }} />
          </span>
        )}
      </td>
      <td>
        <span aria-hidden="true">{MARKS[state]}</span> {words}
      </td>
    </tr>
  );
}
