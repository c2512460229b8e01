"""The trace of kube-scheduler's search as a document and as DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from dra_lab.model.placement import FirstFit
from dra_lab.model.trace import Check, Step, StepKind, Trace
from dra_lab.words.document import Part, Sentence, Table, Words, frame_of
from dra_lab.words.facts import counted, goal_words, telling
from dra_lab.words.trace_words import (
    check_name,
    counts_words,
    devices_words,
    end_sentence,
    position_words,
    reason_words,
    result_words,
    why_words,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 24
"""Rows that a document has one by one; of a longer trace those of one device are one row."""

COLUMNS = (
    *("step", "last", "claim", "request", "number", "device", "result", "test", "detail", "expected", "found"),
    *("steps", "tried", "rejected", "given_back"),
)
"""The columns of `trace_frame`."""


def trace_parts(trace: Trace[FirstFit]) -> Iterator[Part]:
    """Yield the trace: what the search ends with, its counts, the goals' values, and its steps, folded."""
    yield Sentence(end_sentence(trace))
    values = ", ".join(map(goal_words, telling(trace.end.goals)))
    yield Words(" ".join((counts_words(trace), f"At the end: {values}." if values else "")).rstrip())
    yield steps_table(trace.rows)


def steps_table(rows: Sequence[Step], most: int = MOST_ROWS) -> Table:
    """Return rows as a table; of more than `most`, what was rejected or given back for one device is one row."""
    cells = [_cells(row) for row in rows] if len(rows) <= most else list(_grouped(rows))
    return Table(("steps", "request", "device", "result", "why"), cells, "Steps")


def step_range(first: int, last: int) -> str:
    """Return `7` or `7 to 12`."""
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _cells(row: Step) -> tuple[str, ...]:
    devices = devices_words(row.devices)
    return step_range(row.first, row.last), position_words(row), devices, result_words(row), why_words(row)


def _grouped(rows: Sequence[Step]) -> Iterator[tuple[str, ...]]:
    def kind(row: Step) -> tuple[object, ...]:
        folds = row.kind in (StepKind.REJECTED, StepKind.GIVEN_BACK)
        return (row.claim, row.request, row.number, 0 if folds else row.first)

    for _, same in groupby(rows, key=kind):
        first, *more = group = list(same)
        if not more:
            yield _cells(first)
            continue
        checks = dict.fromkeys(row.reason.check for row in group if row.reason is not None)
        back = sum(row.kind is StepKind.GIVEN_BACK for row in group)
        rejected = sum(len(row.devices) for row in group if row.kind is StepKind.REJECTED)
        results = [f"{rejected:,} rejected"] * bool(rejected) + [f"{back:,} given back"] * bool(back)
        devices = counted(sum(len(row.devices) for row in group), "device")
        tests = ", ".join(check_name(Check(check)) for check in checks)
        yield step_range(first.first, group[-1].last), position_words(first), devices, ", ".join(results), tests


def trace_frame(trace: Trace[FirstFit]) -> pd.DataFrame:
    """Return one row for each row of a trace (`COLUMNS`).

    `device` lists the devices of a folded row, separated by spaces.
    """
    return frame_of([_frame_row(row) for row in trace.rows], COLUMNS)


def _frame_row(row: Step) -> list[object]:
    reason = row.reason
    test, detail = (reason.check.value, reason.detail or reason_words(reason)) if reason else ("", row.detail)
    return [
        *(row.first, row.last, row.claim, row.request, row.number, " ".join(map(str, row.devices)), row.kind.value),
        *(test, detail, reason.expected if reason else "", reason.found if reason else ""),
        *(row.counts.steps, row.counts.tried, row.counts.rejected, row.counts.given_back),
    ]
