// "Why not?": the node or device that is looked at, test by test, with what is left after each.
import { Lines, Points } from "../components/lines";
import { Meter } from "../components/meter";
import { Table } from "../components/table";
import type { TestBars } from "../generated/models";
import { keyed } from "../view/keyed";
import { useTrait } from "./model";
import { ReasonsPanel } from "./reasons_panel";

export function WhyNot({ hasTitle = true }: { hasTitle?: boolean }) {
  const { title, sentence, deviceLines = [], requests = [], lines = [] } = useTrait("why_not");
  return (
    <div className="dra-card dra-why" role="region" aria-label={title || "Why not?"} tabIndex={0}>
      {hasTitle && <h3>{title || "Why not?"}</h3>}
      <Lines lines={deviceLines} />
      <p role="status">{sentence || "Click a node to ask why the claim does not go there."}</p>
      <div className="dra-grid dra-why-requests">
        {keyed(requests, (row) => row.title).map(([key, row]) => (
          <Bars key={key} row={row} />
        ))}
      </div>
      {lines.length > 0 && (
        <details>
          <summary>In detail</summary>
          <Points lines={lines} />
        </details>
      )}
      <ReasonsPanel />
    </div>
  );
}

/** The tests of one request, with how many devices are left after each. */
export function Bars({ row }: { row: TestBars }) {
  return (
    <Table
      className="dra-bars"
      caption={row.title}
      rows={(row.bars ?? []).map((bar) => ({
        key: bar.label,
        isShort: bar.short,
        head: (
          <>
            {bar.label} {bar.note && <span className="dra-hint">{bar.note}</span>}
          </>
        ),
        cells: [<Meter key="meter" value={bar.count} of={bar.of} />, bar.count.toLocaleString("en")],
        marks: [undefined, "dra-number"],
      }))}
    />
  );
}
