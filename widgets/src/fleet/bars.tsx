// The nodes as bars, or groups of them: what is in use, planned, free and stranded of one kind of device.
import {
  type DragEvent,
  type KeyboardEvent,
  type MouseEvent,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { BarTable, PlanViewModel } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { Icon } from "../view/icon";
import { useMenu } from "./menu";

export type BarRow = NonNullable<BarTable["rows"]>[number];
export const DRAGGED = "application/x-dra-pod";
const ROW = 34;
const SPARE = 6;
const PARTS = [
  ["used", "in use"],
  ["planned", "planned"],
  ["free", "free"],
  ["stranded", "stranded"],
  ["blocked", "not available"],
] as const;
const ORDERS: Readonly<Record<string, string>> = { name: "by name", worst: "worst first", free: "most free first" };
const FILTERS = [
  ["stranded", "stranded > 0", 7],
  ["free", "free > 0", 6],
  ["planned", "with pods", 5],
] as const;
const number = (value: number): string => value.toLocaleString("en");

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
  if (order === "worst") return [...kept].sort((a, b) => b[7] - a[7] || b[6] - a[6]);
  if (order === "free") return [...kept].sort((a, b) => b[6] + b[7] - a[6] - a[7]);
  if (order === "name") {
    const collator = new Intl.Collator("en", { numeric: true });
    return [...kept].sort((a, b) => collator.compare(a[1], b[1]));
  }
  return kept;
}

/** Return the pods of a row (`2 × large, 1 × small`) as (workload, count). */
export function podsOf(words: string): readonly (readonly [string, number])[] {
  return words
    .split(", ")
    .map((part) => part.split(" × "))
    .filter((part) => part.length === 2)
    .map(([count = "", name = ""]) => [name, Number(count.replaceAll(",", ""))] as const);
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
    <section className="dra-fleet-bars" aria-label={`${label} by ${place}`}>
      <div className="dra-fleet-head">
        <h3>
          {label} by {one}
        </h3>
        <Choice name="Devices" values={kinds} now={kind} onChoose={(value) => channel.set({ fleet_kind: value })} />
        <Choice
          name="Rows"
          values={groupings}
          now={by}
          onChoose={(value) => channel.set({ fleet_by: value, fleet_chosen: "" } as Partial<PlanViewModel>)}
        />
      </div>
      <div className="dra-fleet-filters">
        <input
          className="dra-field"
          type="search"
          placeholder={`Find ${place}`}
          aria-label={`Find ${place}`}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
        {FILTERS.map(([key, text]) => (
          <button
            key={key}
            type="button"
            className={`dra-button${only.has(key) ? " is-on" : ""}`}
            aria-pressed={only.has(key)}
            onClick={() => turn(key)}
          >
            {text}
          </button>
        ))}
        {filters.map(({ name, values = [] }) => (
          <FilterChoice
            key={name}
            name={name}
            values={values}
            onChoose={(value) => filterBy([...chosenFilters, `${name}:${value}`])}
          />
        ))}
        <select
          className="dra-button"
          aria-label="Order"
          value={order}
          onChange={(event) => setOrder(event.currentTarget.value)}
        >
          {Object.entries(ORDERS).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
        <span className="dra-dim" role="status">
          {shown.length === rows.length ? "" : `${number(shown.length)} of ${number(rows.length)} rows`}
        </span>
      </div>
      {chosenFilters.length > 0 && (
        <ul className="dra-fleet-chips" aria-label="Filters">
          {chosenFilters.map((text) => (
            <li key={text}>
              <span>{text.replace(":", ": ")}</span>
              <button
                type="button"
                className="dra-quiet"
                aria-label={`Remove the filter ${text.replace(":", ": ")}`}
                onClick={() => filterBy(chosenFilters.filter((other) => other !== text))}
              >
                <Icon name="cross" />
              </button>
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
      <Legend />
    </section>
  );
}

/** A filter with its values; choosing one adds it to the chips. */
function FilterChoice({
  name,
  values,
  onChoose,
}: {
  name: string;
  values: readonly (readonly [string, number])[];
  onChoose(value: string): void;
}) {
  return (
    <select
      className="dra-button dra-fleet-filter"
      aria-label={`Filter by ${name}`}
      value=""
      onChange={(event) => event.currentTarget.value && onChoose(event.currentTarget.value)}
    >
      <option value="">{name}</option>
      {values.map(([value, nodes]) => (
        <option key={value} value={value}>{`${value} (${number(nodes)})`}</option>
      ))}
    </select>
  );
}

/** What the columns of the bars are; each bar says it in words as well. */
function Heads({ isGrouped, place, label }: { isGrouped: boolean; place: string; label: string }) {
  return (
    <div className={`dra-fleet-columns${isGrouped ? " is-grouped" : ""}`} aria-hidden="true">
      <div className="dra-fleet-heads">
        <span>{place}</span>
        {isGrouped && <span>state</span>}
        {isGrouped && <span className="dra-fleet-number">nodes</span>}
        <span>{label}</span>
        {isGrouped ? <span className="dra-fleet-number">stranded</span> : <span>pods</span>}
      </div>
    </div>
  );
}

function Choice({
  name,
  values,
  now,
  onChoose,
}: {
  name: string;
  values: readonly (readonly [string, string])[];
  now: string;
  onChoose(value: string): void;
}) {
  return (
    <fieldset className="dra-toggle">
      <legend className="dra-sr">{name}</legend>
      {values.map(([value, text]) => (
        <label key={value}>
          <input type="radio" checked={value === now} onChange={() => onChoose(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface ListProps {
  rows: readonly BarRow[];
  isGrouped: boolean;
  label: string;
}

/** The bars; only those in sight exist. Arrows move, Enter chooses, the menu key opens the menu of a node. */
export function BarList({ rows, isGrouped, label }: ListProps) {
  const pane = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 40 });
  const chosen = useTrait("fleet_chosen");
  // The domain is left out where the names differ without it.
  const isShort = useMemo(
    () => !isGrouped && new Set(rows.map((row) => host(row[1]))).size === rows.length,
    [isGrouped, rows],
  );
  const look = useCallback(() => {
    const node = pane.current;
    if (!node) return;
    const from = Math.max(0, Math.floor(node.scrollTop / ROW) - SPARE);
    const to = Math.ceil((node.scrollTop + (node.clientHeight || 600)) / ROW) + SPARE;
    setRange((now) => (now.from === from && now.to === to ? now : { from, to }));
  }, []);
  useLayoutEffect(() => {
    look();
    if (!pane.current || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(look);
    sizes.observe(pane.current);
    return () => sizes.disconnect();
  }, [look]);
  const channel = useChannel();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== pane.current) return;
    const here = rows.findIndex((row) => row[0] === chosen);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      Home: -Infinity,
      End: Infinity,
      PageDown: 10,
      PageUp: -10,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, here + step));
    const row = rows[next];
    if (!row) return;
    channel.set({ fleet_chosen: row[0] });
    const [top, room] = [next * ROW, pane.current.clientHeight];
    if (top < pane.current.scrollTop) pane.current.scrollTop = top;
    else if (top + ROW > pane.current.scrollTop + room) pane.current.scrollTop = top + ROW - room;
  };
  return (
    <div
      ref={pane}
      className={`dra-fleet-list${isGrouped ? " is-grouped" : ""}`}
      role="listbox"
      aria-label={label}
      style={{ minHeight: `${Math.min(rows.length, 6) * ROW}px` }}
      tabIndex={0}
      onScroll={look}
      onKeyDown={onKeyDown}
    >
      <div className="dra-fleet-rows" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(range.from, range.to).map((row, at) => (
          <Bar
            key={row[0]}
            row={row}
            top={(range.from + at) * ROW}
            isGrouped={isGrouped}
            isShort={isShort}
            isChosen={row[0] === chosen}
          />
        ))}
      </div>
    </div>
  );
}

const host = (name: string) => name.split(".")[0] ?? name;

interface BarProps {
  row: BarRow;
  top: number;
  isGrouped: boolean;
  isShort: boolean;
  isChosen: boolean;
}

function Bar({ row, top, isGrouped, isShort, isChosen }: BarProps) {
  const channel = useChannel();
  const menu = useMenu();
  const workloads = useTrait("fleet_workloads");
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
      ...workloads.map((one) => ({
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
      className={`dra-fleet-row${isChosen ? " is-chosen" : ""}${isOver ? " is-over" : ""}`}
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
      <span className="dra-fleet-label" title={name}>
        {isShort ? host(name) : name}
      </span>
      {isGrouped && <span className="dra-fleet-state">{state}</span>}
      {isGrouped && <span className="dra-fleet-number">{number(nodes)}</span>}
      <span className="dra-fleet-bar">
        {PARTS.map(([key, text], at) => {
          const value = values[at] ?? 0;
          const share = total ? (100 * value) / total : 0;
          if (!value) return null;
          return (
            <span key={key} data-part={key} style={{ width: `${share}%` }} title={`${number(value)} ${text}`}>
              <Inside share={share} texts={[`${number(value)} ${text}`, number(value)]} />
            </span>
          );
        })}
      </span>
      {isGrouped ? (
        <span className={`dra-fleet-number${values[3] ? " is-stranded" : ""}`}>{number(values[3] ?? 0)}</span>
      ) : (
        <Pods node={id} words={pods} isFull={!values[1] && !values[2] && !values[3]} />
      )}
    </div>
  );
}

/** The longest of some texts that a part of a bar has space for; a bar has 290 px at least. */
function Inside({ share, texts }: { share: number; texts: readonly string[] }) {
  const text = texts.find((one) => share * 2.9 > one.length * 7.5 + 8);
  return text ? <span>{text}</span> : null;
}

/** The pods of a node: each can be dragged to another node, or moved by its menu. */
function Pods({ node, words, isFull }: { node: string; words: string; isFull: boolean }) {
  const pods = podsOf(words);
  if (!pods.length) return <span className="dra-dim dra-fleet-pods">{isFull ? "full" : "none"}</span>;
  return (
    <span className="dra-fleet-pods">
      {pods.map(([name, count]) => (
        <span
          key={name}
          className="dra-fleet-pod"
          draggable
          title={`${number(count)} × ${name}. Drag to another node to pin one pod there.`}
          onDragStart={(event) => {
            event.dataTransfer.setData(DRAGGED, `${name}\n${node}`);
            event.dataTransfer.effectAllowed = "move";
          }}
        >
          {number(count)} × {name}
        </span>
      ))}
    </span>
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

function Legend() {
  return (
    <p className="dra-fleet-legend" aria-hidden="true">
      {PARTS.slice(0, 4).map(([key, text]) => (
        <span key={key}>
          <span className="dra-fleet-swatch" data-part={key} />
          {key === "free"
            ? "free and usable"
            : key === "stranded"
              ? "stranded: free, but no pod here can use it"
              : text}
        </span>
      ))}
    </p>
  );
}
