// "Why not?": the node or device that is looked at, test by test, with what is left after each.
import { Button } from "../components/button";
import { Finding, Lines, Meter, Points } from "../components/content";
import { Table } from "../components/table";
import type { FunnelRow, SuggestionRow, TestBars } from "../generated/models";
import { keyed } from "../view/text";
import { useTrait } from "./model";

// Why it does not fit, and what would help.
function ReasonsPanel() {
  const [reasons, suggestions, why] = [useTrait("reasons"), useTrait("suggestions"), useTrait("why")];
  const { lines = [], tried = [], funnels = [] } = why;
  if (!reasons.length && !suggestions.length) return null;
  return (
    <section className="dra-ruled" aria-label="Why it fits on no node">
      <h3>Why it fits on no node</h3>
      <ul>
        {keyed(reasons, (row) => `${row.rule} ${row.message}`).map(([key, row]) => (
          <Finding key={key} tone="error" icon="cross" head={row.rule} {...row} />
        ))}
      </ul>
      <Points lines={lines} />
      {suggestions.length > 0 && (
        <>
          <h3>What would help</h3>
          <ul>
            {keyed(suggestions, (row) => row.title).map(([key, row]) => (
              <Suggestion key={key} row={row} />
            ))}
          </ul>
        </>
      )}
      <Points lines={tried} className="dra-hint" />
      {funnels.length > 0 && <h3>Devices left after each test</h3>}
      {keyed(funnels, (row) => row.title).map(([key, row]) => (
        <Funnel key={key} row={row} />
      ))}
    </section>
  );
}

function Suggestion({ row: { number, title, detail, source } }: { row: SuggestionRow }) {
  return (
    <Finding origin={source}>
      <p>
        <b>{title}</b>
      </p>
      {detail && <p className="dra-detail">{detail}</p>}
      {number != null && <Button send={{ type: "apply-suggestion", number }}>Apply to the drawing</Button>}
    </Finding>
  );
}

/** Counts after each test, by kind of node; the legend says what the numbered columns mean. */
function Funnel({ row }: { row: FunnelRow }) {
  const { columns = [], legend = [], rows = [] } = row;
  return (
    <section className="dra-funnel" aria-label={row.title} tabIndex={0}>
      <Table
        caption={row.title}
        columns={columns.map((name) => [name, name])}
        rows={rows.map(([head = "", ...cells]) => ({ key: head, head, cells }))}
      />
      {Boolean(row.more) && (
        <p className="dra-hint">{row.more} more kinds of nodes; the text and the JSON answer have them all</p>
      )}
      {legend.length > 0 && (
        <dl className="dra-terms">
          {legend.map(([head, text]) => [
            <dt key={`${head} label`}>{head}</dt>,
            <dd key={`${head} value`}>
              <code>{text}</code>
            </dd>,
          ])}
        </dl>
      )}
    </section>
  );
}

export function WhyNot({ hasTitle = true }: { hasTitle?: boolean }) {
  const { title, sentence, deviceLines = [], requests = [], lines = [] } = useTrait("why_not");
  return (
    <div className="dra-card dra-pane dra-why" role="region" aria-label={title || "Why not?"} tabIndex={0}>
      {hasTitle && <h3>{title || "Why not?"}</h3>}
      <Lines lines={deviceLines} />
      <p role="status">{sentence || "Click a node to ask why the claim does not go there."}</p>
      <div className="dra-grid">
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
