"""A plan as the values that `PlanView` shows: the answer strip, goals, reasons, suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import FIXED_GOALS, GoalValue
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pod_start import with_start
from dra_lab.session import Session
from dra_lab.sketch.links import link_words
from dra_lab.widgets.part_rows import without_text
from dra_lab.widgets.session_view import Row, latest_plan
from dra_lab.words.answer_sentence import headline
from dra_lab.words.document import cell_words
from dra_lab.words.drawing_words import request_sentence
from dra_lab.words.facts import GLOSSARY, goal_number, goal_words, search_end
from dra_lab.words.reason_words import bandwidth_lines, blocking_lines, funnel_tables, no_help_lines, source_lines
from dra_lab.words.scheduler_sentences import Simulation, scheduler_sentences
from dra_lab.words.verdict import Fix, Tile, fixes, goal_title, tiles

State = Literal["fits", "misfit", "empty", "error", "stopped", "solving"]


class ProgressRow(Row, frozen=True):
    """How far a solve is: what to tell a person, and the best value so far in words."""

    text: str
    best_text: str = ""


class AnswerRow(Row, frozen=True):
    """The verdict: the drawing read back, the answer, what kube-scheduler does, the figures, the changes that help.

    `stale` while they belong to what was drawn or loaded before; `differs` says that the picture can show a difference.

    `previous` says which of the two it was, `trouble` why the present drawing has no answer, such as a selector that is
    half written, `after` what goes on although the answer is there.
    """

    state: State = "empty"
    sentence: str = ""
    asked: str = ""
    scheduler: str = ""
    differs: bool = False
    tiles: tuple[Tile, ...] = ()
    fixes: tuple[Fix, ...] = ()
    tried: str = ""
    stale: bool = False
    progress: ProgressRow | None = None
    trouble: str = ""
    previous: Literal["drawing", "cluster"] = "drawing"
    after: str = ""


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


_STATES: dict[PlanStatus, State] = {
    PlanStatus.OPTIMAL: "fits",
    PlanStatus.FEASIBLE: "fits",
    PlanStatus.INFEASIBLE: "misfit",
    PlanStatus.STOPPED: "stopped",
    PlanStatus.NOT_CHECKED: "stopped",
    PlanStatus.EMPTY: "empty",
}


def answer_row(session: Session, simulated: Simulation | None) -> AnswerRow:
    """Return the verdict; without a plan it says that the planner is at work, or why there is no answer.

    Where the present drawing could not be answered, the last answer stays, for the previous drawing, with the trouble.
    """
    plan, cluster, refusal = latest_plan(session), session.cluster, session.refusal
    reported = progress_row(session.progress) if session.stale else None
    trouble = without_text(str(refusal)) if refusal is not None and not session.stale else ""
    if trouble and plan is None:
        return AnswerRow(state="error", sentence=trouble)
    if plan is None:
        sentence = reported.text if reported else "Planning ..."
        return AnswerRow(state="solving", sentence=sentence, progress=reported)
    plan = with_start(plan, session.findings)
    scheduler = " ".join(scheduler_sentences(plan, simulated)) if plan.fits else ""
    tried = [*no_help_lines(plan.reasons)] if plan.reasons is not None else []
    return AnswerRow(
        state=_STATES[plan.status],
        sentence=headline(plan, cluster, node_labels(cluster).__getitem__),
        asked=request_sentence(plan.sketch, cluster) or "Drag a device onto the canvas, or press N there.",
        scheduler=without_text(scheduler),
        differs=any(found.goals or found.paths_differ for found in plan.regrets),
        tiles=tiles(plan, session.copies, counting=session.sought == "copies", simulated=simulated),
        fixes=fixes(plan, session.room),
        tried=tried[0] if tried else "",
        stale=session.stale or bool(trouble),
        progress=reported,
        trouble=trouble,
    )


@once_per_hardware
def node_labels(cluster: Cluster) -> Mapping[str, str]:
    """Return the name under which each node is shown: without what all of them begin and end with."""
    from dra_lab.pictures.racks import short_labels

    return dict(zip(cluster.node_names, short_labels(cluster.node_names), strict=True))


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


def progress_row(progress: Any) -> ProgressRow:
    """Return how far a solve is; None is a solve that has not told anything yet."""
    if progress is None:
        return ProgressRow(text="Planning ...")
    best = f"best {progress.best}" if progress.best is not None else ""
    bound = f"bound {progress.bound}" if progress.bound is not None else ""
    return ProgressRow(text=progress.text, best_text=", ".join(filter(None, (best, bound))))


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
