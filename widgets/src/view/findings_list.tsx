// Findings as a list: severity as sign and word, its subject, the message, what to do next, and the entry of its rule.
import { Fragment, type ReactNode } from "react";
import { Callout, type Tone } from "../components/callout";
import type { FindingRow } from "../generated/models";
import type { IconName } from "./icon";
import { keyed } from "./keyed";

const TONES: Readonly<Record<string, Tone>> = { error: "error", warning: "warn" };

export function FindingsList({ findings, nothing }: { findings: readonly FindingRow[]; nothing: string }) {
  if (!findings.length) return <p className="dra-nothing">{nothing}</p>;
  return (
    <ul>
      {keyed(findings, (row) => `${row.rule} ${row.subject} ${row.message}`).map(
        ([key, { rule = "", help, ...row }]) => (
          <Finding key={key} tone={TONES[row.severity]} head={row.severity} {...row}>
            <Explained rule={rule} help={help ?? []} />
          </Finding>
        ),
      )}
    </ul>
  );
}

interface Props {
  tone?: Tone | undefined;
  icon?: IconName;
  head?: string;
  subject?: string | undefined;
  message?: string;
  advice?: string | undefined;
  origin?: string | undefined;
  children?: ReactNode;
}

/** Something that is wrong, or that would help, with what else is said of it. */
export function Finding({ tone = "plain", icon, head, subject, message, advice, origin, children }: Props) {
  return (
    <li className="dra-finding">
      <Callout tone={tone} icon={icon} />
      <div>
        {head && (
          <b className="dra-toned" data-tone={tone}>
            {head}{" "}
          </b>
        )}
        {subject && <code>{subject}</code>}
        {message && <p>{message}</p>}
        {advice && <p className="dra-dim">{advice}</p>}
        {origin && <p className="dra-hint">{origin}</p>}
        {children}
      </div>
    </li>
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
      <dl className="dra-terms">
        {help.map((text, index) => (
          <Fragment key={LABELS[index]}>
            <dt>{LABELS[index]}</dt>
            <dd>{text.replaceAll("`", "")}</dd>
          </Fragment>
        ))}
      </dl>
    </details>
  );
}
