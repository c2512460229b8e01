// How much of the cluster is free: a meter for each kind of device, and a click opens the chart of all nodes.
import type { NodeUseRow } from "../generated/models";
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";
import { Release } from "./release";

export function useMeters() {
  const channel = useChannel();
  const [meters, nodeUse] = [useTrait("meters"), useTrait("node_use")];
  const over = usePopover({ onOpen: () => channel.send({ type: "show-use" }) });
  const words = meters.map((row) => `${row.label} ${row.text}`).join(", ");
  const kinds = [...new Set(meters.map((row) => row.label))];
  const of = (kind: string) => meters.filter((row) => row.label === kind);
  const button = (
    <button
      {...over.button}
      className="dra-button dra-meters"
      aria-label={`Free devices: ${words}`}
      title="Show what is free on each node"
      hidden={!meters.length}
    >
      {keyed(meters, (row) => row.label).map(([key, row]) => (
        <span key={key} className="dra-meter">
          <span>{row.label}</span>
          <span className="dra-track">
            <Used used={row.used} total={row.total} />
          </span>
          <span>{row.text}</span>
        </span>
      ))}
      <span className="dra-meters-short">
        Free
        <Icon name="down" />
      </span>
    </button>
  );
  const panel = (
    <div {...over.panel} role="dialog" className="dra-popover dra-use" aria-label="What is free">
      <Release />
      <h3>What is free</h3>
      <p className="dra-hint">A device is free if nothing has used it up and no taint keeps pods away from it.</p>
      {kinds.map((kind) => (
        <UseChart
          key={kind}
          title={of(kind)
            .map((row) => `${row.label}: ${row.text}`)
            .join(", ")}
          rows={nodeUse.filter((use) => use.kind === kind)}
        />
      ))}
      <p className="dra-use-legend" aria-hidden="true">
        <span className="dra-use-bar">
          <Used used={1} total={1} />
        </span>
        in use
        <span className="dra-use-bar" />
        free
      </p>
    </div>
  );
  return { button, panel };
}

/** A bar for each node or hardware type, as long as it has devices; as a table it can be read out. */
function UseChart({ title, rows }: { title: string; rows: readonly NodeUseRow[] }) {
  const most = Math.max(1, ...rows.map((row) => row.total));
  return (
    <table className="dra-use-table">
      <caption>{title}</caption>
      <tbody>
        {keyed(rows, (row) => row.node).map(([key, row]) => (
          <tr key={key}>
            <th scope="row">
              {row.node}
              {(row.nodes ?? 1) > 1 && <span className="dra-dim"> on {row.nodes?.toLocaleString("en")} nodes</span>}
            </th>
            <td aria-hidden="true">
              <span className="dra-use-bar" style={{ width: `${(100 * row.total) / most}%` }}>
                <Used used={row.used} total={row.total} />
              </span>
            </td>
            <td>{row.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Used({ used, total }: { used: number; total: number }) {
  return <span style={{ width: `${(100 * used) / Math.max(1, total)}%` }} />;
}
