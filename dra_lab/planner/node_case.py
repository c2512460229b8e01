"""NodeCase: one node to be explained; and how a reason is put into words, with its advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.eligible import NodeEligibility
from dra_lab.planner.problem import AllocationProblem

_ADVICE = {
    "class": "Choose another device class",
    "count": "Lower the count.",
    "selector": "Relax the selectors",
    "taint": "Add a toleration",
    "in-use": "Wait until devices are freed",
    "capacity": "Ask for less capacity",
    "counters": "Ask for smaller devices, or wait until devices of the same pool are freed",
    "link": "Prefer the link instead of demanding it, or lower the counts.",
    "limit": "Split the claim: one claim can hold 32 devices.",
}


@dataclass(frozen=True)
class NodeCase:
    """One node to be explained; `solvable(drop)` says whether the claim would fit without the named links."""

    sketch: ClaimSketch
    eligible: NodeEligibility
    problem: AllocationProblem
    solvable: Callable[[Sequence[str]], bool]


def shortfall_of(
    rule: str, subject: str, text: str, needed: int, available: int, node: str, *, published: bool = True
) -> Shortfall:
    """Return a reason of a rule, with its advice; `published` False where the node publishes nothing at all."""
    advice = _ADVICE[rule]
    if rule == "class" and not published:
        advice = "Load a cluster that has ResourceSlices, or a sample."
    elif not advice.endswith("."):
        # Fewer of what is not there at all would not fit either.
        advice += ", or lower the count." if available else "."
    return Shortfall(rule, subject, text[0].upper() + text[1:], needed, available, node, advice)
