// "Why not?": the node or device that is looked at, test by test, with what is left after each.
import type { Bar as Test, TestBars } from "../generated/models";
import { keyed } from "../view/keyed";
import { useTrait } from "./model";
import { ReasonsPanel } from "./reasons_panel";

export function WhyNot({ hasTitle = true }: { hasTitle?: boolean }) {
  const { title, sentence, deviceLines = [], requests = [], lines = [] } = useTrait("why_not");
  return (
    <div className="dra-why" role="region" aria-label={title || "Why not?"} tabIndex={0}>
      {hasTitle && <h3>{title || "Why not?"}</h3>}
      {deviceLines.length > 0 && (
        <ul className="dra-why-device">
          {keyed(deviceLines).map(([key, line]) => (
            <li key={key}>{line}</li>
          ))}
        </ul>
      )}
      <p className="dra-why-sentence" role="status">
        {sentence || "Click a node to ask why the claim does not go there."}
      </p>
      <div className="dra-why-requests">
        {keyed(requests, (row) => row.title).map(([key, row]) => (
          <Bars key={key} row={row} />
        ))}
      </div>
      {lines.length > 0 && (
        <details className="dra-why-more">
          <summary>In detail</summary>
          <ul className="dra-lines">
            {keyed(lines).map(([key, line]) => (
              <li key={key}>{line}</li>
            ))}
          </ul>
        </details>
      )}
      <ReasonsPanel />
    </div>
  );
}

/** The tests of one request, with how many devices are left after each. */
export function Bars({ row }: { row: TestBars }) {
  return (
    <table className="dra-bars">
      <caption>{row.title}</caption>
      <tbody>
        {keyed(row.bars ?? [], (bar) => bar.label).map(([key, bar]) => (
          <Bar key={key} bar={bar} />
        ))}
      </tbody>
    </table>
  );
}

function Bar({ bar }: { bar: Test }) {
  return (
    <tr data-short={bar.short ? "" : undefined}>
      <th scope="row">
        {bar.label}
        {bar.note && <small> {bar.note}</small>}
      </th>
      <td aria-hidden="true">
        <span className="dra-bar-track">
          <span className="dra-bar-fill" style={{ width: `${(100 * bar.count) / Math.max(1, bar.of)}%` }} />
        </span>
      </td>
      <td className="dra-number">{bar.count.toLocaleString("en")}</td>
    </tr>
  );
}
