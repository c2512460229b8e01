"""What changed since a revision, as text, as Markdown for a pull request, as JSON, and as pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dra_lab.gitops.compare import Change, ComparedState, Comparison
from dra_lab.gitops.report_json import review_json
from dra_lab.gitops.report_text import heading
from dra_lab.gitops.review import OUTCOME_WORDS, FitState
from dra_lab.model.cluster import Cluster
from dra_lab.words.document import Detail, Lines, Part, Sentence, Table, Words, as_markdown, marked_up
from dra_lab.words.facts import counted, goal_number, goal_words, proof_words, telling
from dra_lab.words.plan_json import finding_value, plain_value

_WORDS = ("new", "removed", "worse", "better", "changed")

MOST_PICTURES = 20
"""Pictures beside a summary: those of the first changes."""


def changes_parts(comparison: Comparison, detail: Detail = "short") -> Iterator[Part]:
    """Yield what changed: the sentence, a row for each workload or claim before and after, and the findings."""
    yield Sentence(_sentence(comparison))
    if detail == "answer":
        return
    yield Words(heading(comparison.review))
    rows = [_row(change) for change in comparison.changes if change.word or detail == "all"]
    yield Table(("claim", "change", "fits", "node", "paired", "goals"), rows, "Before → after")
    for change in comparison.changes:
        if change.newly_open is not FitState.FITS and change.after is not None:
            yield Lines(f"{change.subject}: {OUTCOME_WORDS[change.after.fit]}", [change.after.sentence])
    yield Lines("New findings", [str(finding) for finding in comparison.new])
    yield Lines("Findings that are gone", [str(finding) for finding in comparison.gone])


def changes_markdown(comparison: Comparison, pictures: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """Return the summary for a pull request; `pictures` are the names of files by claim, for links to them."""
    text = f"### dra-lab check\n\n{as_markdown(changes_parts(comparison))}\n"
    for subject, names in (pictures or {}).items():
        links = " ".join(f"![{marked_up(subject)} {_side(name)}]({name})" for name in names)
        text += f"\n{marked_up(subject)}:\n\n{links}\n"
    return text


def changes_json(comparison: Comparison) -> dict[str, Any]:
    """Return the review without what was so before, and what changed since the revision."""
    outcome = comparison.outcome
    value = review_json(comparison.new_only)
    value |= {"outcome": outcome.value, "valid": outcome is FitState.FITS}
    changes = [
        {"object": one.subject, "change": one.word, "before": _state(one.before), "after": _state(one.after)}
        for one in comparison.changes
    ]
    gone = [finding_value(finding) for finding in comparison.gone]
    return value | {"baseline": {"since": comparison.since, "changes": changes, "gone": gone}}


def changes_pictures(comparison: Comparison, cluster: Cluster) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return pictures of what changed as SVG by file name, and the names by claim, before and then after."""
    from dra_lab.pictures.hardware import hardware_svg

    texts: dict[str, str] = {}
    names: dict[str, tuple[str, ...]] = {}
    for change in comparison.changes:
        if not change.word or len(texts) >= MOST_PICTURES or change.subject in names:
            continue
        stem = re.sub(r"[^A-Za-z0-9.]+", "-", change.subject).strip("-.") or "claim"
        for side, state in (("before", change.before), ("after", change.after)):
            plan = state.plan if state is not None else None
            if plan is not None and plan.fits and plan.node in cluster.node_by_name:
                name = f"{stem}-{side}.svg"
                texts[name] = hardware_svg(cluster, plan.node, plan=plan)
                names[change.subject] = (*names.get(change.subject, ()), name)
    return texts, names


def _side(name: str) -> str:
    return name.removesuffix(".svg").rpartition("-")[2]


def _sentence(comparison: Comparison) -> str:
    words = Counter(change.word for change in comparison.changes)
    shown = ", ".join(f"{words[word]} {word}" for word in _WORDS if words[word])
    counts = f"{counted(len(comparison.changes), 'claim')}: {shown or 'none changed'}"
    new, gone = counted(len(comparison.new), "new finding"), f"{len(comparison.gone)} gone"
    verdict = {
        FitState.FITS: "No new failure",
        FitState.DOES_NOT_FIT: "New failures",
    }.get(comparison.outcome, "Not everything new is checked,")
    return f"{verdict} since {comparison.since}. {counts}; {new}, {gone}."


def _row(change: Change) -> tuple[str, ...]:
    sides = [_cells(change.before), _cells(change.after)]
    cells = (_cell(before, after) for before, after in zip(*sides, strict=True))
    return change.subject, change.word or "same", *cells


def _cell(before: str, after: str) -> str:
    """Return a value that did not change once, else both; a side without one is a dash."""
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _cells(state: ComparedState | None) -> tuple[str, str, str, str]:
    if state is None:
        return "", "", "", ""
    fits = OUTCOME_WORDS[state.fit]
    if state.fit is FitState.FITS and state.times is not None:
        fits = f"{'at least ' if state.capped else ''}{counted(state.times, 'time')} on {counted(state.nodes, 'node')}"
    plan = state.plan
    if plan is None or not plan.fits:
        return fits, "", "", ""
    goals = [*telling(plan.goals)]
    paired = next((goal_number(goal)[0] for goal in goals if goal.goal == "unpaired"), "")
    others = [goal_words(goal) for goal in goals if goal.goal != "unpaired"]
    return fits, plan.node, paired, ", ".join((*others, proof_words(plan)))


def _state(state: ComparedState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    plan = state.plan
    return {
        "outcome": state.fit.value,
        "sentence": state.sentence,
        "times": state.times,
        "node": "" if plan is None else plan.node,
        "goals": [] if plan is None else [plain_value(goal) for goal in plan.goals],
    }
