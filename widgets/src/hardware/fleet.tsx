// The node strip: a tile per node, or a row per type of nodes; pattern and words say how each serves the drawing.

import { useMemo, useState } from "react";
import { Button } from "../components/button";
import { Legend } from "../components/content";
import { LongTable } from "../components/table";
import type { FleetItem } from "../generated/models";
import { onArrows } from "../view/keys";
import { counted } from "../view/text";
import { HeatMap } from "./heat_map";
import { useChannel, useTrait } from "./model";

/** Types up to which each has a row of its own; more become a table. */
const MAX_ROWS = 20;
/** Tiles that are shown before a person asks for all of them. */
const FIRST_TILES = 16;
type Fit = NonNullable<FleetItem["fit"]>;
const FITS: Readonly<Record<Fit, string>> = {
  best: "fits best",
  worse: "fits, less well aligned",
  no: "does not fit",
  unknown: "not computed yet",
};
const fitOf = (item: FleetItem): Fit => item.fit ?? "unknown";
/** Arrows go from tile to tile; Tab does as well. */
const onTileArrows = onArrows("button");

export function FleetStrip() {
  const { kind, items = [], heat } = useTrait("fleet");
  const node = useTrait("node");
  const look = useLook();
  const [isByRack, setByRack] = useState(false);
  const hasRacks = Boolean(heat?.cells?.length);
  if (kind !== "classes") {
    return (
      <div className="dra-row dra-fleet" hidden={!items.length}>
        {items.length > 0 && <Tiles />}
      </div>
    );
  }
  const isTable = items.length > MAX_ROWS;
  const there = (Object.keys(FITS) as Fit[]).filter((fit) => items.some((item) => fitOf(item) === fit));
  return (
    <>
      {hasRacks && (
        <Button pressed={isByRack} title="Show the racks as a heat map" onClick={() => setByRack(!isByRack)}>
          Racks
        </Button>
      )}
      <div className="dra-row dra-fleet is-wide" hidden={!items.length}>
        {hasRacks && isByRack && heat ? (
          <HeatMap map={heat} shown={node} onPick={look} />
        ) : (
          <>
            {isTable ? <ClassTable /> : <Classes />}
            {!isTable && <Legend of="data-fit" parts={there.map((fit) => [fit, FITS[fit]])} />}
          </>
        )}
      </div>
    </>
  );
}

function useLook(): (name: string) => void {
  const channel = useChannel();
  return (name) => channel.send({ type: "node", name });
}

function Tiles() {
  const [{ items = [], total = 0, best }, node] = [useTrait("fleet"), useTrait("node")];
  const [isWhole, setWhole] = useState(false);
  const look = useLook();
  // One tile too many is shown rather than hidden behind a button.
  const isCut = !isWhole && items.length > FIRST_TILES + 1;
  const first = items.slice(0, FIRST_TILES);
  const looked = isCut && !first.some((item) => item.id === node) ? items.filter((item) => item.id === node) : [];
  const shown = isCut ? [...first, ...looked] : items;
  return (
    <div className="dra-row dra-node-tiles" role="group" aria-label={counted(total, "node")} onKeyDown={onTileArrows}>
      {shown.map((item) => {
        const pinned = item.pinned ? "; planned on this node only" : "";
        const here = item.id === best ? "; the plan is here" : "";
        const state = item.word ? ` (${item.word})` : "";
        const words = `${item.id}: ${item.detail || FITS[fitOf(item)]}${state}${pinned}${here}`;
        return (
          <Button
            kind="bare"
            className="dra-tile"
            key={item.id}
            data-fit={fitOf(item)}
            data-key={item.id}
            pressed={item.id === node}
            label={words}
            title={words}
            onClick={() => look(item.id)}
          >
            <span>
              {item.id === best && <b aria-hidden="true">★ </b>}
              {item.label}
              {item.word && <i>{item.word}</i>}
            </span>
          </Button>
        );
      })}
      {items.length > FIRST_TILES + 1 && (
        <Button kind="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show fewer" : `All ${counted(total, "node")}`}
        </Button>
      )}
    </div>
  );
}

function Classes() {
  const [{ items = [], total = 0 }, node] = [useTrait("fleet"), useTrait("node")];
  const look = useLook();
  const most = Math.max(1, ...items.map((item) => item.nodes ?? 1));
  const label = `Types of identical nodes, ${counted(total, "node")} in all`;
  return (
    <div className="dra-classes" role="group" aria-label={label} onKeyDown={onTileArrows}>
      {items.map((item) => {
        const nodes = item.nodes ?? 1;
        const words = `${counted(nodes, "node")} like ${item.id}: ${item.detail || FITS[fitOf(item)]}`;
        return (
          <Button
            kind="bare"
            className="dra-option dra-class"
            key={item.id}
            data-key={item.id}
            pressed={item.id === node}
            label={words}
            title={words}
            onClick={() => look(item.id)}
          >
            <span className="dra-cut">{item.label}</span>
            <span className="dra-number">{nodes.toLocaleString("en")}</span>
            <span>
              <span
                className="dra-barred"
                data-fit={fitOf(item)}
                style={{ width: `${Math.max(3, (100 * nodes) / most)}%` }}
              />
            </span>
          </Button>
        );
      })}
    </div>
  );
}

function ClassTable() {
  const { items = [] } = useTrait("fleet");
  const look = useLook();
  // A type without a name of its own is "like" its first node: that needs no column as well.
  const isNamed = useMemo(() => items.some((item) => !item.label?.endsWith(item.id)), [items]);
  const rows = useMemo(
    () =>
      items.map((item) => {
        const cells = [item.label, String(item.nodes ?? 1), item.detail || FITS[fitOf(item)]];
        return { id: item.id, cells: isNamed ? [...cells, item.id] : cells };
      }),
    [items, isNamed],
  );
  const columns = ["type", "nodes", "fits"];
  return (
    <LongTable
      label="Types of identical nodes"
      columns={isNamed ? [...columns, "first node"] : columns}
      widths={isNamed ? [120, 54, 120, 80] : [130, 54, 160]}
      rows={rows}
      onPick={(row) => look(row.id)}
    />
  );
}
