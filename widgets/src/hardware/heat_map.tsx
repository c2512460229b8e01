// Racks as a grid of cells: the darker, the more. Words say the value of each cell; the arrows go from cell to cell.
import { Button, classes } from "../components/button";
import type { HeatMap as Values } from "../generated/models";
import { onArrows } from "../view/keys";

const onCellArrows = onArrows("button");

/** Racks up to which each cell has its name on it. */
const NAMED = 40;

/** The cell of the id `shown` is marked; `onPick` gets the id of a cell. */
export function HeatMap({ map, shown, onPick }: { map: Values; shown?: string; onPick(id: string): void }) {
  const { title = "", source = "", grades = [], cells = [] } = map;
  const isNamed = cells.length <= NAMED;
  return (
    <div className="dra-heat">
      <div
        className={classes("dra-grid dra-heat-cells", isNamed && "is-named")}
        role="group"
        aria-label={title}
        onKeyDown={onCellArrows}
      >
        {cells.map((cell, at) => (
          <Button
            kind="bare"
            className="dra-heat-cell"
            key={cell.rack}
            data-grade={cell.grade}
            data-key={cell.rack}
            label={cell.words}
            title={cell.words}
            pressed={cell.id !== "" && cell.id === shown}
            tabIndex={at ? -1 : 0}
            onClick={() => cell.id && onPick(cell.id)}
          >
            {isNamed && <span>{cell.rack}</span>}
          </Button>
        ))}
      </div>
      <div className="dra-row dra-legend">
        <span>{title}:</span>
        {grades.map(
          (words, grade) =>
            words &&
            cells.some((cell) => cell.grade === grade) && (
              <span key={words}>
                <span className="dra-heat-cell" data-grade={grade} />
                {words}
              </span>
            ),
        )}
        <span className="dra-hint">Grouped by the {source}.</span>
      </div>
    </div>
  );
}
