"""A plan as the values that `PlanView` shows: the answer strip, goals, reasons, suggestions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import FIXED_GOALS, GOALS, FirstFit, FirstFitStatus, GoalValue, Placement, Plan, PlanStatus
from dra_lab.model.sketch import ClaimSketch
from dra_lab.widgets.plan_values import (
    AnswerRow,
    BadgeRow,
    FigureRow,
    GoalRow,
    ProgressRow,
    ReasonRow,
    State,
    SuggestionRow,
    Tone,
)
from dra_lab.widgets.selector_words import without_text

_STATES: dict[PlanStatus, State] = {
    PlanStatus.OPTIMAL: "fits",
    PlanStatus.FEASIBLE: "fits",
    PlanStatus.INFEASIBLE: "misfit",
    PlanStatus.STOPPED: "stopped",
    PlanStatus.NOT_CHECKED: "stopped",
    PlanStatus.EMPTY: "empty",
}
_ENDS = {
    FirstFitStatus.NONE: "finds nothing",
    FirstFitStatus.ERROR: "gives up the pod",
    FirstFitStatus.STOPPED: "not known",
}
MANIFEST = ("kube-scheduler:", "What kube-scheduler takes on this node with this manifest")
PLAIN = ("without links:", "What kube-scheduler takes on this node with counts and selectors only")

MOST_DIFFERING = 3
"""Goals in which kube-scheduler differs that the strip tells, the most important first; the Goals tab has them all."""


def answer_row(
    plan: Plan | None, cluster: Cluster, *, stale: bool, progress: Any = None, refusal: DraLabError | None = None
) -> AnswerRow:
    """Return the answer strip; without a plan it says that the planner is at work, or why there is no answer.

    Where the present drawing could not be answered, the last answer stays, for the previous drawing, with the trouble.
    """
    from dra_lab.exports.sentences import headline

    told = progress_row(progress) if stale else None
    trouble = without_text(str(refusal)) if refusal is not None and not stale else ""
    if trouble and plan is None:
        return AnswerRow(state="error", sentence=trouble)
    if plan is None:
        sentence = told.text if told else "Planning ..."
        return AnswerRow(state="solving", sentence=sentence, progress=told)
    return AnswerRow(
        state=_STATES[plan.status],
        sentence=headline(plan, cluster),
        figures=figures(plan, cluster) if plan.fits else (),
        stale=stale or bool(trouble),
        progress=told,
        trouble=trouble,
    )


def figures(plan: Plan, cluster: Cluster) -> tuple[FigureRow, ...]:
    """Return the figures of a plan that fits: its goals, its proof, and what kube-scheduler takes on the same node.

    For a claim without links kube-scheduler is told once, where its manifest and its counts alone end alike.
    """
    from dra_lab.exports.sentences import links_say_nothing

    kinds = _kinds(plan.placements, cluster)
    rows = [FigureRow(label=label, value=value) for label, value in _values(plan.goals, kinds)]
    rows.append(_proof(plan))
    plain = None if links_say_nothing(plan) else plan.first_fit_plain
    for fit, (label, title) in ((plan.first_fit, MANIFEST), (plain, PLAIN)):
        if fit is not None:
            value, tone = _compared(plan, fit, _kinds(fit.placements, cluster))
            rows.append(FigureRow(label=label, value=value, tone=tone, title=title))
    return tuple(rows)


def goal_rows(plan: Plan | None) -> tuple[GoalRow, ...]:
    """Return the goals in their order, each beside what kube-scheduler reaches."""
    return tuple(_goal_row(plan, goal) for goal in plan.goals) if plan is not None and plan.fits else ()


def reason_rows(plan: Plan | None, refusal: DraLabError | None = None) -> tuple[ReasonRow, ...]:
    """Return why the drawing does not fit, or why it could not be answered."""
    if refusal is not None:
        return (ReasonRow(rule="not-answered", message=str(refusal)),)
    return tuple(
        ReasonRow(
            rule=shortfall.rule,
            message=shortfall.message,
            subject=f"{shortfall.subject} on {shortfall.node}" if shortfall.node else shortfall.subject,
            advice=shortfall.advice,
        )
        for shortfall in (plan.shortfalls if plan is not None else ())
    )


def suggestion_rows(plan: Plan | None) -> tuple[SuggestionRow, ...]:
    """Return what would help; those that carry the changed drawing or selectors are applied by their number."""
    return tuple(
        SuggestionRow(
            title=suggestion.title,
            detail=suggestion.detail,
            source=suggestion.source,
            id=str(number) if suggestion.selectors or suggestion.sketch is not None else "",
        )
        for number, suggestion in enumerate(plan.suggestions if plan is not None else ())
    )


def badge_rows(sketch: ClaimSketch) -> dict[str, BadgeRow]:
    """Return letter and colours of every request, as the canvas and the picture show them."""
    from dra_lab.pictures.letters import colours, letters

    letter, colour = letters(sketch), colours(sketch)
    return {
        name: BadgeRow(letter=letter[name], colour=colour[name].fill, text_colour=colour[name].text) for name in letter
    }


def _kinds(placements: Iterable[Placement], cluster: Cluster) -> dict[str, int]:
    from dra_lab.index.catalogue import catalogue

    known = catalogue(cluster)
    chosen: set[DeviceID] = {placement.device for placement in placements}
    return Counter(known.shape(known.by_id[device]).kind for device in chosen if device in known.by_id)


def _values(goals: Iterable[GoalValue], kinds: dict[str, int]) -> list[tuple[str, str]]:
    """Return label and value of the goals that say something about these devices, in the words of the strip."""
    rows = []
    for goal in goals:
        words = _value(goal, kinds)
        if words is not None:
            rows.append((_label(goal.goal), words))
    return rows


def _label(goal: str) -> str:
    if goal == "unpaired":
        return "GPUs paired"
    return {"roots": "PCIe roots"}.get(goal) or GOAL_WORDS[goal].many


def _value(goal: GoalValue, kinds: dict[str, int]) -> str | None:
    if goal.goal == "damage":
        return None  # the Goals tab tells it; the strip is for where the devices are
    if goal.goal in FIXED_GOALS:
        return str(goal.value) if goal.value else None
    if goal.goal == "unpaired":
        gpus = kinds.get("gpu", 0)
        return f"{gpus - goal.value} of {gpus}" if gpus and kinds.get("nic") else None
    unknown = f" ({goal.unknown} unknown)" if goal.unknown else ""
    return f"{goal.value}{unknown}" if goal.value else None


def _proof(plan: Plan) -> FigureRow:
    if plan.proven:
        return FigureRow(value="proven best", tone="ok")
    open_goal = next((goal for goal in plan.goals if not goal.proven), None)
    if open_goal is None or open_goal.bound is None:
        return FigureRow(value="best so far, not proven", tone="warn")
    gap = open_goal.value - open_goal.bound
    return FigureRow(value=f"best so far, not proven: {_label(open_goal.goal)}, gap {gap}", tone="warn")


def _compared(plan: Plan, fit: FirstFit, kinds: dict[str, int]) -> tuple[str, Tone]:
    if fit.status is not FirstFitStatus.ALLOCATED:
        return _ENDS[fit.status], "error" if fit.status is FirstFitStatus.ERROR else "warn"
    differing = []
    for goal in plan.goals:
        theirs = next((value for value in fit.goals if value.goal == goal.goal), None)
        if theirs is not None and theirs.value != goal.value:
            differing.append(_differing(theirs, kinds))
    return (", ".join(differing[:MOST_DIFFERING]), "warn") if differing else ("as good", "ok")


def _differing(goal: GoalValue, kinds: dict[str, int]) -> str:
    if goal.goal == "unpaired" and (words := _value(goal, kinds)):
        return f"{words} paired"
    return goal_words(goal)


def goal_words(goal: GoalValue) -> str:
    """Return a goal's value in a few words: `1 NUMA node`; places that are not known are said to be unknown."""
    words = GOAL_WORDS[goal.goal]
    if goal.unknown:
        from dra_lab.exports.sentences import places_words

        return places_words(goal.value, goal.unknown, words.one)
    return words.counted(goal.value)


def _goal_row(plan: Plan, goal: GoalValue) -> GoalRow:
    return GoalRow(
        goal=goal.goal,
        label=GOALS.get(goal.goal, goal.goal) + (", at most" if goal.at_most else ""),
        best=goal.value,
        bound=goal.bound,
        proven=goal.proven,
        unknown=goal.unknown,
        manifest=_reached(plan.first_fit, goal.goal),
        plain=_reached(plan.first_fit_plain, goal.goal),
        better=_better(plan, goal),
        movable=goal.goal not in FIXED_GOALS,
    )


def _reached(fit: FirstFit | None, goal: str) -> str:
    if fit is None:
        return ""
    value = fit.goal(goal)
    if fit.status is FirstFitStatus.ALLOCATED and value is not None:
        return str(value)
    return _ENDS.get(fit.status, "")


def _better(plan: Plan, goal: GoalValue) -> str:
    """Say how much worse kube-scheduler is aligned: with the manifest where it is, else without links."""
    if goal.at_most:
        return ""
    for fit, words in ((plan.first_fit, "with this manifest"), (plan.first_fit_plain, "without links")):
        value = fit.goal(goal.goal) if fit is not None else None
        if value is not None and value != goal.value:
            side = "better" if value > goal.value else "worse"
            return f"{abs(value - goal.value)} {side} than {words}"
    return ""


def progress_row(progress: Any) -> ProgressRow:
    """Return how far a solve is; None is a solve that has not told anything yet."""
    if progress is None:
        return ProgressRow(text="Planning ...")
    best = f"best {progress.best}" if progress.best is not None else ""
    bound = f"bound {progress.bound}" if progress.bound is not None else ""
    return ProgressRow(text=progress.text, stage=progress.stage, best_text=", ".join(filter(None, (best, bound))))
