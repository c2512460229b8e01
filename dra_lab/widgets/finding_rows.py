"""Findings in words, as the bar and the dock of findings show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dra_lab.findings import Finding
from dra_lab.widgets.wire import Row
from dra_lab.words.rule_catalogue import rule_catalogue


class FindingRow(Row, frozen=True):
    """One finding in words; `severity` is error, warning or note; `origin` is the place of the text, or "".

    `help` has the lines of the catalogue about its rule, () for a rule that this dra_lab does not have.
    """

    severity: str
    message: str
    subject: str = ""
    advice: str = ""
    origin: str = ""
    rule: str = ""
    help: tuple[str, ...] = ()


class CountsRow(Row, frozen=True):
    """How many findings there are of each severity; `checking` where a large cluster is still being looked at."""

    error: int = 0
    warning: int = 0
    note: int = 0
    checking: bool = False


MAX_FINDINGS = 300
"""Findings that the browser gets, errors first; a last row says how many more there are (`lab.findings` has all)."""


def finding_rows(findings: Sequence[Finding]) -> tuple[FindingRow, ...]:
    """Return findings in words, at most MAX_FINDINGS of them and a row that counts the others."""
    rows = tuple(map(_finding_row, findings[:MAX_FINDINGS]))
    if (more := len(findings) - MAX_FINDINGS) > 0:
        note = f"{more:,} more findings"
        return (*rows, FindingRow(severity="note", message=note, advice="lab.findings has all of them."))
    return rows


def _finding_row(finding: Finding) -> FindingRow:
    entry = rule_catalogue().get(finding.rule)
    return FindingRow(
        severity=finding.severity.value,
        message=finding.message,
        subject=finding.subject,
        advice=finding.advice,
        origin=str(finding.origin) if finding.origin else "",
        rule=finding.rule,
        help=(entry.means, entry.cause, entry.remedy, entry.page) if entry else (),
    )


def counts(findings: Iterable[Finding], *, checking: bool = False) -> CountsRow:
    """Return how many findings there are of each severity, and whether more may come."""
    found = Counter(finding.severity.value for finding in findings)
    return CountsRow(error=found["error"], warning=found["warning"], note=found["note"], checking=checking)
