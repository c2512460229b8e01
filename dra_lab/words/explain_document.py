"""Why a claim fits on a node or not, what happens to a device, why pods are pending, and what a taint rule would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit
from dra_lab.model.plan import Plan
from dra_lab.model.pod_reason import Explanation, PodReason, RuleEffect, TaintedPod
from dra_lab.model.running import Move
from dra_lab.model.slices import DeviceTaintSelector
from dra_lab.model.trace import Counts, Step, StepKind, Trace
from dra_lab.planner.why.why_not import WhyNot
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.document import Detail, Lines, Part, Sentence, Table, Words, printable
from dra_lab.words.drawing_words import Noun
from dra_lab.words.facts import counted, sentence
from dra_lab.words.moves_document import moves_table, places_sentence
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, plain_value
from dra_lab.words.reason_words import blocking_lines, reasons_parts, shortfall_item, suggestion_item
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

_NO_NAMES: Names = {}

_MOST_CAUSES = 3
"""Causes that the short form names."""

_MOST_STEPS = 4
"""Steps about one device that a text names."""

_ALL_ROWS = 100_000


def node_parts(
    plan: Plan,
    trace: Trace[FirstFit] | None,
    detail: Detail,
    found: WhyNot | None = None,
    names: Names = _NO_NAMES,
    cluster: Cluster | None = None,
) -> Iterator[Part]:
    """Yield why a claim fits on the plan's node or not: the answer, what stops it, and kube-scheduler's end.

    `found` has the tests of each request's devices on the node, `names` the nouns of the requests. With `cluster` the
    answer names the devices as the plan does.
    """
    yield Sentence(answer_sentence(plan, cluster))
    if detail == "answer":
        return
    if found is not None:
        yield Words(f"What is left of the devices of {found.node} after each test:")
        for tests in (*bars(found, names), TestBars("Links", link_bars(found, plan.sketch))):
            notes = ["; ".join(filter(None, ("too few" if bar.short else "", bar.note))) for bar in tests.bars]
            rows = [(bar.label, bar.count, bar.of, note) for bar, note in zip(tests.bars, notes, strict=True)]
            yield Table(("test", "left", "of", "note"), rows, tests.title)
    if not plan.fits:
        if detail == "all":
            yield Lines("Reasons", [shortfall_item(shortfall) for shortfall in plan.shortfalls])
            yield from reasons_parts(plan.reasons)
        elif plan.reasons:
            causes = [sentence(line) for line in blocking_lines(plan.reasons)]
            yield Lines("What is in the way", causes[:_MOST_CAUSES])
    if trace is not None:
        yield Words(f"{end_sentence(trace)} {counts_words(trace)}")
        yield Words("--step shows the search step by step, --device ID what becomes of one device.")


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


def device_parts(plan: Plan, trace: Trace[FirstFit], device: DeviceID, detail: Detail) -> Iterator[Part]:
    """Yield what becomes of a device: in the plan, in kube-scheduler's search, and which test stops it."""
    yield Sentence(device_sentence(plan, trace, device))
    if detail == "answer":
        return
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


_MOST_SUGGESTIONS = 3


def reason_parts(found: PodReason) -> Iterator[Part]:
    """Yield the reason of one pod: the sentence, what else is in the way, what would help, what was not checked."""
    yield Sentence(found.sentence)
    yield Lines("Also", found.also)
    if found.plan is not None and found.rule not in ("", "none"):
        yield Lines("What would help, tried", [suggestion_item(s) for s in found.plan.suggestions[:_MOST_SUGGESTIONS]])
    if found.reported:
        yield Words(f"kube-scheduler reported: {found.reported}")
    if found.rule:
        yield Lines("Not checked", found.not_checked)


def explanation_parts(found: Explanation) -> Iterator[Part]:
    """Yield the reason of one pod, one line for each of several pods, or what a rule would do."""
    if found.rule is not None:
        yield from rule_parts(found)
        return
    if len(found.pods) == 1:
        yield from reason_parts(found.pods[0])
        return
    yield Sentence(found.sentence)
    yield Lines("Pods", [pod.sentence for pod in found.pods])
    if found.pods:
        yield Words("--pod NAMESPACE/NAME shows one pod with what would help and what was not checked.")


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Return why pods are pending, or what a rule would do, as JSON has it."""
    pods = [
        {
            "pod": pod.pod,
            "pending": bool(pod.rule),
            "rule": pod.rule,
            "sentence": pod.sentence,
            "also": list(pod.also),
            "notChecked": list(pod.not_checked),
            "reported": pod.reported,
        }
        for pod in found.pods
    ]
    return {
        "kind": "Explanation",
        "cluster": found.cluster,
        "sentence": found.sentence,
        "pods": pods,
        **rule_json(found),
    }


# --------------------------------------------------------------------- DeviceTaintRules

NO_EVICTION = "the rule evicts no pod"
"""Why a pod stays under a rule that closes devices only."""


def rule_sentence(effect: RuleEffect, moves: Sequence[Move]) -> str:
    """Return what a rule would do: what it taints, which pods that concerns, and where the evicted ones can go."""
    return printable(" ".join(filter(None, _sentences(effect, moves))))


def _sentences(effect: RuleEffect, moves: Sequence[Move]) -> Iterator[str]:
    name, selector = f"DeviceTaintRule {effect.rule.metadata.name}", effect.rule.spec.device_selector
    devices = f"all {counted(effect.devices, 'device')}"
    if effect.gate:
        gates = effect.gate.split(",")
        what = f"feature gate {gates[0]} is" if len(gates) == 1 else f"feature gates {listed(gates)} are"
        yield f"{name} does nothing in Kubernetes {effect.release}, because the {what} off."
        return
    if selector is None and not effect.devices:
        yield f"{name} has no deviceSelector, so it selects no device in Kubernetes {effect.release}."
    elif selector is None:
        where = f"in Kubernetes {effect.release} kube-scheduler sees its taint on {devices}"
        yield f"{name} has no deviceSelector, so {where}."
    elif not effect.devices and not effect.in_use:
        yield f"{name} selects no device of this cluster."
    elif selector == DeviceTaintSelector():
        yield f"The deviceSelector of {name} is empty, so it taints {devices}."
    else:
        yield f"{name} taints {counted(effect.devices, 'device')}."
    if effect.devices or effect.in_use:
        yield _use(effect)
        yield from _eviction(effect, moves)


def _use(effect: RuleEffect) -> str:
    if not effect.in_use:
        return "No claim holds one of them."
    hold = "holds" if len(effect.claims) == 1 else "hold"
    pods = counted(len(effect.pods), "running pod")
    return f"{counted(len(effect.claims), 'claim')} of {pods} {hold} {effect.in_use:,} of them."


def _eviction(effect: RuleEffect, moves: Sequence[Move]) -> Iterator[str]:
    taint = effect.rule.spec.taint
    if taint.effect == "None":
        yield "The effect None neither evicts pods nor keeps new ones away."
        return
    if taint.effect == "NoExecute" and effect.rule.spec.device_selector is None:
        yield "It evicts no pod, because the eviction controller selects no device without a deviceSelector."
    elif not any(pod.evicted for pod in effect.pods):
        yield "It evicts no pod."
    if moves:
        yield places_sentence(f"It evicts {counted(len(moves), 'pod')}", moves)
    later = [f"{pod.pod} stays {pod.toleration_seconds:,} s" for pod in effect.pods if pod.toleration_seconds]
    if later:
        yield f"By tolerationSeconds, {some(later)} after the taint."
    yield from _others(effect.pods)
    yield "New pods get these devices only with a toleration."


def _others(pods: Sequence[TaintedPod]) -> Iterator[str]:
    """Yield how many pods are evicted without a place elsewhere by their nature, and how many stay, with the reason."""
    for (evicted, why), count in Counter((pod.evicted, pod.why) for pod in pods if pod.why).items():
        if evicted:
            names = some([pod.pod for pod in pods if pod.evicted and pod.why == why])
            yield f"{names} {'is' if count == 1 else 'are'} evicted too, but {why}."
        elif why != NO_EVICTION:
            yield f"{counted(count, 'pod')} {'stays' if count == 1 else 'stay'}, because {why}."


def rule_parts(found: Explanation) -> Iterator[Part]:
    """Yield what a rule would do: the sentences, where evicted pods go, and the other pods with tainted devices."""
    effect = found.rule
    if effect is None:
        return
    yield Sentence(effect.sentence)
    selector = effect.rule.spec.device_selector
    if effect.gate:
        gates = ",".join(f"{gate}=true" for gate in effect.gate.split(","))
        yield Words(f"If your cluster has it on, write --feature-gates {gates}.")
    elif selector is None:
        yield Words("Write deviceSelector with driver, pool or device, or deviceSelector: {} for every device.")
    if found.moves:
        yield moves_table(found.moves)
        yield Words("The eviction controller deletes pods. It does not ask PodDisruptionBudgets.")
    moved = {move.pod for move in found.moves}
    rows = [
        (
            pod.pod,
            pod.node,
            some([device.device for device in pod.devices]),
            f"is evicted, but {pod.why}" if pod.evicted else f"stays, because {pod.why}",
        )
        for pod in effect.pods
        if pod.pod not in moved
    ]
    yield Table(
        ("Pod", "Node", "Tainted devices", "What happens"), rows, "Other pods with tainted devices" if rows else ""
    )


def rule_outcome(found: Explanation) -> str:
    """Return whether every pod that the rule evicts fits elsewhere."""
    return FITS if all(move.node_to for move in found.moves) else DOES_NOT_FIT


def rule_json(found: Explanation) -> dict[str, Any]:
    """Return what a rule would do as JSON has it."""
    effect = found.rule
    if effect is None:
        return {}
    own = {**plain_value(effect), "rule": msgspec.to_builtins(effect.rule)}
    own.pop("sentence")
    return {"outcome": rule_outcome(found), "rule": own, "moves": [plain_value(move) for move in found.moves]}
