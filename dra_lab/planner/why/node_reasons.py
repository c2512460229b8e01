"""Why a claim does not fit on one node: the first rule that leaves too few devices, or the link, with its counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, combinations, islice, product
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.findings import sentence_case
from dra_lab.index.in_use import counted_pools
from dra_lab.index.pools import Tie
from dra_lab.model.names import part_of
from dra_lab.model.reasons import Shortfall
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.node.eligible import AskEligibility, NodeEligibility, refusing_gate
from dra_lab.planner.node.link_rows import LINK_ROWS
from dra_lab.planner.node.milp import is_feasible
from dra_lab.planner.scan import Scan
from dra_lab.planner.why.gates import why_capacity, why_gate, why_not_shared
from dra_lab.sketch.links import LEVEL_WORDS, link_words, listed

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

_PASSED = {
    Stage.CLASS: ("is of class", "are of class"),
    Stage.SELECTOR: ("of them passes the selectors", "of them pass the selectors"),
    Stage.TAINT: ("of them has no taint that keeps it away", "of them have no taint that keeps it away"),
    Stage.IN_USE: ("of them is free", "of them are free"),
    Stage.CAPACITY: ("of them has the capacity", "of them have the capacity"),
}
"""Words for one device and for several that pass each test, in the order of the tests."""

TESTS = [stage.test for stage in _PASSED]
_CAN_HOLD = f"the {MAX_DEVICES} that a claim can hold"
_NOT_ALL = "Ask for a number of devices instead of all, or change the selectors."


@dataclass(frozen=True)
class NodeCase:
    """One node to be explained: what is eligible there, and its problem."""

    scan: Scan
    eligible: NodeEligibility
    budget: Budget
    solver: str

    @cached_property
    def problem(self) -> AllocationProblem:
        """Return the problem of the claim."""
        return self.scan.build(self.eligible)

    @cached_property
    def bare(self) -> AllocationProblem:
        """Return the problem without any link."""
        return self.without([link.name for link in self.problem.links])

    @cached_property
    def must(self) -> list[int]:
        """Return the positions of the must-links."""
        return [at for at, link in enumerate(self.problem.links) if link.must]

    def without(self, links: Sequence[str]) -> AllocationProblem:
        """Return the problem without some links."""
        return self.scan.build(self.eligible, links) if links else self.problem

    def feasible(self, problem: AllocationProblem) -> bool:
        """Say whether a problem has a solution. Raises _NotDecided where time ended before that was known."""
        found = is_feasible(problem, self.budget, solver=self.solver)
        if found is None:
            raise _NotDecided
        return found

    def shortfall(
        self, rule: str, subject: str, text: str, needed: int, available: int, *, here: bool = True, advice: str = ""
    ) -> Shortfall:
        """Return a reason of a rule, by default with the rule's advice; `here` says that the hardware decides it."""
        advice = advice or _ADVICE[rule]
        if rule == "class" and not any(part.stages for part in self.eligible.asks):
            advice = "Load a cluster that has ResourceSlices, or a sample."
        elif not advice.endswith("."):
            # Fewer of what is not there at all would not fit either.
            advice += ", or lower the count." if available else "."
        node = self.eligible.node if here else ""
        return Shortfall(rule, subject, sentence_case(text), needed, available, node, advice)


class _NotDecided(Exception):
    """Time ended before it was known whether a problem has a solution."""


def explain_node(case: NodeCase) -> tuple[Shortfall, ...]:
    """Return the reasons why the claim does not fit on one node, never empty; requests first, then links."""
    alone = [_request(case, indices) for indices in case.problem.requests]
    counted = [_of_link(case, link) for link in case.must]
    found = tuple(shortfall for shortfall in (*alone, *counted) if shortfall is not None)
    try:
        return found or _too_many(case) or _links(case) or (_together(case),)
    except _NotDecided:
        text = "each request can be served by itself; the time did not suffice to say why not all can be"
        return (case.shortfall("undecided", "claim", text, 1, 0),)


def missing(shortfalls: Sequence[Shortfall]) -> tuple[int, int, int]:
    """Return how far a node is from serving the claim: the number of reasons, the devices or groups missing.

    If nodes lack as many, one whose devices come further in the tests is nearer: its last number is smaller.
    """
    early = sum(len(TESTS) - TESTS.index(s.rule) for s in shortfalls if s.rule in TESTS)
    return len(shortfalls), sum(max(0, s.needed - s.available) for s in shortfalls), early


def devices(number: int) -> str:
    """Return `1 device`, `2 devices`."""
    return "1 device" if number == 1 else f"{number:,} devices"


# ---------------------------------------------------------------- a request by itself


def _request(case: NodeCase, indices: Sequence[int]) -> Shortfall | None:
    """Explain a request that cannot be served for itself; with alternatives, the one that lacks least."""
    found = []
    for index in indices:
        shortfall = _ask(case, index, case.eligible.asks[index])
        if shortfall is None:
            return None
        found.append(shortfall)
    # one for all devices may be what keeps the others of its request from being served
    every = {ask.reference for ask in case.problem.asks if ask.all_devices}
    return min(found, key=lambda s: (s.needed - s.available, s.subject not in every))


def _ask(case: NodeCase, index: int, part: AskEligibility) -> Shortfall | None:
    ask, name, needed = part.ask, f"request {part.ask.reference}", max(1, part.ask.count)
    if part.blocked:
        stuck = next((part.stages[device] for device in part.listed if part.stages[device] is not Stage.FREE), None)
        rule, advice = ("count", _NOT_ALL) if stuck is None else (stuck.test, "")
        if gate := refusing_gate(case.scan.rules, ask)[1]:
            advice = case.scan.release.turn_on(gate)
        return case.shortfall(rule, ask.reference, f"{name}: {part.blocked}", 1, 0, advice=advice)
    if ask.all_devices and len(part.listed) > MAX_DEVICES:
        text = f"{name}: all {len(part.listed)} devices that match are more than {_CAN_HOLD}"
        return case.shortfall("limit", ask.reference, text, len(part.listed), MAX_DEVICES)
    if ask.count > MAX_DEVICES:
        # The claim decides this, not the hardware: no node is named.
        text = f"{name} asks for {ask.count:,} devices, more than {_CAN_HOLD}"
        return case.shortfall("limit", ask.reference, text, ask.count, MAX_DEVICES, here=False)
    for stage in _PASSED:
        have = part.passing(stage)
        if have < needed:
            rule = "count" if stage is Stage.CLASS and have else stage.test
            why = why_capacity if stage is Stage.CAPACITY else why_gate
            more, advice = why(case.scan, case.eligible, part)
            # a gate is the matter of a release, not of a node
            hidden = bool(more) and stage is not Stage.CAPACITY
            rule, text = "count" if hidden else rule, _chain(case, part, stage) + more
            return case.shortfall(rule, ask.reference, text, needed, have, here=not hidden, advice=advice)
    able = sum(group.size for group in case.problem.groups if index in group.asks)
    if able < needed or index in case.problem.impossible:
        return _placeless(case, index, able)
    return None


def _chain(case: NodeCase, part: AskEligibility, last: Stage) -> str:
    """Return the counts from test to test as text, up to the one that leaves too few."""
    ask, passed, before = part.ask, [], -1
    need = f"request {ask.reference} needs {'at least one device' if ask.all_devices else devices(ask.count)}"
    if not part.stages:
        return f"{need}; none is published here"
    for stage, words in _PASSED.items():
        have = part.passing(stage)
        if stage <= last and (have != before or stage is last):
            named = f" {ask.device_class_name}" if stage is Stage.CLASS else ""
            passed.append(f"{have} {words[have != 1]}{named}")
        before = have
    if part.errors and last is Stage.SELECTOR:
        passed.append(f"on {len(part.errors)} a selector fails")
    items = (item for pool in case.eligible.pools for item in pool.devices)
    split = part.stages.keys() <= {item.id for item in items if item.device.consumes_counters}
    every = len(part.stages)
    published = f"{every} {'partitions ' if split else ''}are" if every > 1 else f"1 {'partition ' if split else ''}is"
    return f"{need}; {published} published here, {', '.join(passed)}"


def _placeless(case: NodeCase, index: int, able: int) -> Shortfall:
    """Explain that devices lack a value at the place of a must-link."""
    part = case.eligible.asks[index]
    links = [case.problem.links[link] for link in case.must if index in case.problem.ends(link)]
    wheres = ", ".join(LEVEL_WORDS.get(link.where, link.where) for link in links)
    need = len(part.listed) if part.ask.all_devices else part.ask.count
    free = f"{len(part.devices)} {'is' if len(part.devices) == 1 else 'are'} free"
    have = f"{able} of them {'has' if able == 1 else 'have'} it"
    text = f"request {part.ask.reference} needs {devices(need)} whose {wheres} is known; {free}, {have}"
    return case.shortfall("link", links[0].name if links else part.ask.reference, text, need, able)


def _too_many(case: NodeCase) -> tuple[Shortfall, ...]:
    problem, needed = case.problem, Counter[str]()
    for indices in problem.requests:
        claim = part_of(problem.asks[indices[0]].reference)[0]
        needed[claim] += min(problem.need(ask) for ask in indices)
    here = any(ask.all_devices for ask in problem.asks)
    text = "the requests need {} devices together, a claim can hold {}"
    return tuple(
        case.shortfall("limit", claim or "claim", text.format(least, MAX_DEVICES), least, MAX_DEVICES, here=here)
        for claim, least in needed.items()
        if least > MAX_DEVICES
    )


# ---------------------------------------------------------------- links


def _ways(case: NodeCase, link: int) -> Iterator[tuple[int, ...]]:
    """Yield the asks that a link ties, for each choice of one alternative of every request."""
    problem, ends = case.problem, set(case.problem.ends(link))
    options: list[list[int | None]] = []
    for indices in problem.requests:
        if ends & set(indices):
            possible = [ask for ask in indices if ask not in problem.impossible] or list(indices)
            free = [None] if any(ask not in ends for ask in possible) else []
            options.append([*(ask for ask in possible if ask in ends), *free])
    # as the link names them, so that a person finds them in the same order
    order = list(dict.fromkeys(ask for part in problem.covered(link) for ask in part))
    for chosen in product(*options):
        yield tuple(sorted((ask for ask in chosen if ask is not None), key=order.index))


def _of_link(case: NodeCase, link: int, *, proven: bool = False) -> Shortfall | None:
    """Return why a must-link cannot hold, for the choice of alternatives that lacks least.

    Unless it is proven that it cannot hold by itself, counting devices place by place has to show it for every choice.
    None if the link says nothing about some choice, or if these are too many. If it is proven though some places seem
    to have enough, these do not serve all requests at once.
    """
    drawn, most = case.problem.links[link], case.budget.sizes.tries
    ways = list(islice(_ways(case, link), most + 1))
    tied = [parts for parts in ways if len(parts) >= (1 if proven else drawn.kind.least_ends)]
    if not proven and (len(tied) < len(ways) or len(ways) > most):
        return None
    reasons = [LINK_ROWS[drawn.how].reason(case.problem, link, parts) for parts in tied]
    if not proven and any(reason.available >= reason.needed for reason in reasons):
        return None
    found = min(reasons, key=lambda reason: reason.needed - reason.available)
    text, available = found.text, found.available
    if available >= found.needed:
        text, available = f"{text}; no choice of devices that serves all requests keeps it", found.needed - 1
    return case.shortfall("link", drawn.name, text, found.needed, available, here=not found.drawn, advice=found.advice)


def _links(case: NodeCase) -> tuple[Shortfall, ...]:
    """Explain must-links without which the claim would fit: those that cannot hold alone, else all of them."""
    must, names = [case.problem.links[link] for link in case.must], [link.name for link in case.problem.links]
    if not must or not case.feasible(case.bare):
        return ()
    others = {link: [name for at, name in enumerate(names) if at != link] for link in case.must}
    guilty = [_of_link(case, link, proven=True) for link in others if not case.feasible(case.without(others[link]))]
    if guilty:
        return tuple(reason for reason in guilty if reason is not None)
    text = f"{listed([link_words(link) for link in must])} can each hold alone, but not all of them at once"
    return (case.shortfall("links", must[0].name, text, len(must), len(must) - 1),)


# ---------------------------------------------------------------- requests together


def _together(case: NodeCase) -> Shortfall:
    """Explain requests that do not fit together even without links, and name as few of them as do not.

    They take devices of which there are too few, or one rule is in the way without which they would fit: shared
    counters, capacity of shared devices, node selectors of several terms, in this order.
    """
    names = [request.name for request in case.scan.sketch.requests]
    if (rivals := _rivals(case.bare, case.budget.sizes.tries)) is not None:
        chosen, need, have = rivals
        named = ", ".join(names[at] for at in chosen)
        text = f"the requests {named} can be served one by one, but they compete for the same {devices(have)}"
        more, advice = why_not_shared(
            case.scan, case.eligible, chain.from_iterable(part.devices for part in case.eligible.asks)
        )
        return case.shortfall("count", named, text + more, need, have, advice=advice)
    positions = list(range(len(names)))
    for position in reversed(positions):
        rest = [other for other in positions if other != position]
        if rest and not case.feasible(_of(case.bare, rest)):
            positions = rest
    problem, named = _of(case.bare, positions), ", ".join(names[position] for position in positions)
    groups, need = _groups(problem, problem.requests), _need(problem, problem.requests)
    have = sum(problem.groups[at].size for at in groups)
    them = f"request{'s' if len(positions) > 1 else ''} {named}"
    one = f"the {them} {'can be served one by one' if len(positions) > 1 else 'has devices enough'}, but"
    pools, drawn = counted_pools(case.eligible.pools), {name for at in groups for name, _ in problem.groups[at].draws}
    counters = [
        f"{counters}/{name} of pool {pools[pool].driver}/{pools[pool].name}"
        for (pool, counters, name), _ in problem.counters
        if (pool, counters, name) in drawn
    ]
    several = f"the shared counter{'s' if len(counters) > 1 else ''} {', '.join(counters)}"
    texts = {
        "counters": f"the {devices(have)} for {them} draw on {several}, of which too little is left for all",
        "capacity": f"{one} the {devices(have)} for them {'has' if have == 1 else 'have'} not enough capacity left",
        "node": f"{one} every choice comes to a device whose nodeSelector has several terms",
    }
    for rule, without in _without_rules(problem):
        if case.feasible(without):
            return case.shortfall(rule, named, texts[rule], need, min(have, need - 1))
    return case.shortfall("count", named, f"{one} no choice of devices serves all", need, need - 1)


def _of(problem: AllocationProblem, positions: Sequence[int]) -> AllocationProblem:
    return changed(problem, requests=tuple(problem.requests[position] for position in positions))


def _without_rules(problem: AllocationProblem) -> Iterator[tuple[str, AllocationProblem]]:
    """Yield the rules under which one request is in the way of another, with the problem without that rule."""

    def with_groups(**members: Any) -> AllocationProblem:
        return changed(problem, groups=tuple(changed(group, **members) for group in problem.groups))

    if problem.counters:
        yield "counters", changed(problem, counters=())
    if any(group.remaining for group in problem.groups):
        yield "capacity", with_groups(remaining=())
    if any(group.tie is Tie.TERMS for group in problem.groups):
        yield "node", with_groups(tie=Tie.NODE)


def _groups(problem: AllocationProblem, requests: Sequence[Sequence[int]]) -> frozenset[int]:
    """Return the groups of which some requests may take."""
    asks = {ask for indices in requests for ask in indices if ask not in problem.impossible}
    return frozenset(at for at, group in enumerate(problem.groups) if asks & set(group.asks))


def _need(problem: AllocationProblem, requests: Sequence[Sequence[int]]) -> int:
    return sum(min(problem.need(ask) for ask in indices) for indices in requests)


def _rivals(problem: AllocationProblem, most: int) -> tuple[list[int], int, int] | None:
    """Return the fewest requests that take devices of which there are too few for all, what they need and there is.

    Such requests take of some groups only (Hall), which are those of one request or of several.
    """
    needs = [_need(problem, [indices]) for indices in problem.requests]
    mine = [_groups(problem, [indices]) for indices in problem.requests]
    kinds = [kind for kind in dict.fromkeys(mine) if not any(map(problem.overlaps, kind))]
    several = chain.from_iterable(combinations(kinds, number) for number in range(1, len(kinds) + 1))
    found = []
    for groups in (frozenset().union(*chosen) for chosen in islice(several, most)):
        have, inside = (
            sum(problem.groups[at].size for at in groups),
            [at for at, own in enumerate(mine) if own <= groups],
        )
        sums = accumulate(sorted((needs[at] for at in inside), reverse=True))
        fewest = next((number for number, need in enumerate(sums, 1) if need > have), 0)
        # of as few, those that a person reads first
        sets = islice(combinations(inside, fewest), most) if fewest > 1 else ()
        found += [next((list(rivals) for rivals in sets if sum(needs[at] for at in rivals) > have), [])]
    found = [rivals for rivals in found if rivals]
    if not found:
        return None
    chosen = min(found, key=lambda positions: (len(positions), positions))
    have = sum(problem.groups[at].size for at in frozenset().union(*(mine[at] for at in chosen)))
    return chosen, sum(needs[at] for at in chosen), have
