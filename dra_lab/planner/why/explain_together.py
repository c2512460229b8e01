"""One node to be explained, and the rule that keeps requests from being served together though each can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.index.counter_draws import Counter, counted_pools
from dra_lab.index.node_binding import Tie
from dra_lab.index.pools import Pool
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Sizes
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.eligible import NodeEligibility

_ADVICE = {
    "class": "Choose another device class",
    "count": "Lower the count.",
    "selector": "Relax the selectors",
    "taint": "Add a toleration",
    "in-use": "Wait until devices are freed",
    "capacity": "Ask for less capacity",
    "counters": "Ask for smaller devices, or wait until devices of the same pool are freed",
    "link": "Prefer the link instead of requiring it, or lower the counts.",
    "links": "Relax one of the links.",
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
    return Shortfall(rule, subject, sentence_case(text), needed, available, node, advice)


def undecided(node: str) -> Shortfall:
    """Return the shortfall if time ended before the part that blocks the claim was known."""
    text = "each request can be served by itself; the time did not suffice to say what keeps them from being served all"
    return shortfall_of("undecided", "claim", text, 1, 0, node)


def explain_together(case: NodeCase) -> Shortfall:
    """Explain requests that do not fit together even without links: the first rule without which they would.

    In this order: shared counters, capacity of shared devices, node selectors of several terms, devices taken twice.
    Only those requests are named that have devices or counters in common and do not fit by themselves.
    """
    node = case.eligible.node
    answers = [(positions, case.feasible(_of(case.bare, positions))) for positions in _connected(case.bare)]
    positions = next((found for found, fits in answers if fits is False), None)
    if positions is None and any(fits is None for _, fits in answers):
        return undecided(node)
    # devices that tie a claim to nodes reach beyond what requests have in common
    positions = list(range(len(case.sketch.requests))) if positions is None else positions
    problem, names = _of(case.bare, positions), [case.sketch.requests[position].name for position in positions]
    subject = f"the request{'s' if len(names) > 1 else ''} {', '.join(names)}"
    need, have = _need(problem, problem.requests), sum(group.size for group in _groups(problem, problem.requests))
    one = f"{subject} {'can be served one by one' if len(names) > 1 else 'has devices enough'}, but"
    for rule, without, text in (
        (
            "counters",
            _without_counters(problem),
            f"the {devices(have)} for {subject[4:]} draw on {_counters(case, problem)}",
        ),
        (
            "capacity",
            _without_amounts(problem),
            f"{one} the {devices(have)} for them {_have(have)} not enough capacity left",
        ),
        ("node", _without_ties(problem), f"{one} every choice comes to a device whose nodeSelector has several terms"),
    ):
        fits = without is not None and case.feasible(without)
        if fits is None:
            return undecided(node)
        if fits:
            return shortfall_of(rule, ", ".join(names), text, need, min(have, need - 1), node)
    return _rivals(case, problem, positions, one)


def _of(problem: AllocationProblem, positions: Sequence[int]) -> AllocationProblem:
    """Return the problem of some of the requests."""
    return replace(problem, requests=tuple(problem.requests[position] for position in positions))


def _groups(problem: AllocationProblem, requests: Sequence[Sequence[int]]) -> list[DeviceGroup]:
    asks = {ask for indices in requests for ask in indices if ask not in problem.impossible}
    return [group for group in problem.groups if asks & set(group.asks)]


def _need(problem: AllocationProblem, requests: Sequence[Sequence[int]]) -> int:
    return sum(min(problem.need(ask) for ask in indices) for indices in requests)


def _connected(problem: AllocationProblem) -> list[list[int]]:
    """Return the requests that have devices or shared counters in common, set by set."""
    sets: list[tuple[set[int], set[object]]] = []
    for position, indices in enumerate(problem.requests):
        wanted, common = {position}, set[object]()
        for group in _groups(problem, [indices]):
            common.update(group.devices[:1], (counter for counter, _ in group.draws))
        for other in [known for known in sets if known[1] & common]:
            sets.remove(other)
            wanted, common = wanted | other[0], common | other[1]
        sets.append((wanted, common))
    return sorted(sorted(wanted) for wanted, _ in sets)


def _without_counters(problem: AllocationProblem) -> AllocationProblem | None:
    return replace(problem, counters=()) if problem.counters else None


def _without_amounts(problem: AllocationProblem) -> AllocationProblem | None:
    if not any(group.remaining for group in problem.groups):
        return None
    return replace(problem, groups=tuple(replace(group, remaining=()) for group in problem.groups))


def _without_ties(problem: AllocationProblem) -> AllocationProblem | None:
    if not any(group.tie is Tie.TERMS for group in problem.groups):
        return None
    return replace(problem, groups=tuple(replace(group, tie=Tie.NODE) for group in problem.groups))


def _counters(case: NodeCase, problem: AllocationProblem) -> str:
    """Name the shared counters of which less is left than all devices together draw, with their pools."""
    pools = counted_pools(case.eligible.pools)
    drawn = {counter for group in _groups(problem, problem.requests) for counter, _ in group.draws}
    names = [_named(counter, pools[counter[0]]) for counter, _ in problem.counters if counter in drawn]
    return f"the shared counter{'s' if len(names) > 1 else ''} {', '.join(names)}, of which too little is left for all"


def _named(counter: Counter, pool: Pool) -> str:
    _, counters, name = counter
    return f"{counters}/{name} of pool {pool.driver}/{pool.name}"


def _rivals(case: NodeCase, problem: AllocationProblem, positions: Sequence[int], one: str) -> Shortfall:
    """Name the fewest requests that can only take devices of which there are too few for all of them."""
    node, every = case.eligible.node, [case.sketch.requests[position].name for position in positions]
    numbered = list(enumerate(problem.requests))
    for size in range(2, len(every) + 1 if len(every) <= case.sizes.rivals else 2):
        for chosen in combinations(numbered, size):
            mine = _groups(problem, [indices for _, indices in chosen])
            need, have = _need(problem, [indices for _, indices in chosen]), sum(group.size for group in mine)
            if need > have and not any(_is_taken_twice(problem, group) for group in mine):
                names = ", ".join(every[at] for at, _ in chosen)
                text = f"the requests {names} can be served one by one, but they compete for the same {devices(have)}"
                return shortfall_of("count", names, text, need, have, node)
    need = _need(problem, problem.requests)
    return shortfall_of("count", ", ".join(every), f"{one} no choice of devices serves all", need, need - 1, node)


def _is_taken_twice(problem: AllocationProblem, group: DeviceGroup) -> bool:
    return group.shareable or any(problem.asks[ask].admin_access for ask in group.asks)


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def devices(number: int) -> str:
    """Return a number of devices in words."""
    return "1 device" if number == 1 else f"{number} devices"
