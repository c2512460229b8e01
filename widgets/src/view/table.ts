// A table of any length: only the rows on the screen exist, it can be filtered and sorted, and the keyboard reaches every row.
import { freshId, h } from "./dom";
import { debounced } from "./view";

export const ROW = 26;
const SPARE = 8;

export interface Row {
  readonly id: string;
  readonly cells: readonly string[];
}

export interface TableOptions {
  readonly label: string;
  readonly columns: readonly string[];
  /**
   * The least width of each column in pixels; what room is left is shared out in the same proportions.
   * Without, a column is as wide as the longest text that stands in it.
   */
  readonly widths?: readonly number[];
  /** What else is said beside the filter. */
  readonly note?: HTMLElement;
  /** The content of a cell, where it is more than its text. */
  readonly cell?: (row: Row, column: number) => Node | string;
  /** A row was clicked, or Enter was pressed on it. */
  readonly pick?: (row: Row) => void;
  /** The pointer or the keyboard is on a row; null when it left. */
  readonly point?: (row: Row | null) => void;
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

/** A virtual table; `root` goes into the page, `fill` gives it other rows, `light` marks rows by their id. */
export class Table {
  readonly root: HTMLElement;
  private rows: readonly Row[] = [];
  private shown: readonly Row[] = [];
  private lit: ReadonlySet<string> = new Set();
  private sorted = -1;
  private falling = false;
  private current = 0;
  private readonly filter: HTMLInputElement;
  private readonly count: HTMLElement;
  private readonly head: HTMLElement;
  private readonly body: HTMLElement;
  private readonly pane: HTMLElement;

  constructor(private readonly options: TableOptions) {
    const type = debounced<void>(80, () => this.arrange());
    this.filter = h("input.dra-field", {
      type: "search",
      placeholder: "Filter",
      "aria-label": `Filter: ${options.label}`,
      oninput: () => type.later(),
    });
    this.count = h("span.dra-hint", { role: "status" });
    this.head = h("div.dra-tr.dra-thead", { role: "row" });
    this.body = h("div.dra-tbody", { role: "rowgroup" });
    this.pane = h(
      "div.dra-tpane",
      {
        id: freshId("table"),
        role: "grid",
        "aria-label": options.label,
        tabindex: 0,
        onscroll: () => this.paint(),
        onkeydown: (event: KeyboardEvent) => this.onKey(event),
      },
      h("div", { role: "rowgroup", class: "dra-tsticky" }, this.head),
      this.body,
    );
    this.pane.addEventListener("click", (event) => this.onRow(event, options.pick));
    this.pane.addEventListener("pointerover", (event) => this.onRow(event, options.point));
    this.pane.addEventListener("pointerleave", () => options.point?.(null));
    this.root = h("div.dra-table", {}, h("div.dra-tbar", {}, this.filter, this.count, options.note ?? null), this.pane);
    this.widen(options.widths ?? fitting(options.columns, []));
    this.paintHead();
  }

  fill(rows: readonly Row[]): void {
    this.rows = rows;
    if (!this.options.widths) this.widen(fitting(this.options.columns, rows));
    this.arrange();
  }

  private widen(widths: readonly number[]): void {
    this.root.style.setProperty("--dra-columns", widths.map((width) => `minmax(${width}px, ${width}fr)`).join(" "));
    this.root.style.setProperty("--dra-least", `${widths.reduce((sum, width) => sum + width, 0)}px`);
  }

  light(ids: ReadonlySet<string>): void {
    this.lit = ids;
    for (const node of this.body.children) node.classList.toggle("is-lit", ids.has(node.getAttribute("data-id") ?? ""));
  }

  /** Draw the rows that can be seen; call it when the table got a size. */
  paint(): void {
    const height = this.pane.clientHeight || ROW * 12;
    const from = Math.max(0, Math.floor(this.pane.scrollTop / ROW) - SPARE);
    const to = Math.min(this.shown.length, Math.ceil((this.pane.scrollTop + height) / ROW) + SPARE);
    this.body.style.height = `${this.shown.length * ROW}px`;
    const seen = this.current >= from && this.current < to && this.shown.length > 0;
    if (seen) this.pane.setAttribute("aria-activedescendant", `${this.pane.id}-row`);
    else this.pane.removeAttribute("aria-activedescendant");
    this.body.replaceChildren(...this.shown.slice(from, to).map((row, i) => this.row(row, from + i)));
  }

  private row(row: Row, index: number): HTMLElement {
    const cells = this.options.columns.map((_, column) =>
      h(
        "div.dra-td",
        { role: "gridcell", title: row.cells[column] ?? "" },
        this.options.cell?.(row, column) ?? row.cells[column] ?? "",
      ),
    );
    const active = index === this.current;
    const node = h(
      "div.dra-tr",
      {
        role: "row",
        id: active ? `${this.pane.id}-row` : null,
        "data-id": row.id,
        "aria-rowindex": index + 2,
        "aria-selected": String(active),
      },
      ...cells,
    );
    node.classList.toggle("is-lit", this.lit.has(row.id));
    node.classList.toggle("is-current", active);
    node.style.top = `${index * ROW}px`;
    return node;
  }

  private paintHead(): void {
    this.head.replaceChildren(
      ...this.options.columns.map((name, column) => {
        const sorting = column === this.sorted ? (this.falling ? "descending" : "ascending") : "none";
        const sign = sorting === "none" ? "" : sorting === "ascending" ? " ▲" : " ▼";
        return h(
          "div.dra-td",
          { role: "columnheader", "aria-sort": sorting },
          h(
            "button.dra-sort",
            { type: "button", onclick: () => this.sort(column) },
            name,
            h("span", { "aria-hidden": "true" }, sign),
          ),
        );
      }),
    );
  }

  private sort(column: number): void {
    if (this.sorted !== column) [this.sorted, this.falling] = [column, false];
    else if (!this.falling) this.falling = true;
    else [this.sorted, this.falling] = [-1, false];
    this.paintHead();
    this.head.querySelectorAll("button")[column]?.focus();
    this.arrange();
  }

  private arrange(): void {
    this.shown = arrange(this.rows, this.filter.value, this.sorted, this.falling);
    this.current = Math.min(this.current, Math.max(0, this.shown.length - 1));
    const all = this.rows.length.toLocaleString("en");
    this.count.textContent =
      this.shown.length === this.rows.length
        ? `${all} rows`
        : `${this.shown.length.toLocaleString("en")} of ${all} rows`;
    this.pane.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.paint();
  }

  private onRow(event: Event, call: ((row: Row) => void) | undefined): void {
    const id = (event.target as Element).closest("[data-id]")?.getAttribute("data-id");
    const row = id === null || id === undefined ? undefined : this.shown.find((one) => one.id === id);
    if (row && call) call(row);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.pane) return;
    const page = Math.max(1, Math.floor(this.pane.clientHeight / ROW) - 2);
    const last = this.shown.length - 1;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    const here = this.shown[this.current];
    if (step !== undefined && last >= 0) {
      event.preventDefault();
      this.current = Math.max(0, Math.min(last, this.current + step));
      this.reveal();
    } else if ((event.key === "Enter" || event.key === " ") && here) {
      event.preventDefault();
      this.options.pick?.(here);
    }
  }

  private reveal(): void {
    const top = this.current * ROW;
    const room = this.pane.clientHeight - ROW;
    if (top < this.pane.scrollTop) this.pane.scrollTop = top;
    else if (top + ROW > this.pane.scrollTop + room) this.pane.scrollTop = top + ROW - room;
    this.paint();
    const row = this.shown[this.current];
    if (row) this.options.point?.(row);
  }
}
