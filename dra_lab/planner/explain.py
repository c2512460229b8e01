"""Why a claim does not fit: the first test that leaves too few devices, or the link, with places and counts by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dra_lab.authoring.links import LEVEL_WORDS
from dra_lab.model.names import part_of
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.counters import counted_pools
from dra_lab.planner.eligible import AskEligibility
from dra_lab.planner.explain_links import counted_out, explain_link
from dra_lab.planner.node_case import NodeCase, shortfall_of
from dra_lab.planner.stages import Stage

_RULES = (
    ("class", Stage.SELECTOR, "are of class {device_class}"),
    ("selector", Stage.TAINT, "of them pass the selectors"),
    ("taint", Stage.IN_USE, "of them have no taint that keeps it away"),
    ("in-use", Stage.CAPACITY, "of them are free"),
    ("capacity", Stage.FREE, "of them have the capacity"),
)

_TESTS = {rule: number for number, (rule, *_) in enumerate(_RULES)}
_LAST = len(_RULES)


def explain_node(case: NodeCase) -> tuple[Shortfall, ...]:
    """Return the reasons why the claim does not fit on one node, never empty; requests first, then links."""
    alone = tuple(s for position in range(len(case.sketch.requests)) if (s := _request(case, position)) is not None)
    counted = tuple(s for link in case.problem.links if link.must and (s := counted_out(case, link.name)) is not None)
    return (*alone, *counted) or _too_many(case) or _links(case) or (_together(case),)


def missing(shortfalls: Sequence[Shortfall]) -> tuple[int, int, int]:
    """Return how far a node is from serving the claim: the number of reasons, the devices or groups missing.

    Of nodes that lack as many, one whose devices come further in the tests is nearer: the last number is smaller there.
    """
    early = sum(_LAST - _TESTS.get(s.rule, _LAST) for s in shortfalls)
    return len(shortfalls), sum(max(0, s.needed - s.available) for s in shortfalls), early


def _request(case: NodeCase, position: int) -> Shortfall | None:
    """Explain a request that cannot be served for itself; with alternatives, the one that lacks least."""
    found = []
    for index in case.problem.requests[position]:
        shortfall = _ask(case, index, case.eligible.asks[index])
        if shortfall is None:
            return None
        found.append(shortfall)
    return min(found, key=lambda s: s.needed - s.available)


def _ask(case: NodeCase, index: int, part: AskEligibility) -> Shortfall | None:
    ask, node = part.ask, case.eligible.node
    if part.blocked:
        return shortfall_of(_blocked_rule(part), ask.reference, f"request {ask.reference}: {part.blocked}", 1, 0, node)
    if ask.all_devices and len(part.listed) > MAX_DEVICES:
        text = f"all {len(part.listed)} devices that match are more than the {MAX_DEVICES} that a claim can hold"
        return shortfall_of("limit", ask.reference, text, len(part.listed), MAX_DEVICES, node)
    if ask.count > MAX_DEVICES:
        text = f"{ask.count} devices are more than the {MAX_DEVICES} that a claim can hold"
        return shortfall_of("limit", ask.reference, text, ask.count, MAX_DEVICES, node)
    for rule, stage, _ in _RULES:
        have = part.count(stage)
        if have < max(1, ask.count):
            named = "count" if rule == "class" and have else rule
            text, needed = _chain(part, stage), max(1, ask.count)
            return shortfall_of(named, ask.reference, text, needed, have, node, published=bool(part.stages))
    able = sum(group.size for group in case.problem.groups if index in group.asks)
    if able < max(1, ask.count) or index in case.problem.impossible:
        return _lacking(case, part, able)
    return None


def _blocked_rule(part: AskEligibility) -> str:
    stuck = [part.stages[device] for device in part.listed if part.stages[device] is not Stage.FREE]
    if not stuck:
        return "count"
    return {Stage.TAINT: "taint", Stage.IN_USE: "in-use"}.get(stuck[0], "capacity")


def _chain(part: AskEligibility, last: Stage) -> str:
    """Tell the counts from test to test, up to the one that leaves too few."""
    told, before = [], -1
    for _, stage, words in _RULES:
        have = part.count(stage)
        if have != before or stage == last:
            told.append(f"{have} {words.format(device_class=part.ask.device_class_name)}")
        before = have
        if stage == last:
            break
    if part.errors and last is Stage.TAINT:
        told.append(f"on {len(part.errors)} a selector fails")
    need = "at least one device" if part.ask.all_devices else _devices(part.ask.count)
    if not part.stages:
        return f"request {part.ask.reference} needs {need}; none is published here"
    return f"request {part.ask.reference} needs {need}; {len(part.stages)} are published here, {', '.join(told)}"


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _lacking(case: NodeCase, part: AskEligibility, able: int) -> Shortfall:
    """Explain that devices lack a value at the place of a must-link."""
    index = next(n for n, other in enumerate(case.eligible.asks) if other is part)
    links = [link for n, link in enumerate(case.problem.links) if link.must and index in case.problem.ends(n)]
    wheres = ", ".join(LEVEL_WORDS.get(link.where, link.where) for link in links)
    need = len(part.listed) if part.ask.all_devices else part.ask.count
    text = (
        f"request {part.ask.reference} needs {_devices(need)} whose {wheres} is known; {len(part.devices)} are free, "
        f"{able} of them have it"
    )
    return shortfall_of("link", links[0].name if links else part.ask.reference, text, need, able, case.eligible.node)


def _too_many(case: NodeCase) -> tuple[Shortfall, ...]:
    needed: Counter[str] = Counter()
    for indices in case.problem.requests:
        claim = part_of(case.problem.asks[indices[0]].reference)[0]
        needed[claim] += min(case.problem.need(ask) for ask in indices)
    return tuple(
        shortfall_of(
            "limit",
            claim or "claim",
            f"the requests need {least} devices together, a claim can hold {MAX_DEVICES}",
            least,
            MAX_DEVICES,
            case.eligible.node,
        )
        for claim, least in needed.items()
        if least > MAX_DEVICES
    )


def _counters(case: NodeCase) -> str:
    """Name the shared counters of which less is left than all devices together draw, with their pools."""
    pools = counted_pools(case.eligible.pools)
    names = [
        f"{counters}/{name} of pool {pools[position].driver}/{pools[position].name}"
        for (position, counters, name), _ in case.problem.counters
    ]
    return f"the shared counter{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _links(case: NodeCase) -> tuple[Shortfall, ...]:
    must = [link.name for link in case.problem.links if link.must]
    others = [link.name for link in case.problem.links if not link.must]
    if not must or not case.solvable([*must, *others]):
        return ()
    guilty = [name for name in must if not case.solvable([n for n in (*must, *others) if n != name])]
    if guilty:
        return tuple(_unserved(explain_link(case, name)) for name in guilty)
    names = " and ".join(must)
    text = f"each of the links {names} can hold alone, but not all of them at once"
    return (shortfall_of("link", must[0], text, len(must), len(must) - 1, case.eligible.node),)


def _unserved(shortfall: Shortfall) -> Shortfall:
    return replace(shortfall, available=min(shortfall.available, shortfall.needed - 1))


def _together(case: NodeCase) -> Shortfall:
    rivals = next((r for r in _rivals(case) if r[1] > r[2]), None) or (range(len(case.sketch.requests)), *_all(case))
    positions, need, have = rivals
    names = ", ".join(case.sketch.requests[position].name for position in positions)
    if case.problem.counters:
        counters = _counters(case)
        text = f"the {have} devices for requests {names} draw on {counters}, of which too little is left for all"
        return shortfall_of("counters", names, text, need, min(have, need - 1), case.eligible.node)
    text = f"the requests {names} can be served one by one, but they compete for the same {have} devices"
    return shortfall_of("count", names, text, need, min(have, need - 1), case.eligible.node)


def _all(case: NodeCase) -> tuple[int, int]:
    need = sum(min(case.problem.need(ask) for ask in indices) for indices in case.problem.requests)
    return need, sum(group.size for group in case.problem.groups)


def _rivals(case: NodeCase) -> list[tuple[list[int], int, int]]:
    """Return the requests that can take each other's devices, set by set: positions, devices needed and there."""
    owner = {ask: position for position, indices in enumerate(case.problem.requests) for ask in indices}
    sets: list[tuple[set[int], int]] = []
    for group in case.problem.groups:
        wanted, size = {owner[ask] for ask in group.asks}, group.size
        for other in [known for known in sets if known[0] & wanted]:
            sets.remove(other)
            wanted, size = wanted | other[0], size + other[1]
        sets.append((wanted, size))
    needs = [min(case.problem.need(ask) for ask in indices) for indices in case.problem.requests]
    return [(sorted(wanted), sum(needs[position] for position in wanted), size) for wanted, size in sets]
