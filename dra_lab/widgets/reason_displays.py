"""What a notebook shows of findings, of the parts of a reason and of regret: sentences instead of fields."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.findings import Finding, shortened
from dra_lab.model.plan import GOALS, Plan, PlanStatus, Shortfall, Suggestion
from dra_lab.model.reasons import Reasons, Relaxation
from dra_lab.model.regret import Regret
from dra_lab.model.sketch import ClaimSketch
from dra_lab.widgets.result_parts import Lines, Part, Table, Words, as_html, as_text


def finding_words(finding: Finding) -> str:
    """Return a finding in one line: severity, place, subject, message, advice."""
    return as_text([Words(str(finding))])


def finding_html(finding: Finding) -> str:
    """Return a finding in one line, as HTML."""
    return as_html([Words(str(finding))])


def shortfall_words(shortfall: Shortfall) -> str:
    """Return a reason and what to do about it."""
    return as_text([_shortfall(shortfall)])


def shortfall_html(shortfall: Shortfall) -> str:
    """Return a reason and what to do about it, as HTML."""
    return as_html([_shortfall(shortfall)])


def _shortfall(shortfall: Shortfall) -> Words:
    return Words(f"{shortfall.message.rstrip('.')}. {shortfall.advice}".rstrip())


def suggestion_words(suggestion: Suggestion) -> str:
    """Return what would help, what it brings, and the selectors that it adds."""
    return as_text(_suggestion(suggestion))


def suggestion_html(suggestion: Suggestion) -> str:
    """Return what would help, what it brings, and the selectors that it adds, as HTML."""
    return as_html(_suggestion(suggestion))


def _suggestion(suggestion: Suggestion) -> Iterator[Part]:
    source = f" Source: {suggestion.source}" if suggestion.source else ""
    yield Words(f"{suggestion.title.rstrip('.')}. {suggestion.detail}{source}".rstrip())
    added = [f"{request}: {text}" for request, texts in suggestion.selectors.items() for text in texts]
    yield Lines("Selectors", added)


def relaxation_words(change: Relaxation) -> str:
    """Return a change that was tried, and on how many nodes the claim then fits."""
    from dra_lab.pictures.reason_words import relaxation_words as words

    return as_text([Words(words(change))])


def relaxation_html(change: Relaxation) -> str:
    """Return a change that was tried, and on how many nodes the claim then fits, as HTML."""
    from dra_lab.pictures.reason_words import relaxation_words as words

    return as_html([Words(words(change))])


def reasons_words(reasons: Reasons) -> str:
    """Return why a claim fits nowhere: counts after every test, what cannot hold together, what was tried."""
    return as_text(_reasons(reasons))


def reasons_html(reasons: Reasons) -> str:
    """Return why a claim fits nowhere, as HTML: counts after every test, what cannot hold together, what was tried."""
    return as_html(_reasons(reasons))


def _reasons(reasons: Reasons) -> Iterator[Part]:
    from dra_lab.pictures.reason_words import conflict_lines, funnel_tables, relaxation_lines, scarcity_lines

    plan = Plan(PlanStatus.INFEASIBLE, ClaimSketch(), reasons=reasons)
    yield Lines(
        "Selectors that fail",
        [shortened(f"{failure.request}: {failure.expression}: {failure.message}") for failure in reasons.failures],
    )
    yield Lines("What is in the way", [*scarcity_lines(plan), *conflict_lines(plan)])
    for table in funnel_tables(plan):
        needed = f"{table.needed} needed" if table.needed else "all that match"
        yield Table(table.columns, table.rows, f"Devices left for {table.request} ({needed})")
        yield Lines("Where", [f"{head} is {text}" for head, text in table.legend])
    yield Lines("Relaxations, each tried alone", [*relaxation_lines(plan)])


def regret_words(regret: Regret) -> str:
    """Return what a first fit costs: the goals that differ, the bandwidth, where the figures come from."""
    return as_text(_regret(regret))


def regret_html(regret: Regret) -> str:
    """Return what a first fit costs, as HTML: the goals that differ, the bandwidth, where the figures come from."""
    return as_html(_regret(regret))


def _regret(regret: Regret) -> Iterator[Part]:
    from dra_lab.pictures.reason_words import FIRST_FITS, bandwidth_lines

    who = FIRST_FITS[regret.against]
    yield Words(f"Best against {who}{'' if regret.goals else ': every goal is as good'}")
    rows = [(GOALS.get(goal.goal, goal.goal), goal.best, goal.theirs, f"{goal.difference:+,}") for goal in regret.goals]
    yield Table(("goal", "best", "kube-scheduler", "worse by"), rows)
    yield Lines("Bandwidth from GPUs to NICs", [*bandwidth_lines([regret])])
