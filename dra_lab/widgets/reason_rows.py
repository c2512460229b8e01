"""Reasons and regret as the values that `PlanView` shows."""

from __future__ import annotations

from dra_lab.model.plan import Plan
from dra_lab.pictures.reason_words import (
    conflict_lines,
    funnel_tables,
    no_help_lines,
    regret_lines,
    scarcity_lines,
)
from dra_lab.widgets.plan_values import FunnelRow, RegretRow, WhyRow

MOST_ROWS = 40
"""Kinds of nodes that travel to the browser for each request, most nodes first; text and JSON have all."""


def why_row(plan: Plan | None) -> WhyRow:
    """Return what stands behind the reasons of a misfit; nothing for a plan that fits."""
    if plan is None or plan.reasons is None:
        return WhyRow()
    tables = tuple(
        FunnelRow(
            title=f"{table.request}: {table.needed} needed" if table.needed else f"{table.request}: all that match",
            columns=table.columns,
            legend=table.legend,
            rows=table.rows[:MOST_ROWS],
            more=max(0, len(table.rows) - MOST_ROWS),
        )
        for table in funnel_tables(plan)
    )
    lines = (*scarcity_lines(plan), *conflict_lines(plan))
    return WhyRow(lines=lines, funnels=tables, tried=tuple(no_help_lines(plan)))


def regret_row(plan: Plan | None) -> RegretRow:
    """Return what the first fits cost in bandwidth; nothing where no GPU is asked for with a NIC."""
    told = tuple(regret_lines(plan)) if plan is not None else ()
    shown = min(len(told), 1 + len(plan.regrets)) if plan is not None else 0
    return RegretRow(lines=told[:shown], sources=told[shown:])
