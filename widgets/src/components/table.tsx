// A table of a few rows: the first column are the headings of the rows.
import type { ReactNode } from "react";
import { keyed } from "../view/keyed";
import { classes } from "./classes";

export interface TableRow {
  readonly key: string;
  readonly head: ReactNode;
  readonly cells: readonly ReactNode[];
  /** The class of each cell, by its place. */
  readonly marks?: readonly (string | undefined)[];
  readonly className?: string | undefined;
  readonly title?: string | undefined;
  readonly isShort?: boolean | undefined;
}

interface Props {
  caption?: string;
  /** Whether the caption is for screen readers alone. */
  isCaptionHidden?: boolean;
  /** The headings of the columns by their keys. */
  columns?: readonly (readonly [string, ReactNode])[];
  rows: readonly TableRow[];
  total?: TableRow;
  className?: string;
}

export function Table({ caption, isCaptionHidden = false, columns = [], rows, total, className }: Props) {
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
          <Row key={key} row={row} />
        ))}
      </tbody>
      {total && (
        <tfoot>
          <Row row={total} />
        </tfoot>
      )}
    </table>
  );
}

function Row({ row }: { row: TableRow }) {
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
