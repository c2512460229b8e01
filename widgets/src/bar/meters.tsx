// How much of the cluster is free: a meter for each kind of device, and a click opens the chart of all nodes.
import { Button } from "../components/button";
import { Meter } from "../components/meter";
import { Popover } from "../components/popover";
import { Table } from "../components/table";
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
    <Button
      className="dra-meters"
      {...over.button}
      label={`Free devices: ${words}`}
      title="Show what is free on each node"
      hidden={!meters.length}
    >
      {keyed(meters, (row) => row.label).map(([key, row]) => (
        <span key={key} className="dra-row dra-free">
          <span>{row.label}</span>
          <Meter value={row.used} of={row.total} />
          <span>{row.text}</span>
        </span>
      ))}
      <span className="dra-row dra-meters-short">
        Free
        <Icon name="down" />
      </span>
    </Button>
  );
  const panel = (
    <Popover over={over} title="What is free" className="dra-use">
      <Release />
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
      <p className="dra-row dra-legend" aria-hidden="true">
        <Meter value={1} of={1} />
        in use
        <Meter value={0} of={1} />
        free
      </p>
    </Popover>
  );
  return { button, panel };
}

/** A bar for each node or hardware type, as long as it has devices; as a table it can be read out. */
function UseChart({ title, rows }: { title: string; rows: readonly NodeUseRow[] }) {
  const most = Math.max(1, ...rows.map((row) => row.total));
  return (
    <Table
      caption={title}
      rows={rows.map(({ node, nodes = 1, used, total, text }) => ({
        key: node,
        head: (
          <>
            {node} {nodes > 1 && <span className="dra-dim">on {nodes.toLocaleString("en")} nodes</span>}
          </>
        ),
        cells: [<Meter key="meter" value={used} of={total} width={(100 * total) / most} />, text],
      }))}
    />
  );
}
