"""A report as text for people, as Markdown for a pull request, as JSON, and as SARIF for code scanning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from dra_lab.findings import Finding, Severity, sentence_case
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Review
from dra_lab.gitops.workload_fit import short_of
from dra_lab.model.upgrade import Upgrade
from dra_lab.version import __version__
from dra_lab.words import upgrade_document
from dra_lab.words.document import Detail, Lines, Part, Sentence, Table, Words, as_markdown, printable
from dra_lab.words.facts import counted, sentence
from dra_lab.words.plan_document import NAMES
from dra_lab.words.plan_json import answer_json, plan_json
from dra_lab.words.rule_catalogue import rule_catalogue


class Report(NamedTuple):
    """An answer of `dra-lab check` in each format, worked out when it is printed."""

    outcome: str
    parts: Callable[[Detail], Iterable[Part]]
    json: Callable[[], dict[str, Any]]
    sarif: Callable[[], dict[str, Any]]
    markdown: Callable[[], str]


def markdown(parts: Iterable[Part]) -> str:
    """Return parts as the summary for a pull request."""
    return f"### dra-lab check\n\n{as_markdown(parts)}\n"


def review_report(review: Review) -> Report:
    """Return the report of a review."""
    return Report(
        review.outcome.value,
        partial(review_parts, review),
        partial(review_json, review),
        partial(review_sarif, review),
        lambda: markdown(_summary(review)),
    )


def upgrade_report(upgrade: Upgrade) -> Report:
    """Return the report of what an upgrade changes."""
    return Report(
        upgrade.outcome,
        partial(upgrade_document.upgrade_parts, upgrade),
        partial(upgrade_document.upgrade_json, upgrade),
        lambda: _sarif_log(upgrade_document.upgrade_findings(upgrade), upgrade.outcome),
        lambda: markdown(upgrade_document.upgrade_markdown(upgrade)),
    )


def review_parts(review: Review, detail: Detail = "all") -> Iterator[Part]:
    """Yield the number of objects per outcome, what was checked, the workloads and objects, and the findings.

    The short form has the first workloads that fit, and leaves out the notes.
    """
    yield Sentence(last_line(review))
    if detail == "answer":
        return
    yield Words(heading(review))
    short, everything = short_of(review.together), detail == "all"
    fitting = [item for item in review.reviewed if item.fit is FitState.FITS and item.subject not in short]
    left = [] if everything else fitting[NAMES:]
    for item in review.reviewed:
        if item not in left:
            alone = " alone" if item.fit is FitState.FITS and item.subject in short else ""
            yield Lines(f"{item.subject}: {OUTCOME_WORDS[item.fit]}{alone}", [item.sentence])
    if left:
        yield Words(f"And {counted(len(left), 'workload')} more that fit.")
    answered = {item.origin.object for item in review.reviewed} | {item.sentence for item in review.reviewed}
    for checked in review.objects:
        if checked.fit is not FitState.FITS and not {checked.subject, checked.sentence} & answered:
            reason = sentence(sentence_case(checked.sentence))
            yield Lines(f"{checked.subject}: {OUTCOME_WORDS[checked.fit]}", [reason])
    yield Words(together_line(review))
    findings = [f for f in review.findings if everything or f.severity is not Severity.NOTE]
    yield Lines("Findings", [f"{finding} [dra-lab help {finding.rule}]" for finding in findings])
    if left or len(findings) < len(review.findings):
        yield Words("-v shows every workload and the notes.")


def heading(review: Review) -> str:
    """Return what was checked against what."""
    when = f", read {review.read_at}" if review.read_at else ""
    use = (review.unread or "devices in use counted") if review.in_use else "nothing in use"
    return f"{counted(len(review.files), 'file')} against {review.cluster}{when}, Kubernetes {review.release}, {use}"


def together_line(review: Review) -> str:
    """Return how many replicas of each workload fit at once, "" if that was not planned."""
    plan = review.together
    if plan is None:
        return ""
    placed = ", ".join(f"{plan.placed[w.name]} of {w.replicas} {w.name}" for w in plan.workloads)
    return f"all at once: {placed} ({'proven' if plan.proven else 'not proven'})"


def last_line(review: Review) -> str:
    """Return how many objects have each outcome."""
    others = f"{counted(review.others, 'object')} request{'s' if review.others == 1 else ''} no devices"
    if not review.objects:
        if review.errors:
            return f"Not valid: {counted(len(review.errors), 'error')}."
        return f"Nothing to check: {others}." if review.others else "Not checked: there is no object."
    counts = (
        f"{review.count(FitState.FITS)} valid and fitting",
        f"{review.count(FitState.DOES_NOT_FIT)} not valid or not fitting",
        f"{review.count(FitState.NOT_DECIDED, FitState.NOT_CHECKED)} not checked",
    )
    more = f"; {others}" if review.others else ""
    return f"{counted(len(review.objects), 'object')}: {', '.join(counts)}{more}."


def _summary(review: Review) -> Iterator[Part]:
    yield Sentence(last_line(review))
    yield Words(heading(review))
    sentences = {item.origin.object: item.sentence for item in review.reviewed}
    rows = [
        (item.subject, OUTCOME_WORDS[item.fit], item.sentence or sentences.get(item.subject, ""))
        for item in review.objects
    ]
    yield Table(("object", "outcome", "reason"), rows)
    yield Words(together_line(review))
    yield Lines("", [str(finding) for finding in review.findings])


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
                "object": item.subject,
                "outcome": item.fit.value,
                "reason": item.sentence,
                "file": item.origin.source,
                "line": item.origin.line,
            }
            for item in review.objects
        ],
        "withoutDevices": review.others,
        "workloads": [
            {
                "subject": item.subject,
                "file": item.origin.source,
                "line": item.origin.line,
                "object": item.origin.object,
                "path": item.origin.path,
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


def review_sarif(review: Review) -> dict[str, Any]:
    """Return the findings, and each object that is not checked, as a SARIF 2.1.0 log.

    Paths are relative to the working folder for files in it.
    """
    findings = [
        *review.findings,
        *(
            Finding("not-checked", Severity.WARNING, item.subject, f"not checked: {item.sentence}", "", item.origin)
            for item in review.objects
            if item.fit.is_open
        ),
    ]
    return _sarif_log(findings, review.outcome.value)


def _sarif_log(findings: Sequence[Finding], outcome: str) -> dict[str, Any]:
    rules = sorted({finding.rule for finding in findings})
    driver = {"name": "dra-lab", "version": __version__, "rules": [_described(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules) for finding in findings],
        "properties": {"outcome": outcome},
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _described(rule: str) -> dict[str, Any]:
    """Return a rule with its entry of the catalogue; a rule that a newer dra-lab captured has none."""
    described: dict[str, Any] = {"id": rule, "shortDescription": {"text": rule.replace("-", " ")}}
    if entry := rule_catalogue().get(rule):
        described["fullDescription"] = {"text": entry.means}
        described["help"] = {"text": "\n".join(entry.lines())}
    return described


def _result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
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
