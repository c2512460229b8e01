// Racks, blocks and other domains: the pods of one gang that each holds, as a tree, a heat map or a table.

import { useMemo, useState } from "react";
import { Button, classes, Icon, type IconName } from "../components/button";
import { Bar, Card, Legend, Lines, type Tone } from "../components/content";
import { Choice, named, Search } from "../components/inputs";
import { LongTable, type Row, RowList, Table } from "../components/table";
import type { DomainRow } from "../generated/models";
import { HeatMap } from "../hardware/heat_map";
import { useChannel, useTrait } from "../plan/model";
import { Bars as TestBars } from "../plan/why_not";
import { number } from "./bars";

// The nodes of a domain as boxes, each with a part per pod that it could hold; or the sums of many nodes as one bar.
type BoxRow = NonNullable<DomainRow["boxes"]>[number];
/** Pods of a node up to which each has a part of its own. */
const MOST_PARTS = 8;
const BOX_PARTS = ["placed", "free", "plan", "used", "closed"] as const;
const BOX_WORDS: Readonly<Record<string, string>> = {
  placed: "placed",
  plan: "kept away by the rest of the plan",
  used: "kept away by devices in use",
  closed: "on a cordoned node",
};

/** Return how many pods of each part a node has; on a cordoned node, all are of one part. */
function partsOf([, placed, free, byPlan, used, isClosed]: BoxRow): readonly number[] {
  return isClosed ? [0, 0, 0, 0, free + used] : [placed, free, byPlan, used, 0];
}

const boxInWords = (counts: readonly number[], fit = IN_PODS.fit) =>
  counts
    .flatMap((count, at) =>
      count ? [`${number(count)} ${at === 1 ? fit : (BOX_WORDS[BOX_PARTS[at] ?? ""] ?? "")}`] : [],
    )
    .join(", ");

/** The nodes of a rail: what is counted are its devices. */
const IN_DEVICES = { fit: "free", none: "has none of these devices" };
const IN_PODS = { fit: "fit", none: "holds no pod" };

interface BoxesProps {
  rows: readonly BoxRow[];
  isNamed?: boolean;
  counted?: typeof IN_PODS;
}

function Boxes({ rows, isNamed = false, counted = IN_PODS }: BoxesProps) {
  return (
    <span className={classes("dra-pods-boxes", isNamed && "is-named")}>
      {rows.map((row) => {
        const counts = partsOf(row);
        const words = boxInWords(counts, counted.fit) || counted.none;
        const title = `${row[0]}: ${words}${row[5] ? " (cordoned)" : ""}`;
        return (
          <span key={row[0]} className="dra-pods-node" title={title}>
            <Box counts={counts} isClosed={row[5]} />
            {isNamed && <small className="dra-hint">{row[0]}</small>}
          </span>
        );
      })}
    </span>
  );
}

function Box({ counts, isClosed }: { counts: readonly number[]; isClosed: boolean }) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return <Bar parts={[{ key: "none", part: isClosed ? "closed" : "none", size: 1 }]} />;
  const parts = BOX_PARTS.flatMap((part, at) => {
    const count = counts[at] ?? 0;
    if (total > MOST_PARTS) return [{ key: part, part, size: count }];
    return Array.from({ length: count }, (_, pod) => ({ key: `${part} ${pod}`, part, size: 1 }));
  });
  return <Bar parts={parts} />;
}

/** The sums over the nodes of a domain. */
function Shares({ sums = [0, 0, 0, 0, 0] }: { sums?: readonly number[] | undefined }) {
  const parts = BOX_PARTS.map((part, at) => ({ key: part, part, size: sums[at] ?? 0 }));
  return <Bar parts={parts} title={boxInWords(sums) || "holds no pod"} />;
}

// The domain that is chosen: what it holds step by step, its nodes, and what would make it hold the gang.
function DomainCard() {
  const channel = useChannel();
  const { id = "", title = "", lines = [], bars = [], fixes = [], boxes = [] } = useTrait("fleet_domain_card");
  if (!id) return null;
  return (
    <div className="dra-grid dra-domain-cards">
      <Card
        title={title}
        tools={
          <Button
            kind="quiet"
            icon="cross"
            label={`Close ${title}`}
            onClick={() => channel.set({ fleet_domain: "" })}
          />
        }
      >
        {bars.map((row) => (
          <TestBars key={row.title} row={row} />
        ))}
        <Lines lines={lines} />
        {boxes.length > 1 && boxes.length <= 80 && <Boxes rows={boxes} isNamed />}
      </Card>
      {fixes.length > 0 && (
        <Card title="What would make it fit">
          <ul className="dra-stack">
            {fixes.map(([title, brings]) => (
              <li key={title}>
                <b>{title}</b> <p className="dra-dim">{brings}</p>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  );
}

// The values that all pods of the gang use, such as rails: the chosen ones are marked, each node is a box.
function Rails() {
  return useTrait("fleet_rails").map(({ title, rows = [], note }) => (
    <Card key={title} title={title} className="dra-rails">
      <Table
        isCaptionHidden
        caption={title}
        rows={rows.map(({ value, chosen, words = "", boxes = [] }) => ({
          key: value,
          head: (
            <span className="dra-domain-holds">
              {chosen && <Icon name="pin" />} {value} {chosen && <span className="dra-sr">chosen</span>}
            </span>
          ),
          cells: [boxes.length ? <Boxes key="boxes" rows={boxes} counted={IN_DEVICES} /> : "", words],
          className: chosen ? "is-now" : undefined,
        }))}
      />
      {note && <p className="dra-dim">{note}</p>}
    </Card>
  ));
}

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
    <section className="dra-stack" aria-label={title}>
      <div className="dra-row">
        <h3 className="dra-fill">{title}</h3>
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
          <RowList
            label={title}
            rows={shown}
            idOf={(row) => row.id}
            height={ROW}
            least={5}
            chosen={chosen}
            onChoose={choose}
            className="dra-domain-list"
          >
            {(row, top) => (
              <Domain key={row.id} row={row} top={top} isChosen={row.id === chosen} onChoose={() => choose(row.id)} />
            )}
          </RowList>
          {shown.length === 0 && <p className="dra-nothing">None passes the filter. Remove it.</p>}
          <Legend parts={LEGEND}>
            {shown.some((row) => row.boxes?.length) && <span>One box is a node, its parts are pods:</span>}
          </Legend>
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
      <Rails />
      <DomainCard />
      {!chosen && every > 1 && <p className="dra-dim">Choose a row to see what fits there, or why it does not.</p>}
    </section>
  );
}

const LEGEND = [
  ["placed", "placed"],
  ["free", "fits"],
  ["plan", "taken by the rest of the plan"],
  ["used", "devices in use"],
  ["closed", "cordoned"],
] as const;

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
      <span className="dra-clamp" style={{ paddingLeft: `${depth * 14}px` }} title={row.id.split("\n").at(-1)}>
        {name}
      </span>
      <span>{!isOuter && (boxes.length ? <Boxes rows={boxes} /> : <Shares sums={sums} />)}</span>
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
