// A table of any length: only the rows on the screen exist, it can be filtered and sorted, and the keyboard reaches
// every row.
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type SyntheticEvent,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button } from "../components/button";
import { stepOf, stepped } from "./keys";
import { arrange, fitting, type Row } from "./rows";
import { useWindow } from "./use_window";

const ROW = 26;
/** Milliseconds without typing after which the filter is applied. */
const PAUSE = 80;

interface Props {
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

export function LongTable({ label, columns, rows, widths, note, lit = NONE, cell, onPick, onPoint }: Props) {
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
    <div className="dra-long-table" style={style}>
      <div className="dra-row">
        <Filter label={label} onFilter={setFilter} />
        <span className="dra-hint" role="status">
          {counted(shown.length, rows.length)}
        </span>
        {note}
      </div>
      <div
        ref={pane}
        className="dra-tpane"
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
                  <div key={name} className="dra-td dra-cut" role="gridcell" title={row.cells[column] ?? ""}>
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

const counted = (shown: number, all: number): string =>
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
    <div className="dra-tr dra-thead" role="row">
      {columns.map((name, column) => {
        const isSorted = column === order.column;
        return (
          <div
            key={name}
            className="dra-td"
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
