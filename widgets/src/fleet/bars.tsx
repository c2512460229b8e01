// The nodes as bars, or groups of them: what is in use, planned, free and stranded of one kind of device.

import { type DragEvent, type MouseEvent, useMemo, useState } from "react";
import { Button, classes } from "../components/button";
import { Bar, Chip, Legend, type Part } from "../components/content";
import { Choice, optionsOf, Search, Select } from "../components/inputs";
import { useMenu } from "../components/popover";
import { RowList } from "../components/table";
import type { BarTable, PlanViewModel, WorkloadRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";

// The list of bars: only those in sight exist, and pods can be dragged from one to another.
export type BarRow = NonNullable<BarTable["rows"]>[number];
const DRAGGED = "application/x-dra-pod";
const ROW = 36;
const PARTS = [
  ["used", "in use"],
  ["planned", "planned"],
  ["free", "free"],
  ["stranded", "stranded"],
  ["blocked", "not available"],
] as const;
const LEGEND = [
  ...PARTS.slice(0, 2),
  ["free", "free and usable"],
  ["stranded", "stranded: free, but no pod here can use it"],
] as const;
export const number = (value: number): string => value.toLocaleString("en");

/** Return the pods of a row (`2 × large, 1 × small`) as (workload, count). */
export function podsOf(words: string): readonly (readonly [string, number])[] {
  return words
    .split(", ")
    .map((part) => part.split(" × "))
    .filter((part) => part.length === 2)
    .map(([count = "", name = ""]) => [name, Number(count.replaceAll(",", ""))] as const);
}

/** The bars. The menu key opens the menu of a node. */
export function BarList({ rows, isGrouped, label }: { rows: readonly BarRow[]; isGrouped: boolean; label: string }) {
  const channel = useChannel();
  const chosen = useTrait("fleet_chosen");
  // The domain is left out where the names differ without it.
  const isShort = useMemo(
    () => !isGrouped && new Set(rows.map((row) => host(row[1]))).size === rows.length,
    [isGrouped, rows],
  );
  return (
    <RowList
      label={label}
      rows={rows}
      idOf={([id]) => id}
      height={ROW}
      least={6}
      chosen={chosen}
      onChoose={(id) => channel.set({ fleet_chosen: id })}
      className={isGrouped ? "is-grouped" : undefined}
    >
      {(row, top) => (
        <NodeBar
          key={row[0]}
          row={row}
          top={top}
          isGrouped={isGrouped}
          isShort={isShort}
          isChosen={row[0] === chosen}
        />
      )}
    </RowList>
  );
}

const host = (name: string) => name.split(".")[0] ?? name;

interface NodeBarProps {
  row: BarRow;
  top: number;
  isGrouped: boolean;
  isShort: boolean;
  isChosen: boolean;
}

function NodeBar({ row, top, isGrouped, isShort, isChosen }: NodeBarProps) {
  const channel = useChannel();
  const menu = useMenu();
  const workloads = useTrait("fleet_workloads");
  const { kind = "" } = useTrait("fleet_bars");
  const [isOver, setOver] = useState(false);
  const [id, name, state, nodes, ...rest] = row;
  const values = rest.slice(0, 5) as number[];
  const total = values.reduce((sum, value) => sum + value, 0);
  const pods = rest[5] as string;
  const said = PARTS.flatMap(([, text], at) => (values[at] ? [`${number(values[at] ?? 0)} ${text}`] : [])).join(", ");
  const many = nodes > 1 ? `, ${number(nodes)} nodes` : "";
  const words = `${name}${state && `, ${state}`}${many}: ${said}${pods && `; ${pods}`}`;
  const openMenu = (event: MouseEvent) => {
    if (isGrouped) return;
    event.preventDefault();
    channel.set({ fleet_chosen: id });
    menu(event, name, [
      { label: "Show the hardware picture", act: () => channel.set({ fleet_chosen: id, fleet_picture: true }) },
      { label: "Drain this node", act: () => channel.send({ type: "add-layer", change: "drain", subject: id }) },
      {
        label: "Add a node like this",
        act: () => channel.send({ type: "add-layer", change: "add", subject: id, count: 1 }),
      },
      ...workloads
        .filter((one) => !one.gang)
        .map((one) => ({
          label: `Pin one more pod of ${one.name} here`,
          act: () => channel.send({ type: "move-pod", name: one.name, fromNode: "", toNode: id }),
        })),
    ]);
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    const text = event.dataTransfer.getData(DRAGGED);
    if (!text || isGrouped) return;
    event.preventDefault();
    event.stopPropagation();
    const [pod = "", from = ""] = text.split("\n");
    if (from !== id) channel.send({ type: "move-pod", name: pod, fromNode: from, toNode: id });
  };
  const onDragOver = (event: DragEvent) => {
    if (isGrouped || !event.dataTransfer.types.includes(DRAGGED)) return;
    event.preventDefault();
    setOver(true);
  };
  return (
    <div
      className={classes("dra-fleet-row", isChosen && "is-chosen", isOver && "is-over")}
      style={{ top: `${top}px` }}
      role="option"
      aria-selected={isChosen}
      aria-label={words}
      data-id={id}
      tabIndex={-1}
      onClick={() => channel.set({ fleet_chosen: id })}
      onDoubleClick={() => !isGrouped && channel.set({ fleet_chosen: id, fleet_picture: true })}
      onContextMenu={openMenu}
      onDragOver={onDragOver}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <span className="dra-fleet-label dra-cut" title={name}>
        {isShort ? host(name) : name}
      </span>
      {isGrouped && <span className="dra-dim">{state}</span>}
      {isGrouped && <span className="dra-number">{number(nodes)}</span>}
      <Bar
        parts={PARTS.flatMap(([key, text], at) => {
          const whole = partOf(key, text, values[at] ?? 0, total);
          return key === "planned" ? byWorkload(whole, podsOf(pods), workloads, kind, total) : [whole];
        })}
      />
      {isGrouped ? (
        <span className="dra-number">{number(values[3] ?? 0)}</span>
      ) : (
        <Pods node={id} words={pods} isFull={!values[1] && !values[2] && !values[3]} />
      )}
    </div>
  );
}

const partOf = (key: string, text: string, size: number, total: number, texts?: readonly string[]): Part => {
  const title = `${number(size)} ${text}`;
  const inside = <Inside share={total ? (100 * size) / total : 0} texts={texts ?? [title, number(size)]} />;
  return { key, part: key, size, title, inside };
};

/** The planned part of a bar, cut into those of the workloads, each in its colour. */
function byWorkload(
  whole: Part,
  pods: readonly (readonly [string, number])[],
  workloads: readonly WorkloadRow[],
  kind: string,
  total: number,
): readonly Part[] {
  const found = pods.flatMap(([name, count]) => {
    const one = workloads.find((row) => row.name === name);
    const size = count * (one?.devices?.[kind] ?? 0);
    return one && size ? [{ one, size, count }] : [];
  });
  const sum = found.reduce((all, { size }) => all + size, 0);
  if (!sum) return [whole];
  return found.map(({ one, size, count }) => {
    const share = (whole.size * size) / sum;
    const amount = Math.round(share * 10) / 10;
    return {
      ...partOf("planned", `planned, ${number(count)} × ${one.name}`, share, total, [
        `${one.letter} ${number(amount)}`,
        one.letter ?? "",
      ]),
      key: one.name,
      colour: one.colour,
      ink: one.ink,
    };
  });
}

/** The longest of some texts that a part of a bar has space for; a bar has 290 px at least. */
function Inside({ share, texts }: { share: number; texts: readonly string[] }) {
  const text = texts.find((one) => share * 2.9 > one.length * 7.5 + 8);
  return text ? <span>{text}</span> : null;
}

/** The pods of a node: each can be dragged to another node, or moved by its menu. */
function Pods({ node, words, isFull }: { node: string; words: string; isFull: boolean }) {
  const pods = podsOf(words);
  const gangs = useTrait("fleet_workloads").filter((one) => one.gang);
  const isGang = (name: string) => gangs.some((one) => one.name === name);
  if (!pods.length) return <span className="dra-dim dra-fleet-pods">{isFull ? "full" : "none"}</span>;
  return (
    <span className="dra-fleet-pods">
      {pods.map(([name, count]) => (
        <Chip
          key={name}
          className="dra-fleet-pod dra-cut"
          draggable={!isGang(name)}
          title={`${number(count)} × ${name}${isGang(name) ? "" : ". Drag to another node to pin one pod there."}`}
          onDragStart={(event) => {
            event.dataTransfer.setData(DRAGGED, `${name}\n${node}`);
            event.dataTransfer.effectAllowed = "move";
          }}
        >
          {number(count)} × {name}
        </Chip>
      ))}
    </span>
  );
}

const ORDERS = optionsOf([
  ["name", "by name"],
  ["worst", "worst first"],
  ["free", "most free first"],
]);
const FILTERS = [
  ["stranded", "stranded > 0", 7],
  ["free", "free > 0", 6],
  ["planned", "with pods", 5],
] as const;

/** Return the rows of a filter, in an order; the order of Python is by name for nodes, and worst first for groups. */
export function arranged(
  rows: readonly BarRow[],
  words: string,
  only: ReadonlySet<string>,
  order: string,
): readonly BarRow[] {
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = rows.filter(
    (row) =>
      asked.every((word) => `${row[1]}\n${row[2]}\n${row[9]}`.toLowerCase().includes(word)) &&
      FILTERS.every(([key, , at]) => !only.has(key) || row[at] > 0),
  );
  if (order === "worst") return [...kept].sort((a, b) => b[7] - a[7] || a[6] - b[6]);
  if (order === "free") return [...kept].sort((a, b) => b[6] + b[7] - a[6] - a[7]);
  if (order === "name") {
    const collator = new Intl.Collator("en", { numeric: true });
    return [...kept].sort((a, b) => collator.compare(a[1], b[1]));
  }
  return kept;
}

export function Bars() {
  const channel = useChannel();
  const {
    kind = "",
    by = "nodes",
    kinds = [],
    groupings = [],
    rows = [],
    filters = [],
    note = "",
    many = false,
  } = useTrait("fleet_bars");
  const chosenFilters = useTrait("fleet_filters");
  const [words, setWords] = useState("");
  const [only, setOnly] = useState<ReadonlySet<string>>(new Set());
  const [chosenOrder, setOrder] = useState("");
  const order = chosenOrder || (by === "nodes" && !many ? "name" : "worst");
  const shown = useMemo(() => arranged(rows, words, only, order), [rows, words, only, order]);
  const label = kinds.find(([key]) => key === kind)?.[1] ?? "Devices";
  const place = groupings.find(([key]) => key === by)?.[1] ?? "";
  const one = place.replace(/(?<=ch)es$|s$/, "");
  const filterBy = (found: readonly string[]) => channel.set({ fleet_filters: [...new Set(found)] });
  const turn = (key: string) =>
    setOnly((now) => {
      const next = new Set(now);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  if (!kinds.length) return <p className="dra-nothing">{note || "Planning …"}</p>;
  return (
    <section className="dra-stack" aria-label={`${label} by ${place}`}>
      <div className="dra-row">
        <h3 className="dra-fill">
          {label} by {one}
        </h3>
        <Choice
          label="Devices"
          options={optionsOf(kinds)}
          value={kind}
          onChoose={(value) => channel.set({ fleet_kind: value })}
        />
        <Choice
          label="Rows"
          options={optionsOf(groupings)}
          value={by}
          onChoose={(value) => channel.set({ fleet_by: value, fleet_chosen: "" } as Partial<PlanViewModel>)}
        />
      </div>
      <div className="dra-row">
        <Search label={`Find ${place}`} value={words} onChange={setWords} />
        {FILTERS.map(([key, text]) => (
          <Button key={key} pressed={only.has(key)} onClick={() => turn(key)}>
            {text}
          </Button>
        ))}
        {filters.map(({ name, values = [] }) => (
          <Select
            key={name}
            className="dra-fleet-filter"
            label={`Filter by ${name}`}
            value=""
            options={[["", name], ...values.map(([value, nodes]) => [value, `${value} (${number(nodes)})`])].map(
              ([value = "", label]) => ({ value, label }),
            )}
            onChoose={(value) => value && filterBy([...chosenFilters, `${name}:${value}`])}
          />
        ))}
        <Select label="Order" value={order} options={ORDERS} onChoose={setOrder} />
        <span className="dra-dim" role="status">
          {shown.length === rows.length ? "" : `${number(shown.length)} of ${number(rows.length)} rows`}
        </span>
      </div>
      {chosenFilters.length > 0 && (
        <ul className="dra-row" aria-label="Filters">
          {chosenFilters.map((text) => (
            <li key={text}>
              <Chip
                className="is-on"
                removal={`Remove the filter ${text.replace(":", ": ")}`}
                onRemove={() => filterBy(chosenFilters.filter((other) => other !== text))}
              >
                {text.replace(":", ": ")}
              </Chip>
            </li>
          ))}
        </ul>
      )}
      {shown.length ? (
        <>
          <Heads isGrouped={by !== "nodes"} place={one} label={label} />
          <BarList rows={shown} isGrouped={by !== "nodes"} label={`${label} by ${place}`} />
        </>
      ) : (
        <p className="dra-nothing">No {one} passes the filters. Remove one of them.</p>
      )}
      <Total rows={shown} label={label} />
      <Legend parts={LEGEND} />
    </section>
  );
}

/** What the columns of the bars are; each bar says it in words as well. */
function Heads({ isGrouped, place, label }: { isGrouped: boolean; place: string; label: string }) {
  return (
    <div className={classes("dra-fleet-columns", isGrouped && "is-grouped")} aria-hidden="true">
      <div className="dra-fleet-heads dra-dim">
        <span>{place}</span>
        {isGrouped && <span>state</span>}
        {isGrouped && <span className="dra-number">nodes</span>}
        <span>{label}</span>
        {isGrouped ? <span className="dra-number">stranded</span> : <span>pods</span>}
      </div>
    </div>
  );
}

function Total({ rows, label }: { rows: readonly BarRow[]; label: string }) {
  const sums = PARTS.map((_, at) => rows.reduce((sum, row) => sum + (row[at + 4] as number), 0));
  const nodes = rows.reduce((sum, row) => sum + row[3], 0);
  const parts = PARTS.flatMap(([, text], at) =>
    sums[at] ? [`${number(Math.round((sums[at] ?? 0) * 10) / 10)} ${text}`] : [],
  );
  const total = number(Math.round(sums.reduce((sum, value) => sum + value, 0) * 10) / 10);
  return (
    <p className="dra-fleet-total">
      <b>{number(nodes)} nodes:</b> {parts.join(" + ")} = {total} {label}
    </p>
  );
}
