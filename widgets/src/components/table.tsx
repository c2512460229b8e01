// Tables of a few rows, and long ones and lists of which only the rows in sight exist.

import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  type SyntheticEvent,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useSize } from "../view/grid";
import { stepOf, stepped } from "../view/keys";
import { keyed } from "../view/text";
import { Button, classes } from "./button";

// A table of a few rows: the first column are the headings of the rows.
interface TableRow {
  readonly key: string;
  readonly head: ReactNode;
  readonly cells: readonly ReactNode[];
  /** The class of each cell, by its place. */
  readonly marks?: readonly (string | undefined)[];
  readonly className?: string | undefined;
  readonly title?: string | undefined;
  readonly isShort?: boolean | undefined;
}

interface TableProps {
  caption?: string;
  /** Whether the caption is for screen readers alone. */
  isCaptionHidden?: boolean;
  /** The headings of the columns by their keys. */
  columns?: readonly (readonly [string, ReactNode])[];
  rows: readonly TableRow[];
  total?: TableRow;
  className?: string;
}

export function Table({ caption, isCaptionHidden = false, columns = [], rows, total, className }: TableProps) {
  return (
    <table className={classes("dra-table", className)}>
      {caption && <caption className={isCaptionHidden ? "dra-sr" : undefined}>{caption}</caption>}
      {columns.length > 0 && (
        <thead>
          <tr>
            {columns.map(([key, words]) => (
              <th key={key} scope="col">
                {words}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {keyed(rows, (row) => row.key).map(([key, row]) => (
          <ShortRow key={key} row={row} />
        ))}
      </tbody>
      {total && (
        <tfoot>
          <ShortRow row={total} />
        </tfoot>
      )}
    </table>
  );
}

function ShortRow({ row }: { row: TableRow }) {
  const { head, cells, marks = [], className, title, isShort } = row;
  return (
    <tr className={className} title={title} data-short={isShort ? "" : undefined}>
      <th scope="row">{head}</th>
      {cells.map((cell, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its column
        <td key={at} className={marks[at] || undefined}>
          {cell}
        </td>
      ))}
    </tr>
  );
}

/** The words above a column of buttons. */
export const ACTIONS = [
  "actions",
  <span key="actions" className="dra-sr">
    Actions
  </span>,
] as const;

// The rows of a long list that are in sight: only those exist.
const SPARE = 8;

/** Return the rows from `from` to before `to`, what to do as the pane scrolls, and what brings a row into sight. */
function useWindow(pane: RefObject<HTMLElement | null>, height: number) {
  const [range, setRange] = useState({ from: 0, to: 40 });
  const look = useCallback(() => {
    const node = pane.current;
    if (!node) return;
    const from = Math.max(0, Math.floor(node.scrollTop / height) - SPARE);
    const to = Math.ceil((node.scrollTop + (node.clientHeight || 600)) / height) + SPARE;
    setRange((now) => (now.from === from && now.to === to ? now : { from, to }));
  }, [pane, height]);
  useLayoutEffect(look, [look]);
  // The size is known late, and changes.
  useSize(pane, look);
  /** Scroll so that a row is seen; `covered` pixels at the lower edge are not. */
  const bring = (index: number, covered = 0) => {
    const node = pane.current;
    if (!node) return;
    const [top, room] = [index * height, node.clientHeight - covered];
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + room) node.scrollTop = top + height - room;
    look();
  };
  return { ...range, look, bring };
}

// The rows of a table: filtered, sorted, and how wide their columns have to be.
export interface Row {
  readonly id: string;
  readonly cells: readonly string[];
}

/** Compare two texts as people do: numbers in them by value. */
const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Rows that hold every word of the filter, sorted by a column; -1 keeps their order. */
export function arrange(rows: readonly Row[], filter: string, column: number, falling: boolean): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = words.length
    ? rows.filter((row) => {
        const text = row.cells.join("\n").toLowerCase();
        return words.every((word) => text.includes(word));
      })
    : rows;
  if (column < 0) return kept;
  const sign = falling ? -1 : 1;
  return [...kept].sort((a, b) => sign * order.compare(a.cells[column] ?? "", b.cells[column] ?? ""));
}

const LETTER = 8;
const AROUND = 22;
const [LEAST, MOST] = [48, 340];

/** How wide each column has to be for its heading and its texts, in pixels; the longest texts are cut. */
export function fitting(columns: readonly string[], rows: readonly Row[]): readonly number[] {
  return columns.map((name, i) => {
    // the heading is bold, and has a sign where it is sorted
    const letters = rows.reduce((most, row) => Math.max(most, row.cells[i]?.length ?? 0), name.length + 2);
    return Math.round(Math.min(MOST, Math.max(LEAST, letters * LETTER + AROUND)));
  });
}

// A table of any length: only the rows on the screen exist, it can be filtered and sorted, and the keyboard reaches
// every row.
const ROW = 26;
/** Milliseconds without typing after which the filter is applied. */
const PAUSE = 80;

interface LongTableProps {
  label: string;
  columns: readonly string[];
  rows: readonly Row[];
  /**
   * The least width of each column in pixels; what is left is shared out in the same proportions.
   * Without, a column is as wide as its longest text.
   */
  widths?: readonly number[];
  /** What else is said beside the filter. */
  note?: ReactNode;
  lit?: ReadonlySet<string>;
  /** The content of a cell, if it is more than its text. */
  cell?: (row: Row, column: number) => ReactNode;
  /** A row was clicked, or Enter was pressed on it. */
  onPick?: (row: Row) => void;
  /** The pointer or the keyboard is on a row; null when it left. */
  onPoint?: (row: Row | null) => void;
}

const NONE: ReadonlySet<string> = new Set();

export function LongTable({ label, columns, rows, widths, note, lit = NONE, cell, onPick, onPoint }: LongTableProps) {
  const id = useId();
  const pane = useRef<HTMLDivElement>(null);
  const [filter, setFilter] = useState("");
  const [order, setOrder] = useState({ column: -1, isFalling: false });
  const [wanted, setCurrent] = useState(0);
  const { from, to, look, bring } = useWindow(pane, ROW);
  const shown = useMemo(() => arrange(rows, filter, order.column, order.isFalling), [rows, filter, order]);
  const current = Math.min(wanted, Math.max(0, shown.length - 1));
  const last = Math.min(shown.length, to);
  const least = useMemo(() => widths ?? fitting(columns, rows), [widths, columns, rows]);
  const style = {
    "--dra-columns": least.map((width) => `minmax(${width}px, ${width}fr)`).join(" "),
    "--dra-least": `${least.reduce((sum, width) => sum + width, 0)}px`,
  } as CSSProperties;

  const go = (index: number) => {
    setCurrent(index);
    // The head covers the first row.
    bring(index, ROW);
    const row = shown[index];
    if (row) onPoint?.(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== pane.current || /Left|Right/.test(event.key)) return;
    const step = stepOf(event.key, Math.max(1, Math.floor(pane.current.clientHeight / ROW) - 2));
    const here = shown[current];
    if (!here) return;
    if (step !== undefined) go(stepped(current, step, shown.length));
    else if (event.key === "Enter" || event.key === " ") onPick?.(here);
    else return;
    event.preventDefault();
  };
  const onRow = (call: ((row: Row) => void) | undefined) => (event: SyntheticEvent) => {
    const at = (event.target as Element).closest("[data-id]")?.getAttribute("data-id");
    const row = at === null || at === undefined ? undefined : shown.find((one) => one.id === at);
    if (row) call?.(row);
  };
  const sort = (column: number) =>
    setOrder((now) => {
      if (now.column !== column) return { column, isFalling: false };
      return now.isFalling ? { column: -1, isFalling: false } : { column, isFalling: true };
    });
  const isSeen = current >= from && current < last;
  return (
    <div className="dra-long-table dra-column" style={style}>
      <div className="dra-row">
        <Filter label={label} onFilter={setFilter} />
        <span className="dra-hint" role="status">
          {rowsInWords(shown.length, rows.length)}
        </span>
        {note}
      </div>
      <div
        ref={pane}
        className="dra-tpane dra-pane"
        role="grid"
        aria-label={label}
        aria-rowcount={shown.length + 1}
        aria-activedescendant={isSeen ? `${id}-row` : undefined}
        tabIndex={0}
        onScroll={look}
        onKeyDown={onKeyDown}
        onClick={onRow(onPick)}
        onPointerOver={onRow(onPoint)}
        onPointerLeave={() => onPoint?.(null)}
      >
        <div role="rowgroup" className="dra-tsticky">
          <Head columns={columns} order={order} onSort={sort} />
        </div>
        <div className="dra-tbody" role="rowgroup" style={{ height: `${shown.length * ROW}px` }}>
          {shown.slice(from, last).map((row, i) => {
            const index = from + i;
            const isCurrent = index === current;
            return (
              <div
                key={row.id}
                className={`dra-tr${lit.has(row.id) ? " is-lit" : ""}${isCurrent ? " is-current" : ""}`}
                role="row"
                id={isCurrent ? `${id}-row` : undefined}
                data-id={row.id}
                aria-rowindex={index + 2}
                aria-selected={isCurrent}
                style={{ top: `${index * ROW}px` }}
              >
                {columns.map((name, column) => (
                  <div key={name} className="dra-cut" role="gridcell" title={row.cells[column] ?? ""}>
                    {cell?.(row, column) ?? row.cells[column] ?? ""}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const rowsInWords = (shown: number, all: number): string =>
  shown === all
    ? `${all.toLocaleString("en")} rows`
    : `${shown.toLocaleString("en")} of ${all.toLocaleString("en")} rows`;

function Filter({ label, onFilter }: { label: string; onFilter(text: string): void }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      className="dra-input"
      type="search"
      placeholder="Filter"
      aria-label={`Filter: ${label}`}
      onInput={(event) => {
        const text = event.currentTarget.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onFilter(text), PAUSE);
      }}
    />
  );
}

interface HeadProps {
  columns: readonly string[];
  order: { column: number; isFalling: boolean };
  onSort(column: number): void;
}

function Head({ columns, order, onSort }: HeadProps) {
  return (
    <div className="dra-tr" role="row">
      {columns.map((name, column) => {
        const isSorted = column === order.column;
        return (
          <div
            key={name}
            role="columnheader"
            aria-sort={isSorted ? (order.isFalling ? "descending" : "ascending") : "none"}
          >
            <Button kind="bare" className="dra-sort dra-cut" onClick={() => onSort(column)}>
              {name}
              <span aria-hidden="true">{isSorted ? (order.isFalling ? " ▼" : " ▲") : ""}</span>
            </Button>
          </div>
        );
      })}
    </div>
  );
}

interface RowListProps<T> {
  label: string;
  rows: readonly T[];
  idOf(row: T): string;
  /** The height of a row in pixels, and the number of rows that are seen at least. */
  height: number;
  least: number;
  chosen: string;
  onChoose(id: string): void;
  className?: string | undefined;
  /** Draws a row so many pixels below the first. */
  children(row: T, top: number): ReactNode;
}

/** Rows of one height, of which only those in sight exist. Arrows choose. */
export function RowList<T>(props: RowListProps<T>) {
  const { label, rows, idOf, height, least, chosen, onChoose, className, children } = props;
  const pane = useRef<HTMLDivElement>(null);
  const { from, to, look, bring } = useWindow(pane, height);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepOf(event.key);
    if (event.target !== pane.current || step === undefined || /Left|Right/.test(event.key)) return;
    event.preventDefault();
    const here = rows.findIndex((row) => idOf(row) === chosen);
    const next = stepped(here, step, rows.length);
    const row = rows[next];
    if (row === undefined) return;
    onChoose(idOf(row));
    bring(next);
  };
  return (
    <div
      ref={pane}
      className={classes("dra-fleet-list", className)}
      role="listbox"
      aria-label={label}
      style={{ minHeight: `${Math.min(rows.length, least) * height}px` }}
      tabIndex={0}
      onScroll={look}
      onKeyDown={onKeyDown}
    >
      <div style={{ height: `${rows.length * height}px` }}>
        {rows.slice(from, to).map((row, at) => children(row, (from + at) * height))}
      </div>
    </div>
  );
}
