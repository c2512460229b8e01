// Racks, blocks and other domains: the pods of one gang that each holds, as a tree, a heat map or a table.

import { useMemo, useRef, useState } from "react";
import { Button } from "../components/button";
import type { Tone } from "../components/callout";
import { Choice, named } from "../components/choice";
import { classes } from "../components/classes";
import { Search } from "../components/inputs";
import type { DomainRow } from "../generated/models";
import { HeatMap } from "../hardware/heat_map";
import { useChannel, useTrait } from "../plan/model";
import { Icon, type IconName } from "../view/icon";
import { LongTable } from "../view/long_table";
import type { Row } from "../view/rows";
import { number } from "./bar_list";
import { Boxes, Shares } from "./boxes";
import { DomainCard } from "./domain_card";
import { useRowsInSight } from "./rows_in_sight";

const ROW = 36;
/** Domains above which the heat map is shown first. */
const MANY = 80;
const VIEWS = named(["tree", "map", "table"]);
const SIGNS: Readonly<Record<string, readonly [IconName, string, Tone]>> = {
  chosen: ["pin", "chosen", "ok"],
  fits: ["check", "fits", "ok"],
  refused: ["cross", "does not fit", "error"],
  unknown: ["note", "not known", "plain"],
};

/** Return the domains that a search and the filter keep, with those around them. */
export function kept(rows: readonly DomainRow[], words: string, isRefused: boolean): readonly DomainRow[] {
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  const passes = (row: DomainRow) =>
    asked.every((word) => `${row.name}\n${row.words ?? ""}\n${row.holds ?? ""}`.toLowerCase().includes(word)) &&
    (!isRefused || row.state === "refused");
  const around = new Set<string>();
  for (const row of rows) {
    if (row.state === "outer" || !passes(row)) continue;
    const path = row.id.split("\n");
    for (let end = 1; end <= path.length; end += 1) around.add(path.slice(0, end).join("\n"));
  }
  return asked.length || isRefused ? rows.filter((row) => around.has(row.id)) : rows;
}

export function Domains() {
  const channel = useChannel();
  const { gang = "", gangs = [], level = "", title = "", rows = [], heat, note = "" } = useTrait("fleet_domains");
  const chosen = useTrait("fleet_domain");
  const [wanted, setView] = useState("");
  const [words, setWords] = useState("");
  const [isRefused, setRefused] = useState(false);
  const shown = useMemo(() => kept(rows, words, isRefused), [rows, words, isRefused]);
  const own = shown.filter((row) => row.state !== "outer").length;
  const every = rows.filter((row) => row.state !== "outer").length;
  const hasMap = (heat?.cells?.length ?? 0) > 1;
  const view = wanted || (every > MANY && hasMap ? "map" : "tree");
  const choose = (id: string) => channel.set({ fleet_domain: id });
  if (!rows.length) return <p className="dra-nothing">{note || "Planning …"}</p>;
  return (
    <section className="dra-stack dra-domains" aria-label={title}>
      <div className="dra-row dra-heading">
        <h3>{title}</h3>
        {gangs.length > 1 && (
          <Choice
            label="Gang"
            options={named(gangs)}
            value={gang}
            onChoose={(name) => channel.set({ fleet_gang: name, fleet_domain: "" })}
          />
        )}
        <Choice
          label="Show as"
          options={VIEWS.filter((one) => one.value !== "map" || hasMap)}
          value={view}
          onChoose={setView}
        />
      </div>
      {view !== "table" && every > 1 && (
        <div className="dra-row">
          <Search label={`Find ${level}`} value={words} onChange={setWords} />
          <Button pressed={isRefused} onClick={() => setRefused(!isRefused)}>
            does not fit
          </Button>
          <span className="dra-dim" role="status">
            {own === every ? `${number(every)} in all` : `${number(own)} of ${number(every)}`}
          </span>
        </div>
      )}
      {view === "tree" && (
        <>
          <Tree rows={shown} label={title} chosen={chosen} onChoose={choose} />
          {shown.length === 0 && <p className="dra-nothing">None passes the filter. Remove it.</p>}
          <Legend hasBoxes={shown.some((row) => row.boxes?.length)} />
        </>
      )}
      {view === "map" && heat && (
        <HeatMap
          map={{ ...heat, cells: (heat.cells ?? []).filter((cell) => shown.some((row) => row.id === cell.id)) }}
          shown={chosen}
          onPick={(id) => choose(id === chosen ? "" : id)}
        />
      )}
      {view === "table" && <AsTable rows={rows} title={title} level={level} onChoose={choose} />}
      <DomainCard />
      {!chosen && every > 1 && <p className="dra-dim">Choose a row to see what fits there, or why it does not.</p>}
    </section>
  );
}

interface TreeProps {
  rows: readonly DomainRow[];
  label: string;
  chosen: string;
  onChoose(id: string): void;
}

/** The domains below each other; only those in sight exist. Arrows choose. */
function Tree({ rows, label, chosen, onChoose }: TreeProps) {
  const pane = useRef<HTMLDivElement>(null);
  const ids = useMemo(() => rows.map((row) => row.id), [rows]);
  const { from, to, ...keys } = useRowsInSight({ pane, height: ROW, ids, chosen, onChoose });
  return (
    <div
      ref={pane}
      className="dra-fleet-list dra-domain-list"
      role="listbox"
      aria-label={label}
      style={{ minHeight: `${Math.min(rows.length, 5) * ROW}px` }}
      tabIndex={0}
      {...keys}
    >
      <div className="dra-fleet-rows" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(from, to).map((row, at) => (
          <Domain
            key={row.id}
            row={row}
            top={(from + at) * ROW}
            isChosen={row.id === chosen}
            onChoose={() => onChoose(row.id)}
          />
        ))}
      </div>
    </div>
  );
}

function Domain({
  row,
  top,
  isChosen,
  onChoose,
}: {
  row: DomainRow;
  top: number;
  isChosen: boolean;
  onChoose(): void;
}) {
  const { name, depth = 0, state = "unknown", nodes = 0, holds = "", words = "", sums, boxes = [] } = row;
  const [icon, said, tone] = SIGNS[state] ?? ["note", "", "plain"];
  const isOuter = state === "outer";
  return (
    <div
      className={classes("dra-domain", isChosen && "is-chosen")}
      style={{ top: `${top}px` }}
      role="option"
      aria-selected={isChosen}
      aria-label={[name, isOuter ? "" : said, holds, words, `${number(nodes)} nodes`].filter(Boolean).join(", ")}
      data-id={row.id}
      data-state={state}
      tabIndex={-1}
      onClick={onChoose}
    >
      <span
        className="dra-domain-name dra-clamp"
        style={{ paddingLeft: `${depth * 14}px` }}
        title={row.id.split("\n").at(-1)}
      >
        {name}
      </span>
      <span className="dra-domain-nodes">
        {!isOuter && (boxes.length ? <Boxes rows={boxes} /> : <Shares sums={sums} />)}
      </span>
      <b className="dra-domain-holds dra-toned" data-tone={tone}>
        {!isOuter && <Icon name={icon} />}
        {holds}
      </b>
      <span className="dra-clamp" title={words}>
        {words}
      </span>
    </div>
  );
}

function Legend({ hasBoxes }: { hasBoxes: boolean }) {
  const parts = [
    ["placed", "placed"],
    ["free", "fits"],
    ["plan", "taken by the rest of the plan"],
    ["used", "devices in use"],
    ["closed", "cordoned"],
  ] as const;
  return (
    <p className="dra-row dra-legend" aria-hidden="true">
      {hasBoxes && <span>One box is a node, its parts are pods:</span>}
      {parts.map(([key, text]) => (
        <span key={key}>
          <span className="dra-swatch dra-fleet-swatch" data-part={key} />
          {text}
        </span>
      ))}
    </p>
  );
}

function AsTable({
  rows,
  title,
  level,
  onChoose,
}: {
  rows: readonly DomainRow[];
  title: string;
  level: string;
  onChoose(id: string): void;
}) {
  const cells = useMemo(() => {
    const names = new Map(rows.map((row) => [row.id, row.name]));
    // the path in the names of its domains, in which UUIDs are cut
    const path = (id: string) =>
      id
        .split("\n")
        .map((value, at, every) => names.get(every.slice(0, at + 1).join("\n")) ?? value)
        .join(" / ");
    return rows
      .filter((row) => row.state !== "outer")
      .map(
        (row): Row => ({
          id: row.id,
          cells: [
            path(row.id),
            number(row.nodes ?? 0),
            SIGNS[row.state ?? ""]?.[1] ?? "",
            row.holds ?? "",
            row.words ?? "",
          ],
        }),
      );
  }, [rows]);
  return (
    <div className="dra-domain-table">
      <LongTable
        label={title}
        columns={[level || "place", "nodes", "gang", "pods", "why"]}
        rows={cells}
        onPick={(row) => onChoose(row.id)}
      />
    </div>
  );
}
