// Every node, or class of identical nodes, as a row: how it serves the drawing. A click asks why not.
import { useMemo } from "react";
import { LongTable } from "../view/long_table";
import { useChannel, useTrait } from "./model";

const COLUMNS = ["node", "identical nodes", "how it serves the claim", "full name"];
const WIDTHS = [140, 110, 320, 240];

export function NodesPanel() {
  const channel = useChannel();
  const [nodes, asked] = [useTrait("nodes"), useTrait("why_not").node ?? ""];
  const rows = useMemo(
    () => nodes.map((row) => ({ id: row.id, cells: [row.label, String(row.nodes ?? 1), row.detail ?? "", row.id] })),
    [nodes],
  );
  const lit = useMemo(() => new Set([asked].filter(Boolean)), [asked]);
  return (
    <div className="dra-devices">
      <div className="dra-table-place">
        <LongTable
          label="Nodes"
          columns={COLUMNS}
          widths={WIDTHS}
          rows={rows}
          lit={lit}
          onPick={(row) => channel.send({ type: "look-at", node: row.id })}
        />
      </div>
    </div>
  );
}
