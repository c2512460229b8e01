// Every device as a row; those that are chosen carry their request's letter.
import { useCallback, useMemo } from "react";
import type { BadgeRow } from "../generated/models";
import { type Light, useLit } from "../view/light";
import { LongTable } from "../view/long_table";
import type { Row } from "../view/rows";
import { badgeStyle } from "./badge_style";
import { useTrait } from "./model";

export function DevicesPanel({ light }: { light: Light }) {
  const [devices, chosen, badges] = [useTrait("devices"), useTrait("chosen"), useTrait("badges")];
  const columns = useMemo(() => ["chosen for", ...(devices.columns ?? [])], [devices]);
  const rows = useMemo(() => {
    const ids = devices.ids ?? [];
    const all: Row[] = (devices.rows ?? []).map((cells, i) => {
      const id = ids[i] ?? String(i);
      return { id, cells: [chosen[id] ?? "", ...cells] };
    });
    // What is chosen comes first, so that it is seen without a scroll.
    return [...all.filter((row) => row.cells[0]), ...all.filter((row) => !row.cells[0])];
  }, [devices, chosen]);
  const now = useLit(light);
  const lit = useMemo(() => {
    const own = Object.keys(chosen).filter((id) => chosen[id] === now);
    return new Set([now, ...own].filter(Boolean));
  }, [chosen, now]);
  const cell = useCallback(
    (row: Row, column: number) => {
      const name = column === 0 ? row.cells[0] : "";
      return name ? <ChosenFor name={name} badge={badges[name]} /> : undefined;
    },
    [badges],
  );
  return (
    <div className="dra-devices">
      <div className="dra-table-place">
        <LongTable
          key={columns.join("\n")}
          label="Devices"
          columns={columns}
          rows={rows}
          lit={lit}
          note={<span className="dra-hint">{devices.caption ? `Shown: ${devices.caption}.` : ""}</span>}
          cell={cell}
          onPick={(row) => light.point(row.id)}
          onPoint={(row) => light.point(row?.id ?? "")}
        />
      </div>
    </div>
  );
}

function ChosenFor({ name, badge }: { name: string; badge: BadgeRow | undefined }) {
  return (
    <span>
      <span className="dra-letter" title={`chosen for request ${name}`} style={badgeStyle(badge)}>
        {badge?.letter ?? "?"}
      </span>{" "}
      {name}
    </span>
  );
}
