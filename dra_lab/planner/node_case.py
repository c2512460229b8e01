"""NodeCase: one node to be explained; and how a reason is put into words, with its advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Sizes
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
    "node": "Leave out with a selector the devices whose node selector has several terms.",
    "undecided": "Try it without one of the requests or links.",
    "limit": "Split the claim: one claim can hold 32 devices.",
}


@dataclass(frozen=True)
class NodeCase:
    """One node to be explained: its problem, and `build(drop)`, the problem without the named links.

    `feasible` says whether a problem has a solution, None where time ended before that was known.
    """

    sketch: ClaimSketch
    eligible: NodeEligibility
    problem: AllocationProblem
    build: Callable[[Sequence[str]], AllocationProblem]
    feasible: Callable[[AllocationProblem], bool | None]
    sizes: Sizes

    @cached_property
    def bare(self) -> AllocationProblem:
        """Return the problem without any link."""
        links = [link.name for link in self.sketch.links]
        return self.build(links) if links else self.problem

    def solvable(self, drop: Sequence[str]) -> bool | None:
        """Say whether the claim would fit without the named links; None where that is not known."""
        return self.feasible(self.build(drop))


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


def undecided(node: str) -> Shortfall:
    """Return the shortfall if time ended before the part that blocks the claim was known."""
    text = "each request can be served by itself; the time did not suffice to say what keeps them from being served all"
    return shortfall_of("undecided", "claim", text, 1, 0, node)
