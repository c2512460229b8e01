"""The words for the steps of kube-scheduler's search: what happened to a device, and the test that it failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.findings import sentence_case
from dra_lab.model.names import PCIE_ROOT, DeviceID, split_request
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.trace import Check, Reason, Step, StepKind, Trace
from dra_lab.words.facts import counted, sentence

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


def _in_use(reason: Reason) -> str:
    name = reason.detail.partition(" ")[2]
    return f"in use by {name}" if name else "in use"


def _gate(reason: Reason) -> str:
    return f"it needs the feature gate {reason.detail}, which is off"


def _class(_reason: Reason) -> str:
    return "not of the device class"


def _selector(reason: Reason) -> str:
    return f"the selector is false: {reason.detail}" if reason.detail else "a selector is false"


def _node(_reason: Reason) -> str:
    return "it belongs to another node"


def _capacity(reason: Reason) -> str:
    return f"capacity: {reason.detail}" if reason.detail else "too little capacity"


def _counters(reason: Reason) -> str:
    if not reason.detail:
        return "a shared counter of its pool is used up"
    return f"it needs {reason.expected} of the counter {reason.detail}, of which {reason.found} is left"


def _taint(reason: Reason) -> str:
    return f"the request does not tolerate its taint {reason.detail}" if reason.detail else "a taint is not tolerated"


def _constraint(reason: Reason) -> str:
    name = ATTRIBUTES.get(reason.detail, reason.detail)
    if not name:
        return "a constraint of the claim does not hold"
    if not reason.found:
        return f"it publishes no {name}, which a constraint compares"
    return f"{name} is {reason.found}, must be {reason.expected}" if reason.expected else f"{name} is {reason.found}"


_TESTS: Mapping[Check, tuple[str, Callable[[Reason], str]]] = {
    Check.IN_USE: ("in use", _in_use),
    Check.GATE: ("feature gate", _gate),
    Check.CLASS: ("device class", _class),
    Check.SELECTOR: ("selector", _selector),
    Check.NODE: ("other node", _node),
    Check.CAPACITY: ("capacity", _capacity),
    Check.COUNTERS: ("shared counters", _counters),
    Check.TAINT: ("taint", _taint),
    Check.CONSTRAINT: ("constraint", _constraint),
}


def check_name(check: Check) -> str:
    """Return the name of a test in a table: `in use`, `device class`, `constraint`."""
    return _TESTS[check][0]


def reason_words(reason: Reason, claim: str = "", names: Names = PUBLISHED) -> str:
    """Return why a device was rejected: `in use by training/llm-7b`, `PCIe root is 20, must be 10`."""
    kind, _, name = reason.detail.partition(" ")
    if reason.check is Check.IN_USE and kind == "request":
        return f"{'' if names.signs else 'request '}{names.request(claim, name)} already has it"
    return _TESTS[reason.check][1](reason)


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
    return f"{begin} finds no allocation in {steps}."
