"""Reasons and regret as the values that `PlanView` shows."""

from __future__ import annotations

from dra_lab.model.plan import Plan
from dra_lab.widgets.wire import Row
from dra_lab.words.document import Table, cell_words
from dra_lab.words.reason_words import bandwidth_lines, blocking_lines, funnel_tables, no_help_lines, source_lines


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
    reasons = plan.reasons
    return WhyRow(
        lines=tuple(blocking_lines(reasons)),
        funnels=tuple(map(_funnel_row, funnel_tables(reasons))),
        tried=tuple(no_help_lines(reasons)),
    )


def _funnel_row(table: Table) -> FunnelRow:
    notes = (note.partition(": ") for note in table.notes)
    return FunnelRow(
        title=table.title,
        columns=tuple(str(column) for column in table.columns),
        legend=tuple((head, text) for head, _, text in notes),
        rows=tuple(tuple(map(cell_words, row)) for row in table.rows[:MOST_ROWS]),
        more=max(0, len(table.rows) - MOST_ROWS),
    )


def regret_row(plan: Plan | None) -> RegretRow:
    """Return what the first fits cost in bandwidth; nothing where no GPU is asked for with a NIC."""
    regrets = plan.regrets if plan is not None else ()
    return RegretRow(lines=tuple(bandwidth_lines(regrets)), sources=tuple(source_lines(regrets)))
