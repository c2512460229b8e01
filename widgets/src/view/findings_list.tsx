// Findings as a list: severity as sign and word, its subject, the message, what to do next, and the entry of its rule.
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
            <Explained rule={finding.rule ?? ""} help={finding.help ?? []} />
          </div>
        </li>
      ))}
    </ul>
  );
}

const LABELS = ["Meaning", "Cause", "Remedy", "Page"] as const;

function Explained({ rule, help }: { rule: string; help: readonly string[] }) {
  if (!help.length) return null;
  return (
    <details className="dra-rule-help">
      <summary>
        Explain <code>{rule}</code>
      </summary>
      <dl>
        {help.map((text, index) => (
          <div key={LABELS[index]}>
            <dt>{LABELS[index]}</dt>
            <dd>{text.replaceAll("`", "")}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
