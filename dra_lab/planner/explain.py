"""Why a claim does not fit: the first test that leaves too few devices, or the link, with places and counts by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dra_lab.authoring.links import LEVEL_WORDS
from dra_lab.model.names import part_of
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import MAX_DEVICES, ClaimSketch, How, Link
from dra_lab.planner.counters import counted_pools
from dra_lab.planner.eligible import AskEligibility, NodeEligibility
from dra_lab.planner.places import PlaceValue
from dra_lab.planner.problem import AllocationProblem, pairwise_share
from dra_lab.planner.stages import Stage

_RULES = (
    ("class", Stage.SELECTOR, "are of class {device_class}"),
    ("selector", Stage.TAINT, "of them pass the selectors"),
    ("taint", Stage.IN_USE, "of them have no taint that keeps it away"),
    ("in-use", Stage.CAPACITY, "of them are free"),
    ("capacity", Stage.FREE, "of them have the capacity"),
)
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


def explain_node(case: NodeCase) -> tuple[Shortfall, ...]:
    """Return the reasons why the claim does not fit on one node, never empty; requests first, then links."""
    alone = tuple(s for position in range(len(case.sketch.requests)) if (s := _request(case, position)) is not None)
    counted = tuple(s for link in case.problem.links if link.must and (s := _counted_out(case, link.name)) is not None)
    return (*alone, *counted) or _too_many(case) or _links(case) or (_together(case),)


def missing(shortfalls: Sequence[Shortfall]) -> tuple[int, int]:
    """Return how far a node is from serving the claim: the number of reasons, and the devices or groups missing."""
    return len(shortfalls), sum(max(0, s.needed - s.available) for s in shortfalls)


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
        return _shortfall(_blocked_rule(part), ask.reference, f"request {ask.reference}: {part.blocked}", 1, 0, node)
    if ask.all_devices and len(part.listed) > MAX_DEVICES:
        text = f"all {len(part.listed)} devices that match are more than the {MAX_DEVICES} that a claim can hold"
        return _shortfall("limit", ask.reference, text, len(part.listed), MAX_DEVICES, node)
    if ask.count > MAX_DEVICES:
        text = f"{ask.count} devices are more than the {MAX_DEVICES} that a claim can hold"
        return _shortfall("limit", ask.reference, text, ask.count, MAX_DEVICES, node)
    for rule, stage, _ in _RULES:
        have = part.count(stage)
        if have < max(1, ask.count):
            named = "count" if rule == "class" and have else rule
            text, needed = _chain(part, stage), max(1, ask.count)
            return _shortfall(named, ask.reference, text, needed, have, node, published=bool(part.stages))
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
    return _shortfall("link", links[0].name if links else part.ask.reference, text, need, able, case.eligible.node)


def _too_many(case: NodeCase) -> tuple[Shortfall, ...]:
    needed: Counter[str] = Counter()
    for indices in case.problem.requests:
        claim = part_of(case.problem.asks[indices[0]].reference)[0]
        needed[claim] += min(case.problem.need(ask) for ask in indices)
    return tuple(
        _shortfall(
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
    return (_shortfall("link", must[0], text, len(must), len(must) - 1, case.eligible.node),)


def _unserved(shortfall: Shortfall) -> Shortfall:
    return replace(shortfall, available=min(shortfall.available, shortfall.needed - 1))


def _together(case: NodeCase) -> Shortfall:
    rivals = next((r for r in _rivals(case) if r[1] > r[2]), None) or (range(len(case.sketch.requests)), *_all(case))
    positions, need, have = rivals
    names = ", ".join(case.sketch.requests[position].name for position in positions)
    if case.problem.counters:
        counters = _counters(case)
        text = f"the {have} devices for requests {names} draw on {counters}, of which too little is left for all"
        return _shortfall("counters", names, text, need, min(have, need - 1), case.eligible.node)
    text = f"the requests {names} can be served one by one, but they compete for the same {have} devices"
    return _shortfall("count", names, text, need, min(have, need - 1), case.eligible.node)


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


def explain_link(case: NodeCase, name: str) -> Shortfall:
    """Explain a link that cannot hold even alone: which places have how many devices of which request."""
    index = next(n for n, link in enumerate(case.problem.links) if link.name == name)
    link = case.problem.links[index]
    if link.how is How.PAIRWISE:
        return _pairwise(case, index, link)
    parts = [_best_ask(case, indices) for indices in case.problem.covered(index)]
    need = sum(case.problem.need(part) for part in parts)
    at = place_counts(case.problem, index, parts)
    place = LEVEL_WORDS.get(link.where, link.where)
    if link.how is How.APART:
        text = f"link {name} needs {need} different values of {place}, there are {len(at)}: {_table(case, parts, at)}"
        return _shortfall("link", name, text, need, len(at), case.eligible.node)
    best = max((sum(min(c[p], case.problem.need(p)) for p in parts) for c in at.values()), default=0)
    wanted = _counted(case, parts, Counter({part: case.problem.need(part) for part in parts}))
    text = f"link {name} needs {wanted} at one {place}; {_table(case, parts, at)}"
    return _shortfall("link", name, text, need, best, case.eligible.node)


def _counted_out(case: NodeCase, name: str) -> Shortfall | None:
    """Return why a must-link cannot hold, where counting devices place by place already shows it."""
    found = explain_link(case, name)
    return found if found.available < found.needed else None


def _pairwise(case: NodeCase, index: int, link: Link) -> Shortfall:
    parts = [_best_ask(case, indices) for indices in case.problem.covered(index)]
    counts = [case.problem.need(part) for part in parts]
    share = pairwise_share(counts)
    place = LEVEL_WORDS.get(link.where, link.where)
    if share is None:
        text = f"link {link.name} cannot pair {' with '.join(map(str, counts))} devices: no whole multiples"
        # The drawing decides this, not the hardware: no node is named.
        found = _shortfall("link", link.name, text, min(counts), 0, "")
        return replace(found, advice="Make each count a multiple of the smallest one, or prefer the link.")
    groups, shares = share
    at = place_counts(case.problem, index, parts)
    fit = {v: min(c[p] // s for p, s in zip(parts, shares, strict=True)) for v, c in at.items()}
    available = sum(fit.values())
    each = _counted(case, parts, Counter(dict(zip(parts, shares, strict=True))))
    word = "group" if groups == 1 else "groups"
    text = f"link {link.name} needs {groups} {word} of {each}, each at one {place}; there is room for {available}: "
    if any(fit.values()):
        text += _table(case, parts, at)
    else:
        text += f"they sit at different {place}s, {_apart(case, parts, at)}"
    return _shortfall("link", link.name, text, groups, available, case.eligible.node)


def place_counts(problem: AllocationProblem, link: int, parts: Sequence[int]) -> dict[PlaceValue, Counter[int]]:
    """Return, for each value at a link's place, how many devices each of the asks may take there; sorted by value."""
    at: dict[PlaceValue, Counter[int]] = {}
    for group in problem.groups:
        for value in group.places[link]:
            for part in parts:
                if part in group.asks:
                    at.setdefault(value, Counter())[part] += group.size
    return dict(sorted(at.items(), key=lambda item: (item[0][0], item[0][1])))


def _best_ask(case: NodeCase, indices: Sequence[int]) -> int:
    return next((index for index in indices if index not in case.problem.impossible), indices[0])


def _table(case: NodeCase, parts: Sequence[int], at: dict[PlaceValue, Counter[int]]) -> str:
    told = (f"{value[1]} has {_counted(case, parts, counts)}" for value, counts in at.items())
    return ", ".join(told) or "none has any"


def _counted(case: NodeCase, parts: Sequence[int], counts: Counter[int]) -> str:
    return " and ".join(f"{counts[part]} {case.problem.asks[part].reference}" for part in parts)


def _apart(case: NodeCase, parts: Sequence[int], at: dict[PlaceValue, Counter[int]]) -> str:
    told = []
    for part in parts:
        values = [str(value[1]) for value, counts in at.items() if counts[part]]
        told.append(f"{case.problem.asks[part].reference} at {', '.join(values) or 'none that is known'}")
    return "; ".join(told)


def _shortfall(
    rule: str, subject: str, text: str, needed: int, available: int, node: str, *, published: bool = True
) -> Shortfall:
    advice = _ADVICE[rule]
    if rule == "class" and not published:
        advice = "Load a cluster that has ResourceSlices, or a sample."
    elif not advice.endswith("."):
        # Fewer of what is not there at all would not fit either.
        advice += ", or lower the count." if available else "."
    return Shortfall(rule, subject, text[0].upper() + text[1:], needed, available, node, advice)
