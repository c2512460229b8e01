"""The trace of kube-scheduler's search: words of its steps, the document, the DataFrame, and notes on known places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from dra_lab.findings import sentence_case
from dra_lab.index.node_index import node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import PCIE_ROOT, DeviceID, split_request
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link, asks, covers
from dra_lab.model.trace import Check, Held, Reason, Step, StepKind, Trace
from dra_lab.planner.node.allocation_problem import Values, place_values
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.topology.locality import localities
from dra_lab.words.document import Part, Sentence, Table, Words, frame_of
from dra_lab.words.facts import counted, goal_words, sentence, telling

if TYPE_CHECKING:
    import pandas as pd


ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")

_NAMED = 4

ATTRIBUTES = {PCIE_ROOT: "PCIe root"}
"""Attributes of constraints that have a name of their own in a sentence."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A request of a manifest as the canvas calls it: its letter, how many devices it has, and how many are before it.

    One drawn request of two GPUs that each have a NIC of their own is two requests of the manifest: A1 and A2.
    """

    letter: str
    count: int = 1
    before: int = 0


@dataclass(frozen=True, slots=True)
class Names:
    """The names of devices, and the signs of requests by claim and request; the published names without them."""

    devices: Mapping[DeviceID, str] = field(default_factory=dict)
    signs: Mapping[tuple[str, str], Sign] = field(default_factory=dict)

    def device(self, device: DeviceID) -> str:
        """Return the name of a device."""
        return self.devices.get(device, device.device)

    def position(self, step: Step) -> str:
        """Return for which device of which request a step is: `A2`, or `gpu, second` without signs."""
        sign = self.signs.get((step.claim, split_request(step.request)[0]))
        if sign is not None:
            return f"{sign.letter}{sign.before + step.number}" if step.number else sign.letter
        if not step.number:
            return step.request
        at = step.number - 1
        return f"{step.request}, {ORDINALS[at] if at < len(ORDINALS) else f'number {step.number}'}"

    def request(self, claim: str, request: str) -> str:
        """Return a request: `A` for all its devices, `A2` if it has only this one, its own name without signs."""
        sign = self.signs.get((claim, split_request(request)[0]))
        if sign is None:
            return request
        return sign.letter if sign.count > 1 else f"{sign.letter}{sign.before + 1}"


PUBLISHED = Names()
"""The names of slices and manifests."""


class _Test(NamedTuple):
    """A test of the search: its name in a table, and why a device failed it, with the detail and without."""

    name: str
    why: str
    without_detail: str


_TESTS: Mapping[Check, _Test] = {
    Check.IN_USE: _Test("in use", "in use by {0.detail}", "in use"),
    Check.GATE: _Test(
        "feature gate", "it needs the feature gate {0.detail}, which is off", "a feature gate that it needs is off"
    ),
    Check.CLASS: _Test("device class", "not of the device class", "not of the device class"),
    Check.SELECTOR: _Test("selector", "the selector is false: {0.detail}", "a selector is false"),
    Check.NODE: _Test("other node", "it belongs to another node", "it belongs to another node"),
    Check.CAPACITY: _Test("capacity", "capacity: {0.detail}", "too little capacity"),
    Check.COUNTERS: _Test(
        "shared counters",
        "it needs {0.expected} of the counter {0.detail}, of which {0.found} is left",
        "a shared counter of its pool is used up",
    ),
    Check.TAINT: _Test("taint", "the request does not tolerate its taint {0.detail}", "a taint is not tolerated"),
    Check.CONSTRAINT: _Test("constraint", "{0.detail} is {0.found}", "a constraint of the claim does not hold"),
}


def reason_words(reason: Reason, claim: str = "", names: Names = PUBLISHED) -> str:
    """Return why a device was rejected: `in use by training/llm-7b`, `PCIe root is 20, must be 10`."""
    kind, _, name = reason.detail.partition(" ")
    if reason.check is Check.IN_USE and kind == "request":
        return f"{'' if names.signs else 'request '}{names.request(claim, name)} already has it"
    if reason.check is Check.CONSTRAINT and reason.detail:
        attribute = ATTRIBUTES.get(reason.detail, reason.detail)
        if not reason.found:
            return f"it publishes no {attribute}, which a constraint compares"
        return f"{attribute} is {reason.found}" + (f", must be {reason.expected}" if reason.expected else "")
    if reason.check is Check.IN_USE:
        return f"in use by {name}" if name else "in use"
    test = _TESTS[reason.check]
    return test.why.format(reason) if reason.detail else test.without_detail


def devices_words(devices: Sequence[DeviceID], names: Names = PUBLISHED, most: int = _NAMED) -> str:
    """Return the names of devices: `gpu-0, gpu-1 and 6 more`."""
    shown = [names.device(device) for device in devices[:most]]
    more = len(devices) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def result_words(step: Step) -> str:
    """Return what happened in a step, in a table: `rejected`, `allocated`, `given back after 17 steps`."""
    match step.kind:
        case StepKind.GIVEN_BACK if step.is_folded:
            return f"allocated, given back after {counted(step.counts.steps, 'step')}"
        case StepKind.GIVEN_BACK:
            return "given back"
        case StepKind.ALTERNATIVE:
            return "next alternative"
        case StepKind.LEFT_OUT:
            return "goes on"
    return step.kind.value


def why_words(step: Step, names: Names = PUBLISHED) -> str:
    """Return why, in a table: the test that failed, or the request for which nothing was left."""
    if step.reason is not None:
        return reason_words(step.reason, step.claim, names)
    if step.kind is StepKind.ALLOCATED:
        return "first that passes all tests" if not step.completes else f"completes the {step.completes}"
    if step.kind is StepKind.GIVEN_BACK:
        left = names.request(step.claim, step.detail)
        return f"no device is left for {left}" if step.detail else "more than 32 devices in one claim"
    if step.kind is StepKind.ALTERNATIVE:
        return "alternatives are tried in their order"
    if step.kind is StepKind.LEFT_OUT:
        return f"only the first {step.first - 1:,} steps are recorded"
    return _without_limit(step.detail) or "each request has its devices"


def step_sentence(step: Step, names: Names = PUBLISHED) -> str:
    """Return one step in a sentence: `kube-scheduler rejects efa1: in use by training/llm-7b`."""
    device, request = devices_words(step.devices, names), names.position(step)
    match step.kind:
        case StepKind.REJECTED:
            return f"kube-scheduler rejects {device} for {request}: {why_words(step, names)}."
        case StepKind.ALLOCATED:
            done = f" The {step.completes} is complete." if step.completes else ""
            return f"kube-scheduler allocates {device} to {request}.{done}"
        case StepKind.GIVEN_BACK:
            return f"kube-scheduler gives {device} back: {why_words(step, names)}."
        case StepKind.ALTERNATIVE:
            of = f" for {request}" if names.signs else ""
            return f"kube-scheduler tries the alternative {step.request}{of}."
        case StepKind.LEFT_OUT:
            return f"The search goes on, but {why_words(step)}."
    detail = _without_limit(step.detail)
    return sentence(sentence_case(detail) or "Each request has its devices")


def _without_limit(message: str) -> str:
    """Return why a search ended without the parameter that lets it run longer: here it cannot be given."""
    return message.partition("; raise ")[0]


def counts_words(trace: Trace[FirstFit]) -> str:
    """Return how many devices were tried, rejected and given back, in a sentence."""
    counts = trace.counts
    back = f", {counts.given_back:,} given back" if counts.given_back else ""
    begin = "" if trace.is_whole else f"In the first {trace.recorded:,} steps: "
    return f"{begin}{counted(counts.tried, 'device')} tried, {counts.rejected:,} rejected{back}."


def end_sentence(trace: Trace[FirstFit]) -> str:
    """Return what the search ends with: how many devices it allocates, or why none."""
    end, steps = trace.end, counted(trace.counts.steps, "step")
    steps = steps if trace.is_whole else f"more than {trace.recorded:,} steps"
    how = "with this manifest" if trace.links else "without links"
    begin = f"kube-scheduler {trace.release} {how} on {trace.node}"
    match end.status:
        case FirstFitStatus.ALLOCATED:
            return f"{begin} allocates {counted(len(end.placements), 'device')} in {steps}."
        case FirstFitStatus.ERROR:
            return f"{begin} gives up the pod: {sentence(end.message)}"
        case FirstFitStatus.STOPPED:
            return f"{begin}: not decided, {sentence(_without_limit(end.message))}"
    if end.message.startswith("claim ") and not trace.counts.tried:
        # a pool that keeps the node from a request for all devices
        return f"{begin} rejects the node: {sentence(end.message)}"
    return f"{begin} finds no allocation in {steps}."


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


def steps_table(rows: Sequence[Step], most: int = MOST_ROWS, names: Names = PUBLISHED) -> Table:
    """Return rows as a table; of more than `most`, what was rejected or given back for one device is one row."""
    cells = [_cells(row, names) for row in rows] if len(rows) <= most else list(_grouped(rows, names))
    return Table(("steps", "request", "device", "result", "why"), cells, "Steps")


def step_range(first: int, last: int) -> str:
    """Return `7` or `7 to 12`."""
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _cells(row: Step, names: Names) -> tuple[str, ...]:
    devices = devices_words(row.devices, names)
    return step_range(row.first, row.last), names.position(row), devices, result_words(row), why_words(row, names)


def _grouped(rows: Sequence[Step], names: Names) -> Iterator[tuple[str, ...]]:
    def kind(row: Step) -> tuple[object, ...]:
        folds = row.kind in (StepKind.REJECTED, StepKind.GIVEN_BACK)
        return (row.claim, row.request, row.number, 0 if folds else row.first)

    for _, same in groupby(rows, key=kind):
        first, *more = group = list(same)
        if not more:
            yield _cells(first, names)
            continue
        checks = dict.fromkeys(row.reason.check for row in group if row.reason is not None)
        back = sum(row.kind is StepKind.GIVEN_BACK for row in group)
        rejected = sum(len(row.devices) for row in group if row.kind is StepKind.REJECTED)
        results = [f"{rejected:,} rejected"] * bool(rejected) + [f"{back:,} given back"] * bool(back)
        devices = counted(sum(len(row.devices) for row in group), "device")
        tests = ", ".join(_TESTS[check].name for check in checks)
        yield step_range(first.first, group[-1].last), names.position(first), devices, ", ".join(results), tests


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


class Places:
    """The places of the devices of one node for the links of a drawing."""

    def __init__(
        self, cluster: Cluster, sketch: ClaimSketch, node: str, release: KubernetesRelease, names: Names
    ) -> None:
        """Look at the devices of the node once."""
        index = node_index(cluster, release)
        seen = index.view(node).devices
        self._sketch = sketch
        self._localities, self._names = localities(cluster, node), names
        self._devices: dict[DeviceID, Device] = {item.id: item.device for item in seen}
        self._in_use = cluster.allocated.exclusive
        self._matching = {
            ask.reference: [item.id for item, s in zip(seen, index.stages(ask, node), strict=True) if s == "match"]
            for request in sketch.requests
            for ask in asks(request)
        }

    def notes(self, trace: Trace[FirstFit], held: Sequence[Held]) -> Iterator[str]:
        """Yield what is known of the device that was allocated last, link by link: its place and its partners there."""
        if not held:
            return
        last, taken = held[-1], {one.device for one in held}
        drawn = trace.drawn(last.claim, last.request).partition("/")[0]
        for link in self._sketch.links:
            ends = list(dict.fromkeys(reference.partition("/")[0] for reference in link.requests))
            if drawn not in ends or not link.kind.near:
                continue
            for other in (end for end in ends if end != drawn):
                yield self._note(link, last.device, other, taken)
            if not trace.links or not link.must:
                yield "kube-scheduler does not compare it: the claim has no constraint for this link."

    def _note(self, link: Link, device: DeviceID, other: str, taken: set[DeviceID]) -> str:
        level = LEVEL_WORDS.get(link.where, link.where)
        here = self._at(link, device)
        if not here:
            return f"The {level} of {self._names.device(device)} is not known."
        serve = (ask for request in self._sketch.requests for ask in asks(request) if covers(other, ask))
        partners = dict.fromkeys(device for ask in serve for device in self._matching.get(ask.reference, ()))
        there = [one for one in partners if set(self._at(link, one)) & set(here)]
        free = [one for one in there if one not in self._in_use and one not in taken]
        mine = [one for one in there if one in taken]
        value = str(here[0][1])
        begin = f"{self._names.device(device)} is on {level} {value}"
        if mine:
            return f"{begin}, as is {', '.join(map(self._names.device, mine))} of {other}."
        if free:
            return f"{begin}, with {counted(len(free), 'free device')} for {other}."
        if there:
            names = ", ".join(map(self._names.device, there))
            return f"{begin}. {names} for {other} is in use there, so it has no partner."
        return f"{begin}. No device for {other} is there, so it has no partner."

    def _at(self, link: Link, device: DeviceID) -> Values:
        place = self._localities.get(device)
        return () if place is None else place_values(place, link, self._devices[device], lists=False)
