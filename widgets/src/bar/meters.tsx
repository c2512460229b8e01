// How much of the cluster is free: a meter for each kind of device, and a click shows every node.
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { usePopover } from "../view/use_popover";
import { useTrait } from "./model";
import { Release } from "./release";

export function useMeters() {
  const [meters, nodeUse] = [useTrait("meters"), useTrait("node_use")];
  const over = usePopover();
  const words = meters.map((row) => `${row.label} ${row.text}`).join(", ");
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
          <Track used={row.used} total={row.total} />
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
    <div {...over.panel} role="dialog" className="dra-popover dra-use" aria-label="What is free on each node">
      <Release />
      <h3>What is free on each node</h3>
      <table className="dra-use-table">
        <tbody>
          {keyed(meters, (row) => row.label).map(([key, row]) => (
            <tr key={key}>
              <th scope="row">all {row.label}</th>
              <td aria-hidden="true">
                <Track used={row.used} total={row.total} />
              </td>
              <td>{row.text}</td>
            </tr>
          ))}
          {keyed(nodeUse, (row) => `${row.node} ${row.kind}`).map(([key, row]) => (
            <tr key={key}>
              <th scope="row">
                {row.node} <span className="dra-dim">{row.kind}</span>
              </th>
              <td aria-hidden="true">
                <Track used={row.used} total={row.total} />
              </td>
              <td>{row.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  return { button, panel };
}

function Track({ used, total }: { used: number; total: number }) {
  return (
    <span className="dra-track">
      <span style={{ width: `${(100 * used) / Math.max(1, total)}%` }} />
    </span>
  );
}
