// Findings as a list: severity as sign and word, what it is about, what is the matter, what to do next.
import type { FindingRow } from "../generated/models";
import { h, type Icon, icon } from "./dom";

const SIGNS: Readonly<Record<string, Icon>> = { error: "error", warning: "warning", note: "note" };

export function findingsList(findings: readonly FindingRow[], nothing: string): HTMLElement {
  if (!findings.length) return h("p.dra-nothing", {}, nothing);
  return h("ul.dra-findings", {}, ...findings.map(row));
}

function row(finding: FindingRow): HTMLElement {
  return h(
    "li.dra-finding",
    { "data-severity": finding.severity },
    icon(SIGNS[finding.severity] ?? "note"),
    h(
      "div",
      {},
      h("span.dra-severity", {}, finding.severity),
      finding.subject ? h("code", {}, finding.subject) : null,
      h("p", {}, finding.message),
      finding.advice ? h("p.dra-advice", {}, finding.advice) : null,
      finding.origin ? h("p.dra-origin", {}, finding.origin) : null,
    ),
  );
}
