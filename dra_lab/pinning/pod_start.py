"""Whether a pod starts with its manifest: what the findings of kube-scheduler's search on every node say of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dra_lab.findings import Finding, Rule, Severity, sort_findings
from dra_lab.model.placement import FirstFit, FirstFitStatus, Start
from dra_lab.model.plan import Plan

GIVES_UP = "manifest-gives-up"
"""Rule of the findings that say on which nodes kube-scheduler gives up the pod (`pinning.node_search`)."""

NOT_ALLOCATED: Rule = "manifest-not-allocated"
"""Rule of the finding that kube-scheduler allocates no devices on any node, although an allocation exists."""

OPEN = frozenset(("manifest-undecided", "manifest-not-replayed"))
"""Rules of the findings that say that a search for the manifest did not end here (`pinning.node_search`)."""

RUN_TIME_ERROR = "selector-run-time-error"
"""Rule of the findings that name devices on which a selector fails (`planner.plan_findings`)."""


def never_starts(findings: Iterable[Finding]) -> Finding | None:
    """Return the finding with which no pod starts, None if there is none."""
    errors = (f for f in findings if f.severity is Severity.ERROR)
    return next((f for f in errors if f.rule in (GIVES_UP, NOT_ALLOCATED)), None)


def start_of(findings: Sequence[Finding]) -> Start:
    """Return whether a pod starts, by what `pinning.node_search` found on every node."""
    if never_starts(findings) is not None:
        return Start.NEVER
    return Start.OPEN if any(f.rule in OPEN for f in findings) else Start.STARTS


def with_start(plan: Plan, findings: Sequence[Finding]) -> Plan:
    """Return a plan as the answer after kube-scheduler's search on every node, of which these are the findings.

    The plan itself knows kube-scheduler's search on its own node only; a finding knows that of every node. An error on
    any node ends the whole attempt, so that an answer with "fits" beside it would contradict itself.
    """
    if not plan.fits:
        return plan
    plan, found = replace(plan, start=start_of(findings)), never_starts(findings)
    if found is None or plan.first_fit is None or plan.first_fit.status is FirstFitStatus.ERROR:
        return plan
    status, message = FirstFitStatus.NONE, ""
    if found.rule == GIVES_UP:
        status, message = FirstFitStatus.ERROR, f"on {found.subject}"
    return replace(plan, first_fit=FirstFit(status, message=message, recorded=plan.first_fit.recorded))


def searched(plan: Plan, findings: Iterable[Finding]) -> tuple[Plan, tuple[Finding, ...]]:
    """Return a plan and its findings as the answer after kube-scheduler's search on every node.

    The findings of this search are among `findings`. If none of them is against the plan, no pod of it meets a device
    on which a selector fails, so that this is a warning.
    """
    findings = tuple(findings)
    plan = with_start(plan, findings)
    ended = not any(f.rule in OPEN or f.rule == GIVES_UP for f in findings)
    if plan.first_fit is None or plan.first_fit.status is not FirstFitStatus.ALLOCATED or not ended:
        return plan, findings
    return plan, sort_findings(unmet(f) if f.rule == RUN_TIME_ERROR else f for f in findings)


def unmet(finding: Finding) -> Finding:
    """Return a finding about a selector that fails on devices as a warning: the search ends before it meets one."""
    message = (
        f"{finding.message}. On the nodes as they are now, the search ends before it reaches such a device; "
        "later it may not"
    )
    return replace(finding, severity=Severity.WARNING, message=message)
