"""The fields that every answer has as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dra_lab.findings import Finding

JSON_VERSION = "dra-lab/v3"


def answer_json(
    kind: str,
    outcome: str,
    findings: Iterable[Finding] = (),
    goals: Iterable[dict[str, Any]] = (),
    *,
    first: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return an answer as plain values: what stands `first`, `outcome`, `goals`, `findings`, the fields of its kind."""
    return {
        "apiVersion": JSON_VERSION,
        "kind": kind,
        **(first or {}),
        "outcome": outcome,
        "goals": [*goals],
        "findings": [finding_value(finding) for finding in dict.fromkeys(findings)],
        **fields,
    }


def finding_value(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values; `origin` is one line, `file` to `path` are its parts."""
    origin = finding.origin
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "message": finding.message,
        "advice": finding.advice,
        "origin": str(origin or ""),
        "file": origin.source if origin else "",
        "line": origin.line if origin else 0,
        "object": origin.object if origin else "",
        "path": origin.path if origin else "",
    }
