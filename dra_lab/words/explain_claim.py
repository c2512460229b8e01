"""Why a claim fits on a node or not, and what kube-scheduler does with a device there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.placement import FirstFit
from dra_lab.model.plan import Plan
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.reasons import WhyNot
from dra_lab.model.release import release_of_text
from dra_lab.model.trace import Counts, Step, StepKind, Trace
from dra_lab.words.document import Detail, Lines, Part, Sentence, Table, Words
from dra_lab.words.drawing_words import Noun, nouns
from dra_lab.words.facts import sentence
from dra_lab.words.plan_json import plan_json
from dra_lab.words.reason_words import blocking_lines, reasons_parts, shortfall_item
from dra_lab.words.trace_words import (
    MOST_ROWS,
    PUBLISHED,
    counts_words,
    end_sentence,
    reason_words,
    result_words,
    step_range,
    steps_table,
    why_words,
)
from dra_lab.words.trace_words import (
    Names as TraceNames,
)
from dra_lab.words.why_not_document import TestBars, bars, link_bars

Names = dict[str, Noun]
"""The nouns of the requests by name, such as GPU."""

_MOST_CAUSES = 3
"""Causes that the short form names."""

_MOST_STEPS = 4
"""Steps about one device that a text names."""

_ALL_ROWS = 100_000


def claim_parts(found: Explanation, detail: Detail = "short", *, hints: bool = False) -> Iterator[Part]:
    """Yield why a claim fits on a node or not: the answer, what stops it, kube-scheduler's end; or that of a device.

    `hints` name the options of the command line.
    """
    yield Sentence(found.sentence)
    plan, trace, tests = found.plan, found.trace, found.tests
    if detail == "answer" or plan is None:
        return
    if trace is not None and found.device is not None:
        yield from _device(trace, found.device, detail)
        return
    if tests is not None:
        yield Words(f"What is left of the devices of {tests.node} after each test:")
        for one in (*bars(tests, _names(found)), TestBars("Links", link_bars(tests, plan.sketch))):
            notes = ["; ".join(filter(None, ("too few" if bar.short else "", bar.note))) for bar in one.bars]
            rows = [(bar.label, bar.count, bar.of, note) for bar, note in zip(one.bars, notes, strict=True)]
            yield Table(("test", "left", "of", "note"), rows, one.title)
    if not plan.fits:
        if detail == "all":
            yield Lines("Reasons", [shortfall_item(shortfall) for shortfall in plan.shortfalls])
            yield from reasons_parts(plan.reasons)
        elif plan.reasons:
            causes = [sentence(line) for line in blocking_lines(plan.reasons)]
            yield Lines("What is in the way", causes[:_MOST_CAUSES])
    if trace is not None:
        yield Words(f"{end_sentence(trace)} {counts_words(trace)}")
    if trace is not None and hints:
        yield Words("--step shows the search step by step, --device ID what becomes of one device.")


def _names(found: Explanation) -> Names:
    """Return the nouns of the requests of a claim that is explained."""
    plan = found.plan
    if plan is None or plan.on is None:
        return {}
    release, claims = plan.on.target_release(release_of_text(plan.release)), plan.workloads[0].claims
    mark = {claim.name: f"{claim.name}{MARK}" if len(claims) > 1 else "" for claim in claims}
    return {
        mark[claim.name] + request: noun for claim in claims for request, noun in nouns(claim, plan.on, release).items()
    }


def tests_of(found: Explanation) -> list[tuple[str, str, int, int, str, bool]]:
    """Return request, test, devices left, of how many, note, and whether they are too few, for each test of a claim."""
    every = bars(found.tests, _names(found)) if found.tests is not None else ()
    return [(one.request, bar.label, bar.count, bar.of, bar.note, bar.short) for one in every for bar in one.bars]


def claim_json(found: Explanation) -> dict[str, Any]:
    """Return why a claim fits on a node or not as JSON has it: plan, tests, kube-scheduler's search, and a device."""
    assert found.plan is not None, "a claim is explained"
    known = {**plan_json(found.plan), "kind": "Explanation"}
    if found.tests is not None:
        known["tests"] = funnel_json(found.tests, _names(found))
    if found.trace is not None:
        known["scheduler"] = trace_json(found.trace)
        if found.device is not None:
            known["device"] = device_json(found.trace, found.device)
    return known


def funnel_json(found: WhyNot, names: Names) -> dict[str, Any]:
    """Return the tests of each request's devices on a node as JSON has them."""
    tests = [
        {
            "request": one.request,
            "needed": one.needed,
            "tests": [{"test": bar.label, "left": bar.count, "of": bar.of, "short": bar.short} for bar in one.bars],
        }
        for one in bars(found, names)
    ]
    return {"node": found.node, "fits": found.fits, "requests": tests}


def steps_parts(trace: Trace[FirstFit], detail: Detail, names: TraceNames = PUBLISHED) -> Iterator[Part]:
    """Yield kube-scheduler's search on a node step by step, folded; every row with "all"."""
    yield Sentence(end_sentence(trace))
    yield Words(counts_words(trace))
    if detail == "answer":
        return
    table = steps_table(trace.rows, _ALL_ROWS if detail == "all" else MOST_ROWS, names)
    yield table
    if len(table.rows) < len(trace.rows):
        yield Words("-v shows each row of the steps.")


def _device(trace: Trace[FirstFit], device: DeviceID, detail: Detail) -> Iterator[Part]:
    """Yield the tests of a device, and where it is in kube-scheduler's search."""
    rows = [
        (trace.drawn(test.claim, test.request), test.request, reason_words(test.reason) if test.reason else "passes")
        for test in trace.tests(device)
    ]
    yield Table(("drawn as", "request", "tests of kube-scheduler"), rows, "Each request by itself")
    steps = steps_of(trace, device)
    shown = steps if detail == "all" else steps[:_MOST_STEPS]
    cells = [(step_range(s.first, s.last), s.request, result_words(s), why_words(s)) for s in shown]
    yield Table(("steps", "request", "result", "why"), cells, "In the search")
    if len(shown) < len(steps):
        yield Words(f"-v shows all {len(steps)} rows of the steps with this device.")


def device_sentence(plan: Plan, trace: Trace[FirstFit], device: DeviceID) -> str:
    """Return what becomes of a device, in one or two sentences."""
    chosen = plan.chosen().get(device) if plan.node == trace.node else None
    if chosen:
        ours = f"The plan uses {device} for {chosen}."
    else:
        ours = f"The plan does not use {device}." if plan.fits else f"The claim has no plan that uses {device}."
    taken = next((p.manifest_request or p.request for p in trace.end.placements if p.device == device), "")
    if taken:
        return f"{ours} kube-scheduler allocates it to {taken}."
    tests = trace.tests(device)
    if not any(test.reason is None for test in tests):
        words = dict.fromkeys(reason_words(test.reason) for test in tests if test.reason is not None)
        return f"{ours} kube-scheduler cannot allocate it: {'; '.join(words)}."
    if any(row.kind is StepKind.GIVEN_BACK for row in steps_of(trace, device)):
        return f"{ours} kube-scheduler allocates it first and gives it back."
    return f"{ours} It passes the tests of a request, but kube-scheduler finds all devices before it."


def steps_of(trace: Trace[FirstFit], device: DeviceID) -> tuple[Step, ...]:
    """Return the rows of a trace that are about a device; those inside an attempt that was given back are left out."""
    return tuple(row for row in trace.rows if device in row.devices)


def trace_json(trace: Trace[FirstFit]) -> dict[str, Any]:
    """Return a trace as JSON has it: the end, the counts, the rows."""
    return {
        "node": trace.node,
        "release": trace.release,
        "links": trace.links,
        "end": {"status": trace.end.status.value, "message": trace.end.message, "recorded": trace.end.recorded},
        "counts": _counts(trace.counts),
        "recordedSteps": trace.recorded,
        "steps": [_row(row) for row in trace.rows],
    }


def device_json(trace: Trace[FirstFit], device: DeviceID) -> dict[str, Any]:
    """Return what becomes of a device as JSON has it."""
    taken = next((p.manifest_request or p.request for p in trace.end.placements if p.device == device), "")
    tests = [
        {
            "claim": test.claim,
            "request": test.request,
            "passes": test.reason is None,
            "test": test.reason.check.value if test.reason else "",
            "reason": reason_words(test.reason) if test.reason else "",
        }
        for test in trace.tests(device)
    ]
    return {
        "device": str(device),
        "allocatedTo": taken,
        "tests": tests,
        "steps": list(map(_row, steps_of(trace, device))),
    }


def _counts(counts: Counts) -> dict[str, int]:
    back = counts.given_back
    return {"steps": counts.steps, "tried": counts.tried, "rejected": counts.rejected, "givenBack": back}


def _row(row: Step) -> dict[str, Any]:
    return {
        "first": row.first,
        "last": row.last,
        "claim": row.claim,
        "request": row.request,
        "number": row.number,
        "devices": list(map(str, row.devices)),
        "result": row.kind.value,
        "test": row.reason.check.value if row.reason else "",
        "why": why_words(row),
        "counts": _counts(row.counts),
    }
