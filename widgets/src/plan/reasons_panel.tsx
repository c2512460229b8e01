// Why it does not fit, and what would help.
import { Button } from "../components/button";
import { Points } from "../components/lines";
import { Table } from "../components/table";
import type { FunnelRow, SuggestionRow } from "../generated/models";
import { Finding } from "../view/findings_list";
import { keyed } from "../view/keyed";
import { useChannel, useTrait } from "./model";

export function ReasonsPanel() {
  const [reasons, suggestions, why] = [useTrait("reasons"), useTrait("suggestions"), useTrait("why")];
  const { lines = [], tried = [], funnels = [] } = why;
  if (!reasons.length && !suggestions.length) return null;
  return (
    <section className="dra-reasons" aria-label="Why it fits on no node">
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

function Suggestion({ row: { id, title, detail, source } }: { row: SuggestionRow }) {
  const channel = useChannel();
  return (
    <Finding origin={source}>
      <p>
        <b>{title}</b>
      </p>
      {detail && <p className="dra-detail">{detail}</p>}
      {id && <Button onClick={() => channel.send({ type: "apply-suggestion", id })}>Apply to the drawing</Button>}
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
