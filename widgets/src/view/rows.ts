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
