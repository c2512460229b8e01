"""A review for machines: JSON of our own, and SARIF for code scanning."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.review import Checked, Review
from dra_lab.words.document import printable
from dra_lab.words.plan_json import answer_json, plan_json
from dra_lab.words.rule_catalogue import rule_catalogue

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def review_json(review: Review) -> dict[str, Any]:
    """Return the review as plain values with fixed names and order."""
    more: dict[str, Any] = {
        "valid": review.valid,
        "cluster": review.cluster,
        "readAt": review.read_at,
        "release": review.release,
        "devicesInUse": review.in_use,
        "files": list(review.files),
        "objects": [
            {
                "object": item.object,
                "outcome": item.outcome.value,
                "reason": item.reason,
                "file": item.origin.source,
                "line": item.origin.line,
            }
            for item in review.objects
        ],
        "withoutDevices": review.others,
        "workloads": [
            {
                "subject": item.subject,
                **_place(item.origin),
                "outcome": item.fit.value,
                "sentence": item.sentence,
                "wanted": item.wanted,
                "times": item.times,
                "proven": item.proven,
                "capped": item.capped,
                "nodes": list(item.nodes),
                "plan": plan_json(item.plan) if item.plan is not None else None,
            }
            for item in review.reviewed
        ],
        "together": None
        if review.together is None
        else {
            "placed": dict(review.together.placed),
            "wanted": {w.name: w.replicas for w in review.together.workloads},
            "proven": review.together.proven,
        },
    }
    return answer_json("Check", review.outcome.value, review.findings, **more)


def review_sarif(review: Review, version: str) -> dict[str, Any]:
    """Return the findings, and each object that is not checked, as a SARIF 2.1.0 log.

    Paths are relative to the working folder for files in it.
    """
    findings = [*review.findings, *(_unchecked(item) for item in review.objects if item.outcome.is_open)]
    rules = sorted({finding.rule for finding in findings})
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "dra-lab",
                        "version": version,
                        "rules": [_described(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, rules) for finding in findings],
                "properties": {"outcome": review.outcome.value},
            }
        ],
    }


def _described(rule: str) -> dict[str, Any]:
    """Return a rule with its entry of the catalogue; a rule that a newer dra-lab captured has none."""
    described: dict[str, Any] = {"id": rule, "shortDescription": {"text": rule.replace("-", " ")}}
    if entry := rule_catalogue().get(rule):
        described["fullDescription"] = {"text": entry.means}
        described["help"] = {"text": "\n".join(entry.lines())}
    return described


def _unchecked(item: Checked) -> Finding:
    return Finding("not-checked", Severity.WARNING, item.object, f"not checked: {item.reason}", "", item.origin)


def _result(finding: Finding, rules: list[str]) -> dict[str, Any]:
    subject = f"{finding.subject}: " if finding.subject else ""
    advice = f" {finding.advice}" if finding.advice else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(f"{subject}{finding.message}.{advice}".replace("..", "."))},
    }
    origin = finding.origin
    if origin is not None and origin.source and Path(origin.source).is_file():
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(origin.source)}}
        if origin.line:
            place["region"] = {"startLine": origin.line}
        location: dict[str, Any] = {"physicalLocation": place}
        if origin.path:
            location["logicalLocations"] = [{"fullyQualifiedName": f"{origin.object} {origin.path}".strip()}]
        result["locations"] = [location]
    return result


def _uri(source: str) -> str:
    path = Path(source)
    try:
        return str(PurePosixPath(path.resolve().relative_to(Path.cwd().resolve())))
    except ValueError:
        return path.resolve().as_uri()


def _place(origin: Origin | None) -> dict[str, Any]:
    if origin is None:
        return {"file": "", "line": 0, "object": "", "path": ""}
    return {"file": origin.source, "line": origin.line, "object": origin.object, "path": origin.path}
