"""A plan as the values that `PlanView` shows: the answer strip, goals, reasons, suggestions."""

from __future__ import annotations

from dataclasses import replace

from dra_lab.errors import DraLabError
from dra_lab.model.goals import FIXED_GOALS, GoalValue
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import Shortfall
from dra_lab.model.sketch import ClaimSketch
from dra_lab.sketch.links import link_words
from dra_lab.widgets.session_view import Row
from dra_lab.words.document import cell_words
from dra_lab.words.facts import GLOSSARY, goal_number, goal_words, search_end
from dra_lab.words.reason_words import bandwidth_lines, blocking_lines, funnel_tables, no_help_lines, source_lines
from dra_lab.words.verdict import goal_title


class GoalRow(Row, frozen=True):
    """One goal: best value with bound and proof; kube-scheduler with the manifest, and with counts and selectors only.

    `number` and `caption` are the best value in words, as in the verdict, `at_best` its bound in the same way, and
    `meaning` says what the goal counts. The two texts of kube-scheduler say what it ends with if it has no value.
    `better` is how much better the best is. `movable` is False for the goals that come first whatever a person prefers.
    """

    goal: str
    label: str
    best: int
    number: str = ""
    caption: str = ""
    at_best: str = ""
    meaning: str = ""
    bound: int | None = None
    proven: bool = False
    manifest: str = ""
    plain: str = ""
    better: str = ""
    movable: bool = True


class SuggestionRow(Row, frozen=True):
    """A change that would help; `number` applies it, None where it can only be read."""

    title: str
    detail: str = ""
    source: str = ""
    number: int | None = None


class BadgeRow(Row, frozen=True):
    """The letter of a request and its colours, as on the canvas and the picture."""

    letter: str
    colour: str
    text_colour: str


def goal_rows(plan: Plan | None) -> tuple[GoalRow, ...]:
    """Return the goals in their order, each beside what kube-scheduler reaches."""
    if plan is None or not plan.fits:
        return ()
    return tuple(
        GoalRow(
            goal=goal.goal,
            label=goal_title(goal),
            best=goal.value,
            number=goal_number(goal)[0],
            caption=goal_number(goal)[1],
            at_best=goal_words(goal, goal.bound) if goal.bound is not None and not goal.proven else "",
            meaning=GLOSSARY[goal.goal],
            bound=goal.bound,
            proven=goal.proven,
            manifest=_reached(plan.first_fit, goal.goal),
            plain=_reached(plan.first_fit_plain, goal.goal),
            better=_better(plan, goal),
            movable=goal.goal not in FIXED_GOALS,
        )
        for goal in plan.goals
    )


def reasons_of(plan: Plan | None, refusal: DraLabError | None = None) -> tuple[Shortfall, ...]:
    """Return why the drawing does not fit, or could not be answered, with each link and node in its subject."""
    if refusal is not None:
        return (Shortfall("not-answered", "", str(refusal)),)
    if plan is None:
        return ()
    links = {link.name: link_words(link) for link in plan.sketch.links}
    named = ((one, links.get(one.subject, one.subject)) for one in plan.shortfalls)
    return tuple(replace(one, subject=f"{subject} on {one.node}" if one.node else subject) for one, subject in named)


def suggestion_rows(plan: Plan | None) -> tuple[SuggestionRow, ...]:
    """Return what would help; those that carry the changed drawing or selectors are applied by their number."""
    return tuple(
        SuggestionRow(
            title=suggestion.title,
            detail=suggestion.detail,
            source=suggestion.source,
            number=number if suggestion.selectors or suggestion.sketch is not None else None,
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


def _reached(fit: FirstFit | None, goal: str) -> str:
    if fit is None:
        return ""
    value = fit.value(goal)
    return str(value) if fit.status is FirstFitStatus.ALLOCATED and value is not None else search_end(fit)


def _better(plan: Plan, goal: GoalValue) -> str:
    """Say how much worse kube-scheduler is aligned: with the manifest where it is, else without links."""
    if goal.at_most:
        return ""
    for fit, words in ((plan.first_fit, "with this manifest"), (plan.first_fit_plain, "without links")):
        value = fit.value(goal.goal) if fit is not None else None
        if value is not None and value != goal.value:
            side = "better" if value > goal.value else "worse"
            return f"{abs(value - goal.value)} {side} than {words}"
    return ""


class RegretRow(Row, frozen=True):
    """What the first fits cost in bandwidth, as sentences, and where the ranges come from."""

    lines: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class FunnelRow(Row, frozen=True):
    """The devices left for one request after each test: a table, what its columns stand for, and rows not shown."""

    title: str
    columns: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: int = 0


class WhyRow(Row, frozen=True):
    """The details of the reasons: the causes, counts by test, and the changes tried without success or not tried."""

    lines: tuple[str, ...] = ()
    funnels: tuple[FunnelRow, ...] = ()
    tried: tuple[str, ...] = ()


MOST_ROWS = 40
"""Kinds of nodes that travel to the browser for each request, most nodes first; text and JSON have all."""


def why_row(plan: Plan | None) -> WhyRow:
    """Return what stands behind the reasons of a misfit; nothing for a plan that fits."""
    if plan is None or plan.reasons is None:
        return WhyRow()
    funnels = (
        FunnelRow(
            title=table.title,
            columns=tuple(map(str, table.columns)),
            legend=tuple((head, text) for head, _, text in (note.partition(": ") for note in table.notes)),
            rows=tuple(tuple(map(cell_words, row)) for row in table.rows[:MOST_ROWS]),
            more=max(0, len(table.rows) - MOST_ROWS),
        )
        for table in funnel_tables(plan.reasons)
    )
    lines, tried = tuple(blocking_lines(plan.reasons)), tuple(no_help_lines(plan.reasons))
    return WhyRow(lines=lines, funnels=tuple(funnels), tried=tried)


def regret_row(plan: Plan | None) -> RegretRow:
    """Return what the first fits cost in bandwidth; nothing where no GPU is asked for with a NIC."""
    regrets = plan.regrets if plan is not None else ()
    return RegretRow(lines=tuple(bandwidth_lines(regrets)), sources=tuple(source_lines(regrets)))
