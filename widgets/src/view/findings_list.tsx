// Findings as a list: severity as sign and word, what it is about, what is the matter, what to do next.
import type { FindingRow } from "../generated/models";
import { Icon, type IconName } from "./icon";
import { keyed } from "./keyed";

const SIGNS: Readonly<Record<string, IconName>> = { error: "error", warning: "warning", note: "note" };

export function FindingsList({ findings, nothing }: { findings: readonly FindingRow[]; nothing: string }) {
  if (!findings.length) return <p className="dra-nothing">{nothing}</p>;
  return (
    <ul className="dra-findings">
      {keyed(findings, (row) => `${row.rule} ${row.subject} ${row.message}`).map(([key, finding]) => (
        <li key={key} className="dra-finding" data-severity={finding.severity}>
          <Icon name={SIGNS[finding.severity] ?? "note"} />
          <div>
            <span className="dra-severity">{finding.severity}</span>
            {finding.subject && <code>{finding.subject}</code>}
            <p>{finding.message}</p>
            {finding.advice && <p className="dra-advice">{finding.advice}</p>}
            {finding.origin && <p className="dra-origin">{finding.origin}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}
