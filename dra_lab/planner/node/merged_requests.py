"""Requests of a pod that mean the same: units that can change places, a problem with one request for all, the way back.

A template writes four GPU-NIC pairs as eight numbered requests, a drawing as two requests for four devices each. Both
are one unit, four times.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.index.pools import Tie
from dra_lab.model.names import split_request
from dra_lab.model.sketch import How, Link
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart

Taking = Mapping[tuple[int, int], int]
"""How many devices each ask takes of each group, (ask, group)."""

_Copy = dict[int, list[int]]
"""The groups of which one copy of a unit takes its devices, by position in the unit."""


class Units(Struct, frozen=True):
    """Copies of one unit: no rule can tell them apart.

    `copies` has the requests of each copy, by index; those at one position mean the same. `links` has the links of each
    copy, which tie requests of that copy only, in the same order for all. `shared` are the links that tie every copy in
    the same way.
    """

    copies: tuple[tuple[int, ...], ...]
    links: tuple[tuple[int, ...], ...]
    shared: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Return how many copies there are."""
        return len(self.copies)


Tied = tuple[Hashable, frozenset[tuple[int, str]]]
"""What a link means but for its ends, and these: (request, "" or the alternative that it ties)."""


def interchangeable(meanings: Sequence[Hashable], links: Sequence[Tied]) -> tuple[Units, ...]:
    """Return the units of a pod, in the order of their first requests; each request is in one of them.

    Two copies of a unit can change places: whatever keeps the links before keeps them after. A request that
    cannot be shown to be interchangeable is in a unit of one copy.

    Args:
        meanings: What each request asks for; equal for requests that ask for the same.
        links: What each link means, and which requests it ties.

    Example:
        >>> pair = [("root", frozenset({(0, ""), (1, "")})), ("root", frozenset({(2, ""), (3, "")}))]
        >>> interchangeable(["gpu", "nic", "gpu", "nic"], pair)[0].copies
        ((0, 1), (2, 3))
    """
    numbers: dict[Hashable, int] = {}
    kind = [numbers.setdefault(meaning, len(numbers)) for meaning in meanings]
    identical: dict[int, set[int]] = {}
    for request, own in enumerate(kind):
        identical.setdefault(own, set()).add(request)
    # A link that ties all requests of a kind ties every copy in the same way; the others make requests one unit.
    shared = {
        number
        for number, (_, ends) in enumerate(links)
        if all((other, sub) in ends for request, sub in ends for other in identical[kind[request]])
    }
    found: dict[Hashable, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for requests in _components(len(meanings), [ends for at, (_, ends) in enumerate(links) if at not in shared]):
        order = tuple(sorted(requests, key=lambda request: (kind[request], request)))
        position = {request: at for at, request in enumerate(order)}
        mine = [
            ((repr(what), sorted((position[request], sub) for request, sub in ends)), number)
            for number, (what, ends) in enumerate(links)
            if number not in shared and any(request in position for request, _ in ends)
        ]
        mine.sort()
        key = (tuple(kind[request] for request in order), repr([structure for structure, _ in mine]))
        found.setdefault(key, []).append((order, tuple(number for _, number in mine)))
    units = []
    for copies in found.values():
        first = copies[0][0]
        over = tuple(at for at in sorted(shared) if any(request in first for request, _ in links[at][1]))
        units.append(Units(tuple(copy for copy, _ in copies), tuple(own for _, own in copies), over))
    return tuple(sorted(units, key=lambda one: min(one.copies[0])))


def _components(count: int, ties: Iterable[frozenset[tuple[int, str]]]) -> list[list[int]]:
    """Return the sets of requests that links join, each in its order."""
    root = list(range(count))

    def find(request: int) -> int:
        while root[request] != request:
            request = root[request]
        return request

    for ends in ties:
        first, *others = sorted(request for request, _ in ends)
        for other in others:
            root[find(other)] = find(first)
    found: dict[int, list[int]] = {}
    for request in range(count):
        found.setdefault(find(request), []).append(request)
    return list(found.values())


# ---------------------------------------------------------------- the problem of merged requests


class MergedRequests(Struct, frozen=True):
    """A problem in which a request stands for all that mean the same, `written` the problem as it was.

    `units` are those of `written` that were merged; `asks`, `requests` and `links` are the positions in `written` of
    those that are left. Groups are the same in both, and so are the values of any allocation.
    """

    problem: AllocationProblem
    written: AllocationProblem
    units: tuple[Units, ...]
    asks: tuple[int, ...]
    requests: tuple[int, ...]
    links: tuple[int, ...]

    def part(self, part: CopyPart) -> CopyPart:
        """Return which asks, requests and links of the problem are those of a kind of pods in `written`."""

        def now(left: tuple[int, ...], ends: tuple[int, int]) -> tuple[int, int]:
            return bisect_left(left, ends[0]), bisect_left(left, ends[1])

        return part._replace(
            asks=now(self.asks, part.asks),
            requests=now(self.requests, part.requests),
            links=now(self.links, part.links),
        )

    def hand_back(self, taken: Taking) -> dict[tuple[int, int], int]:
        """Return what the requests as written take, where the merged ones take this."""
        merged = {self.written.requests[request][0] for unit in self.units for request in unit.copies[0]}
        found = {
            (self.asks[ask], group): count
            for (ask, group), count in taken.items()
            if count and self.asks[ask] not in merged
        }
        tokens: dict[int, list[int]] = {}
        for (ask, group), count in sorted(taken.items()):
            tokens.setdefault(self.asks[ask], []).extend([group] * count)
        for unit in self.units:
            first = [tokens.get(self.written.requests[request][0], []) for request in unit.copies[0]]
            for requests, copy in zip(unit.copies, _copies(self.written, unit, first), strict=True):
                for position, groups in copy.items():
                    for group, count in Counter(groups).items():
                        found[self.written.requests[requests[position]][0], group] = count
        return found


def merge_requests(problem: AllocationProblem, some: range | None = None) -> MergedRequests | None:
    """Return a problem with the requests merged that mean the same on its node; None where there are none.

    n copies of a request become one request for n times the devices. A link that keeps the devices of each copy
    together becomes a pairwise link with n groups; links that tie all copies stay what they are. Merged is only what
    means exactly the same then: see `_is_mergeable`. Requests beyond `some` are left alone.
    """
    looked_at = range(len(problem.requests)) if some is None else some
    if len(looked_at) < 2:
        return None
    meanings = _meanings(problem, looked_at)
    if len(set(meanings)) == len(meanings):
        return None
    request_of = {ask: request for request, indices in enumerate(problem.requests) for ask in indices}
    ties: list[Tied] = []
    for number, link in enumerate(problem.links):
        ends = ((request_of[ask], split_request(problem.asks[ask].reference)[1]) for ask in problem.ends(number))
        ties.append(((link.how.value, link.must, link.where), frozenset(ends)))
    every = interchangeable(meanings, ties)
    units = tuple(unit for unit in every if unit.count > 1 and _is_mergeable(problem, unit))
    return _merged(problem, units) if units else None


def _merged(problem: AllocationProblem, units: tuple[Units, ...]) -> MergedRequests:
    """Return a problem with the first copy of each unit in place of all."""
    gone = {request for unit in units for copy in unit.copies[1:] for request in copy}
    gone_links = {link for unit in units for own in unit.links[1:] for link in own}
    times = {problem.requests[request][0]: unit.count for unit in units for request in unit.copies[0]}
    paired = {link for unit in units for link in unit.links[0]}
    requests = tuple(at for at in range(len(problem.requests)) if at not in gone)
    asks = tuple(ask for at in requests for ask in problem.requests[at])
    links = tuple(link for link in range(len(problem.links)) if link not in gone_links)
    now = {ask: at for at, ask in enumerate(asks)}
    left_out = {problem.asks[problem.requests[request][0]].reference for request in gone}

    def tying(link: int) -> Link:
        drawn = problem.links[link]
        ends = tuple(end for end in drawn.requests if end not in left_out)
        return replace(drawn, how=How.PAIRWISE if link in paired else drawn.how, requests=ends)

    merged = replace(
        problem,
        asks=tuple(replace(problem.asks[ask], count=problem.asks[ask].count * times.get(ask, 1)) for ask in asks),
        requests=tuple(tuple(now[ask] for ask in problem.requests[at]) for at in requests),
        links=tuple(map(tying, links)),
        groups=tuple(
            replace(
                group,
                asks=tuple(now[ask] for ask in group.asks if ask in now),
                places=tuple(group.places[link] for link in links),
                uses=tuple((now[ask], uses) for ask, uses in group.uses if ask in now),
            )
            for group in problem.groups
        ),
        impossible=frozenset(now[ask] for ask in problem.impossible if ask in now),
        claims=tuple(problem.claims[ask] for ask in asks) if problem.claims else (),
        pods=tuple(problem.pods[ask] for ask in asks) if problem.pods else (),
    )
    return MergedRequests(merged, problem, units, asks, requests, links)


def _meanings(problem: AllocationProblem, some: range) -> list[Hashable]:
    """Return for each request what it asks for here; one that is like no other stands for itself."""
    groups_of: dict[int, list[int]] = {ask: [] for ask in range(len(problem.asks))}
    for number, group in enumerate(problem.groups):
        for taker in group.asks:
            groups_of[taker].append(number)
    found: list[Hashable] = []
    for request, indices in enumerate(problem.requests):
        first = indices[0]
        ask = problem.asks[first]
        if request not in some or len(indices) > 1 or ask.all_devices or ask.admin_access:
            found.append(request)
            continue
        here = (problem.pod_of(first), problem.claim_of(first), first in problem.impossible)
        found.append((*here, ask.count, tuple(groups_of[first])))
    return found


def _is_mergeable(problem: AllocationProblem, unit: Units) -> bool:
    """Say whether a pairwise link says of merged requests exactly what the links of the copies say.

    Devices must be taken once and tie the pod to nothing: two requests may share a shareable device, one for two
    devices may not. A link that all copies share must be about the devices it ties as one set. The links of a copy keep
    devices together. Each ties two requests or more, one of them for one device, and the links form no ring. Then the
    devices of a copy are found from link to link.
    """
    mine = [problem.requests[request][0] for request in unit.copies[0]]
    groups = [(number, group) for number, group in enumerate(problem.groups) if set(mine) & set(group.asks)]
    if any(problem.overlaps(number) or group.tie is not Tie.SELECTOR for number, group in groups):
        return False
    if any(problem.links[link].kind.paired for link in unit.shared):
        return False
    own = unit.links[0]
    if not own:
        return len(mine) == 1
    # Any value of a list may be the common one, and a pairwise link reads one value.
    if any(len(group.places[link]) > 1 for _, group in groups for link in own):
        return False
    counts = {ask: problem.asks[ask].count for ask in mine}
    trees: list[set[int]] = []
    for ends, links in _families(problem, own).items():
        if any(problem.links[link].how is not How.TOGETHER for link in links):
            return False
        if len(ends) < 2 or min(counts[ask] for ask in ends) > 1:
            return False
        if sum(not problem.links[link].must for link in links) > 1:
            return False
        touched = [(tree, tree.intersection(ends)) for tree in trees if tree.intersection(ends)]
        if any(len(common) > 1 or max(counts[ask] for ask in common) > 1 for _, common in touched):
            return False
        trees = [*(tree for tree in trees if tree.isdisjoint(ends)), set(ends).union(*(tree for tree, _ in touched))]
    return True


def _families(problem: AllocationProblem, links: Sequence[int]) -> dict[tuple[int, ...], list[int]]:
    """Return the links of a copy by what they tie: links between the same requests are one pairing."""
    found: dict[tuple[int, ...], list[int]] = {}
    for link in links:
        found.setdefault(problem.ends(link), []).append(link)
    return found


def _copies(problem: AllocationProblem, unit: Units, tokens: Sequence[Sequence[int]]) -> list[_Copy]:
    """Return which copy takes devices of which groups, `tokens` being the groups of all devices, by position."""
    mine = [problem.requests[request][0] for request in unit.copies[0]]
    counts = [problem.asks[ask].count for ask in mine]
    families = [
        (tuple(mine.index(ask) for ask in ends), links) for ends, links in _families(problem, unit.links[0]).items()
    ]
    left = [list(groups) for groups in tokens]
    found: list[_Copy] = [{} for _ in unit.copies]
    while families:
        ends, links = next((one for one in families if any(at in found[0] for at in one[0])), families[0])
        families.remove((ends, links))
        _give(problem, found, left, ends, links, counts)
    for at in range(len(mine)):
        if at not in found[0]:
            for copy in found:
                copy[at] = [left[at].pop(0) for _ in range(counts[at])]
    return found


def _give(
    problem: AllocationProblem,
    copies: list[_Copy],
    left: list[list[int]],
    ends: Sequence[int],
    links: Sequence[int],
    counts: Sequence[int],
) -> None:
    """Give each copy its devices of the requests that links between the same requests tie, at one place where it can.

    First at a place that all these links have in common, then at one of the must-links, then anywhere.
    """
    known = [at for at in ends if at in copies[0]]
    new = [at for at in ends if at not in copies[0]]
    musts = [link for link in links if problem.links[link].must]
    for levels in (links, musts, ()):
        place = partial(_place, problem, levels)
        for copy in copies:
            if new[0] in copy:
                continue
            wanted = [place(copy[at][0]) for at in known] or sorted({place(group) for group in left[new[0]]}, key=repr)
            for value in wanted:
                here = [[group for group in left[at] if place(group) == value][: counts[at]] for at in new]
                if value is not None and all(len(found) == counts[at] for at, found in zip(new, here, strict=True)):
                    for at, groups in zip(new, here, strict=True):
                        copy[at] = groups
                        for group in groups:
                            left[at].remove(group)
                    break


def _place(problem: AllocationProblem, links: Sequence[int], group: int) -> Hashable:
    """Return at which place of some links a group's devices are, None where one of them has none."""
    values = tuple(problem.groups[group].places[link] for link in links)
    return values if all(values) else None
