// Why it does not fit, and what would help.
import type { FunnelRow, ReasonRow, SuggestionRow } from "../generated/models";
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { useChannel, useTrait } from "./model";

export function ReasonsPanel() {
  const [reasons, suggestions, why] = [useTrait("reasons"), useTrait("suggestions"), useTrait("why")];
  const { lines = [], tried = [], funnels = [] } = why;
  if (!reasons.length && !suggestions.length) return null;
  return (
    <section className="dra-reasons" aria-label="Why it fits on no node">
      <h3>Why it fits on no node</h3>
      <ul className="dra-findings">
        {keyed(reasons, (row) => `${row.rule} ${row.message}`).map(([key, row]) => (
          <Reason key={key} row={row} />
        ))}
      </ul>
      <Lines lines={lines} />
      {suggestions.length > 0 && (
        <>
          <h3>What would help</h3>
          <ul className="dra-findings">
            {keyed(suggestions, (row) => row.title).map(([key, row]) => (
              <Suggestion key={key} row={row} />
            ))}
          </ul>
        </>
      )}
      <Lines lines={tried} className="dra-hint" />
      {funnels.length > 0 && <h3>Devices left after each test</h3>}
      {keyed(funnels, (row) => row.title).map(([key, row]) => (
        <Funnel key={key} row={row} />
      ))}
    </section>
  );
}

function Lines({ lines, className }: { lines: readonly string[]; className?: string }) {
  if (!lines.length) return null;
  return (
    <ul className="dra-lines">
      {keyed(lines).map(([key, line]) => (
        <li key={key} className={className}>
          {line}
        </li>
      ))}
    </ul>
  );
}

function Reason({ row }: { row: ReasonRow }) {
  return (
    <li className="dra-finding" data-severity="error">
      <Icon name="cross" />
      <div>
        <span className="dra-severity">{row.rule}</span>
        {row.subject && <code>{row.subject}</code>}
        <p>{row.message}</p>
        {row.advice && <p className="dra-advice">{row.advice}</p>}
      </div>
    </li>
  );
}

function Suggestion({ row }: { row: SuggestionRow }) {
  const channel = useChannel();
  const { id } = row;
  return (
    <li className="dra-finding" data-severity="note">
      <Icon name="note" />
      <div>
        <p>
          <b>{row.title}</b>
        </p>
        {row.detail && <p className="dra-detail">{row.detail}</p>}
        {row.source && <p className="dra-origin">{row.source}</p>}
        {id && (
          <button type="button" className="dra-button" onClick={() => channel.send({ type: "apply-suggestion", id })}>
            Apply to the drawing
          </button>
        )}
      </div>
    </li>
  );
}

/** Counts after each test, by kind of node; the legend says what the numbered columns mean. */
function Funnel({ row }: { row: FunnelRow }) {
  const { columns = [], legend = [], rows = [] } = row;
  return (
    <section className="dra-funnel" aria-label={row.title} tabIndex={0}>
      <table className="dra-counts">
        <caption>{row.title}</caption>
        <thead>
          <tr>
            {keyed(columns).map(([key, name]) => (
              <th key={key} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keyed(rows, (cells) => cells[0] ?? "").map(([key, [head, ...cells]]) => (
            <tr key={key}>
              <th scope="row">{head}</th>
              {cells.map((cell, at) => (
                <td key={columns[at + 1] ?? at} className="dra-number">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {Boolean(row.more) && (
        <p className="dra-hint">{row.more} more kinds of nodes; the text and the JSON answer have them all</p>
      )}
      {legend.length > 0 && (
        <dl className="dra-legend">
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
