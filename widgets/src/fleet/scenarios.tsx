// The present answer beside the kept ones.

import { Button } from "../components/button";
import { ACTIONS, Table } from "../components/table";
import { useChannel, useTrait } from "../plan/model";
import { Head } from "./head";
import { useMenu } from "./menu";

/** `11 of 13` is short; a number that differs from the present one is marked. */
function markOf(cell: string, present: string | undefined): string {
  const [head, all] = cell.split(" of ");
  if (all !== undefined && all !== head) return "is-short";
  return cell === present ? "" : "is-other";
}

export function Scenarios() {
  const channel = useChannel();
  const { columns = [], rows = [] } = useTrait("fleet_scenarios");
  const { canCompare = false, stale = false } = useTrait("fleet_answer");
  const hasKept = rows.some((row) => row.kept);
  if (!rows.length) return null;
  const now = rows.find((row) => row.now);
  return (
    <section className="dra-stack" aria-label="Scenarios">
      <h3>Scenarios</h3>
      <div className="dra-wide-table">
        <Table
          className="is-numbers"
          columns={[
            ["scenario", "scenario"],
            ...columns.map((column) => [column, <Head key={column} word={column} />] as const),
            ACTIONS,
          ]}
          rows={rows.map((row) => ({
            key: row.name,
            head: row.name,
            className: row.now ? "is-now" : undefined,
            title: row.title || undefined,
            cells: [...(row.cells ?? []), row.kept && <Actions key="actions" name={row.name} />],
            marks: (row.cells ?? []).map((cell, at) => markOf(cell, now?.cells?.[at])),
          }))}
        />
      </div>
      <div className="dra-row">
        <Button disabled={stale} onClick={() => channel.send({ type: "keep-scenario" })}>
          Keep as scenario
        </Button>
        {canCompare && (
          <Button disabled={!hasKept} onClick={() => channel.send({ type: "compare-plans" })}>
            Compare…
          </Button>
        )}
      </div>
    </section>
  );
}

function Actions({ name }: { name: string }) {
  const channel = useChannel();
  const menu = useMenu();
  const items = [
    { label: "Restore", act: () => channel.send({ type: "restore-scenario", name }) },
    { label: "Remove", act: () => channel.send({ type: "forget-scenario", name }) },
  ];
  return (
    <Button
      kind="quiet"
      icon="dots"
      label={`Actions for ${name}`}
      aria-haspopup="menu"
      onClick={(event) => menu(event, name, items)}
    />
  );
}
