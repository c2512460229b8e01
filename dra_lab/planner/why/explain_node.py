"""Why a claim does not fit: the first test that leaves too few devices, or the link, with places and counts by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from dra_lab.model.names import part_of
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.node.eligible import AskEligibility
from dra_lab.planner.node.link_rows import LINK_ROWS
from dra_lab.planner.why.explain_together import NodeCase, devices, explain_together, shortfall_of, undecided
from dra_lab.sketch.links import LEVEL_WORDS, link_words, listed


def explain_link(case: NodeCase, name: str) -> Shortfall:
    """Explain a link that cannot hold even alone: which places have how many devices of which request.

    If it may link several alternatives, the text is about those that lack least.
    """
    index = _index(case, name)
    tied = [parts for parts in islice(_ways(case, index), case.sizes.tries) if parts]
    return min((_shortfall(case, index, parts) for parts in tied), key=lambda s: s.needed - s.available)


def counted_out(case: NodeCase, name: str) -> Shortfall | None:
    """Return why a must-link cannot hold, where counting devices place by place already shows it.

    It has to show it for every choice of alternatives; None also where these are too many.
    """
    index = _index(case, name)
    ways = list(islice(_ways(case, index), case.sizes.tries + 1))
    least = case.problem.links[index].kind.least_ends
    if len(ways) > case.sizes.tries or any(len(parts) < least for parts in ways):
        return None  # there is a choice that the link says nothing about
    found = [_shortfall(case, index, parts) for parts in ways]
    return None if any(s.available >= s.needed for s in found) else min(found, key=lambda s: s.needed - s.available)


def _index(case: NodeCase, name: str) -> int:
    return next(n for n, link in enumerate(case.problem.links) if link.name == name)


def _ways(case: NodeCase, index: int) -> Iterator[tuple[int, ...]]:
    """Yield the asks that a link ties, for each choice of one alternative of every request."""
    ends = set(case.problem.ends(index))
    options = []
    for indices in case.problem.requests:
        if ends & set(indices):
            possible = [ask for ask in indices if ask not in case.problem.impossible] or list(indices)
            free = [None] if any(ask not in ends for ask in possible) else []
            options.append([*(ask for ask in possible if ask in ends), *free])
    # as the link names them, so that a person finds them in the same order
    order = list(dict.fromkeys(ask for part in case.problem.covered(index) for ask in part))
    for chosen in product(*options):
        yield tuple(sorted((ask for ask in chosen if ask is not None), key=order.index))


def _shortfall(case: NodeCase, index: int, parts: Sequence[int]) -> Shortfall:
    link = case.problem.links[index]
    found = LINK_ROWS[link.how].reason(case.problem, index, parts)
    node = "" if found.drawn else case.eligible.node
    shortfall = shortfall_of("link", link.name, found.text, found.needed, found.available, node)
    return replace(shortfall, advice=found.advice) if found.advice else shortfall


_RULES = (
    ("class", Stage.SELECTOR, "are of class {device_class}"),
    ("selector", Stage.TAINT, "of them pass the selectors"),
    ("taint", Stage.IN_USE, "of them have no taint that keeps it away"),
    ("in-use", Stage.CAPACITY, "of them are free"),
    ("capacity", Stage.FREE, "of them have the capacity"),
)

_CAN_HOLD = f"the {MAX_DEVICES} that a claim can hold"

_NOT_ALL = "Ask for a number of devices instead of all, or change the selectors."

_TESTS = {rule: number for number, (rule, *_) in enumerate(_RULES)}
_LAST = len(_RULES)


def explain_node(case: NodeCase) -> tuple[Shortfall, ...]:
    """Return the reasons why the claim does not fit on one node, never empty; requests first, then links."""
    alone = tuple(s for position in range(len(case.sketch.requests)) if (s := _request(case, position)) is not None)
    counted = tuple(s for link in case.problem.links if link.must and (s := counted_out(case, link.name)) is not None)
    return (*alone, *counted) or _too_many(case) or _links(case) or (explain_together(case),)


def missing(shortfalls: Sequence[Shortfall]) -> tuple[int, int, int]:
    """Return how far a node is from serving the claim: the number of reasons, the devices or groups missing.

    If nodes lack as many, one whose devices come further in the tests is nearer: its last number is smaller.
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
    # one for all devices may be what keeps the others of its request from being served
    every = {ask.reference for ask in case.problem.asks if ask.all_devices}
    return min(found, key=lambda s: (s.needed - s.available, s.subject not in every))


def _ask(case: NodeCase, index: int, part: AskEligibility) -> Shortfall | None:
    ask, node = part.ask, case.eligible.node
    if part.blocked:
        found = shortfall_of(_blocked_rule(part), ask.reference, f"request {ask.reference}: {part.blocked}", 1, 0, node)
        return replace(found, advice=_NOT_ALL) if found.rule == "count" else found
    if ask.all_devices and len(part.listed) > MAX_DEVICES:
        text = f"request {ask.reference}: all {len(part.listed)} devices that match are more than {_CAN_HOLD}"
        return shortfall_of("limit", ask.reference, text, len(part.listed), MAX_DEVICES, node)
    if ask.count > MAX_DEVICES:
        # The claim decides this, not the hardware: no node is named.
        text = f"request {ask.reference} asks for {ask.count:,} devices, more than {_CAN_HOLD}"
        return shortfall_of("limit", ask.reference, text, ask.count, MAX_DEVICES, "")
    for rule, stage, _ in _RULES:
        have = part.count(stage)
        if have < max(1, ask.count):
            named = "count" if rule == "class" and have else rule
            text, needed = _chain(case, part, stage), max(1, ask.count)
            found = shortfall_of(named, ask.reference, text, needed, have, node, published=bool(part.stages))
            return _without_key(case, part, found) if rule == "capacity" else found
    able = sum(group.size for group in case.problem.groups if index in group.asks)
    if able < max(1, ask.count) or index in case.problem.impossible:
        return _lacking(case, part, able)
    return None


def _without_key(case: NodeCase, part: AskEligibility, found: Shortfall) -> Shortfall:
    """Return the reason with what the devices publish, if none of them publishes a capacity that is requested.

    Less of such a capacity would not help.
    """
    free = [case.eligible.seen[device] for device, stage in part.stages.items() if stage >= Stage.CAPACITY]
    published = sorted({key for device in free for key in device.capacity})
    absent = [key for key in part.ask.capacity if key not in published]
    if not absent:
        return found
    names = ", ".join(published) or "none"
    message = f"{found.message}: none of them publishes {', '.join(absent)}"
    return replace(found, message=message, advice=f"Ask for a capacity that they publish ({names}), or for none.")


def _blocked_rule(part: AskEligibility) -> str:
    stuck = [part.stages[device] for device in part.listed if part.stages[device] is not Stage.FREE]
    if not stuck:
        return "count"
    return {Stage.TAINT: "taint", Stage.IN_USE: "in-use"}.get(stuck[0], "capacity")


def _chain(case: NodeCase, part: AskEligibility, last: Stage) -> str:
    """Return the counts from test to test as text, up to the one that leaves too few."""
    passed, before = [], -1
    for _, stage, words in _RULES:
        have = part.count(stage)
        if have != before or stage == last:
            passed.append(f"{have} {words.format(device_class=part.ask.device_class_name)}")
        before = have
        if stage == last:
            break
    if part.errors and last is Stage.TAINT:
        passed.append(f"on {len(part.errors)} a selector fails")
    need = "at least one device" if part.ask.all_devices else devices(part.ask.count)
    if not part.stages:
        return f"request {part.ask.reference} needs {need}; none is published here"
    return f"request {part.ask.reference} needs {need}; {_published(case, part)} published here, {', '.join(passed)}"


def _published(case: NodeCase, part: AskEligibility) -> str:
    """Return `15 are`, or `50 partitions are` if all devices draw on shared counters."""
    items = (item for pool in case.eligible.pools for item in pool.devices)
    split = {item.id for item in items if item.device.consumes_counters}
    return f"{len(part.stages)} {'partitions are' if part.stages.keys() <= split else 'are'}"


def _lacking(case: NodeCase, part: AskEligibility, able: int) -> Shortfall:
    """Explain that devices lack a value at the place of a must-link."""
    index = next(n for n, other in enumerate(case.eligible.asks) if other is part)
    links = [link for n, link in enumerate(case.problem.links) if link.must and index in case.problem.ends(n)]
    wheres = ", ".join(LEVEL_WORDS.get(link.where, link.where) for link in links)
    need = len(part.listed) if part.ask.all_devices else part.ask.count
    text = (
        f"request {part.ask.reference} needs {devices(need)} whose {wheres} is known; {len(part.devices)} are free, "
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
            case.eligible.node if any(ask.all_devices for ask in case.problem.asks) else "",
        )
        for claim, least in needed.items()
        if least > MAX_DEVICES
    )


def _links(case: NodeCase) -> tuple[Shortfall, ...]:
    """Explain must-links without which the claim would fit: those that cannot hold alone, else all of them."""
    must = [link.name for link in case.problem.links if link.must]
    if not must:
        return ()
    bare = case.feasible(case.bare)
    others = [link.name for link in case.problem.links if not link.must]
    alone = {name: case.solvable([n for n in (*must, *others) if n != name]) for name in must} if bare else {}
    if bare is None or None in alone.values():
        return (undecided(case.eligible.node),)
    if not bare:
        return ()
    guilty = [name for name, fits in alone.items() if not fits]
    if guilty:
        return tuple(_unserved(explain_link(case, name)) for name in guilty)
    words = listed([link_words(link) for link in case.problem.links if link.must])
    text = f"{words} can each hold alone, but not all of them at once"
    return (shortfall_of("links", must[0], text, len(must), len(must) - 1, case.eligible.node),)


def _unserved(shortfall: Shortfall) -> Shortfall:
    """Return the reason of a link that cannot hold; places that seem to have enough do not serve all at once."""
    if shortfall.available < shortfall.needed:
        return shortfall
    text = f"{shortfall.message}; no choice of devices that serves all requests keeps it"
    return replace(shortfall, message=text, available=shortfall.needed - 1)
