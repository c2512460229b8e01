"""One claim on one node as groups of interchangeable devices with their places, and what solving it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.index.in_use import Counter as Drawn
from dra_lab.index.in_use import Draws
from dra_lab.index.pools import Tie
from dra_lab.model.device import Device
from dra_lab.model.goals import GOALS, GoalValue
from dra_lab.model.names import PCIE_ROOT, DeviceID, part_of
from dra_lab.model.sketch import MAX_DEVICES, Ask, ClaimSketch, How, Link, covers
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.eligible import NodeEligibility
from dra_lab.topology.places import Locality, level_number, level_value, shared_value

NUMA_KINDS = ("gpu", "nic", "cpu")
ROOT_KINDS = ("gpu", "nic")


class DeviceGroup(Struct, frozen=True):
    """Devices that nothing in the problem can tell apart, in kube-scheduler's order.

    `asks` are indices into the problem's asks that may take them. `places` are the values at each link's place ((): not
    known). A shareable device is a group of its own: `remaining` is what is left of it, and `uses` what each ask takes.
    `draws` is what each device takes of shared counters, and `tie` how it ties the claim to nodes.
    """

    devices: tuple[DeviceID, ...]
    asks: tuple[int, ...]
    places: tuple[Values, ...]
    kind: str
    numa: PlaceValue | None
    root: PlaceValue | None
    shareable: bool = False
    remaining: tuple[tuple[str, Fraction], ...] = ()
    uses: tuple[tuple[int, tuple[tuple[str, Fraction], ...]], ...] = ()
    draws: Draws = ()
    tie: Tie = Tie.SELECTOR

    @property
    def size(self) -> int:
        """Return the number of devices."""
        return len(self.devices)


class AllocationProblem(Struct, frozen=True):
    """One claim on one node, or the claims of one pod.

    `requests` lists the indices of each request's asks, of which one is to be served. `impossible` are asks that cannot
    be served here whatever is taken. `paired` says whether the claim requests both GPUs and NICs (goal `unpaired`).
    `counters` is what is left of the shared counters that the groups draw on. `claims` is the position of each ask's
    claim in the pod, () for one claim. `pods` is the pod of each ask if several pods are on the node, else ().
    """

    node: str
    asks: tuple[Ask, ...]
    requests: tuple[tuple[int, ...], ...]
    links: tuple[Link, ...]
    groups: tuple[DeviceGroup, ...]
    impossible: frozenset[int] = frozenset()
    paired: bool = False
    counters: tuple[tuple[Drawn, int], ...] = ()
    claims: tuple[int, ...] = ()
    pods: tuple[int, ...] = ()

    @property
    def most_devices(self) -> int:
        """Return how many devices all claims together can be allocated: 32 each (`allocation.devices.results`)."""
        return MAX_DEVICES * (max(self.claims, default=0) + 1)

    def claim_of(self, ask: int) -> int:
        """Return the position of an ask's claim among those of the pod."""
        return self.claims[ask] if self.claims else 0

    def pod_of(self, ask: int) -> int:
        """Return the position of an ask's pod among those on the node."""
        return self.pods[ask] if self.pods else 0

    def overlaps(self, group: int) -> bool:
        """Say whether several asks may take the same device: a shareable one, or for admin access in another claim."""
        found = self.groups[group]
        several = bool(self.claims) and len({self.claim_of(ask) for ask in found.asks}) > 1
        return found.shareable or (several and any(self.asks[ask].admin_access for ask in found.asks))

    def covered(self, link: int) -> tuple[tuple[int, ...], ...]:
        """Return, for each reference of a link, the indices of the asks that it covers."""
        return tuple(
            tuple(index for index, ask in enumerate(self.asks) if covers(reference, ask))
            for reference in self.links[link].requests
        )

    def ends(self, link: int) -> tuple[int, ...]:
        """Return the indices of all asks that a link covers."""
        return tuple(sorted({index for part in self.covered(link) for index in part}))

    def need(self, ask: int) -> int:
        """Return how many devices an ask takes: its count, or all that it may take."""
        if not self.asks[ask].all_devices:
            return self.asks[ask].count
        return sum(group.size for group in self.groups if ask in group.asks)


def build_problem(
    sketch: ClaimSketch,
    eligible: NodeEligibility,
    places: Mapping[DeviceID, Locality],
    *,
    paired: bool,
    drop: Sequence[str] = (),
) -> AllocationProblem:
    """Reduce one node to its problem; `drop` names links that are left out (to explain a misfit).

    A device without a value at the place of a must-link cannot serve the asks that the link covers; an ask for All that
    lists such a device cannot be served at all (docs/semantics.md 3.6).
    """
    links = tuple(link for link in sketch.links if link.name not in drop)
    all_asks = tuple(part.ask for part in eligible.asks)
    order = {request.name: index for index, request in enumerate(sketch.requests)}
    requests = tuple(
        tuple(index for index, ask in enumerate(all_asks) if order[ask.request] == position)
        for position in range(len(sketch.requests))
    )
    values = {
        device: tuple(place_values(places[device], link, eligible.seen[device], lists=eligible.lists) for link in links)
        for device in eligible.seen
    }
    takers, impossible = _takers(eligible, links, values)
    parts = [part_of(ask.reference)[0] for ask in all_asks]
    numbers = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    claims = tuple(numbers[part] for part in parts) if len(numbers) > 1 else ()
    groups = _groups(eligible, places, takers, values, claims)
    left = tuple(sorted(eligible.books.left.items()))
    return AllocationProblem(eligible.node, all_asks, requests, links, groups, impossible, paired, left, claims)


def _takers(
    eligible: NodeEligibility, links: Sequence[Link], values: Mapping[DeviceID, tuple[Values, ...]]
) -> tuple[dict[DeviceID, list[int]], frozenset[int]]:
    """Return the asks that may take each device, and those that cannot be served whatever is taken."""
    takers: dict[DeviceID, list[int]] = {}
    impossible = set()
    for index, part in enumerate(eligible.asks):
        tying = (at for at, link in enumerate(links) if any(covers(reference, part.ask) for reference in link.requests))
        needed = [at for at in tying if links[at].must]
        wanted = part.listed if part.ask.all_devices and not part.blocked else part.devices
        able = [device for device in wanted if all(values[device][link] for link in needed)]
        for device in able:
            takers.setdefault(device, []).append(index)
        if part.blocked or (part.ask.all_devices and len(able) < len(wanted)):
            impossible.add(index)
    return takers, frozenset(impossible)


def _groups(
    eligible: NodeEligibility,
    places: Mapping[DeviceID, Locality],
    takers: Mapping[DeviceID, list[int]],
    values: Mapping[DeviceID, tuple[Values, ...]],
    claims: Sequence[int],
) -> tuple[DeviceGroup, ...]:
    identical: dict[tuple[DeviceGroup, DeviceID | None], list[DeviceID]] = {}
    uses = [part.uses for part in eligible.asks if part.uses]
    admin = {at for at, part in enumerate(eligible.asks) if claims and part.ask.admin_access}
    tied = bool(eligible.ties)
    for device in eligible.seen:
        if device in takers:
            place, mine = places[device], tuple(takers[device])
            group = DeviceGroup(
                (),
                mine,
                values[device],
                place.kind,
                typed(place.numa_node.value if place.numa_node else None),
                typed(place.pcie_root.value if place.pcie_root else None),
                draws=eligible.books.draws.get(device, ()),
                tie=eligible.ties.get(device, Tie.NODE if tied else Tie.SELECTOR),
            )
            if shared := any(device in part for part in uses):
                left = tuple(sorted(eligible.remaining.get(device, {}).items()))
                used = tuple((at, tuple(sorted(eligible.asks[at].uses[device].items()))) for at in mine)
                group = replace(group, shareable=True, remaining=left, uses=used)
            # What an admin of one claim takes may be taken for another claim too: told apart one by one, like shares.
            alone = shared or tied or device in eligible.books.coarse or not admin.isdisjoint(mine)
            identical.setdefault((group, device if alone else None), []).append(device)
    return tuple(replace(group, devices=tuple(devices)) for (group, _), devices in identical.items())


def pairwise_share(counts: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
    """Return (groups, devices of each request in a group) of a pairwise link, None where the counts do not divide.

    The smallest count is the number of groups; every other count must be a whole multiple of it.
    """
    groups = min(counts)
    if groups < 1 or any(count % groups for count in counts):
        return None
    return groups, tuple(count // groups for count in counts)


def partner_links(problem: AllocationProblem, link: int) -> tuple[int, ...]:
    """Return the pairwise must-links that tie the same requests as a preferred pairwise link.

    Such a pair of links is one pairing: what stays together at the preferred place is together at the must place too.
    """
    mine = problem.links[link]
    return tuple(
        index
        for index, other in enumerate(problem.links)
        if index != link
        and other.kind.paired
        and mine.kind.paired
        and other.must
        and set(other.requests) == set(mine.requests)
    )


PlaceValue = tuple[str, str | int]
"""A value at a place with its type, because 1, True and "1" are three values (docs/semantics.md 3.9.8)."""

Values = tuple[PlaceValue, ...]
"""All values of a device at a place, sorted; () where it has none."""

LIST = "list"
"""The type of a list that the release does not read: it stands for itself."""


def typed(value: str | int | None) -> PlaceValue | None:
    """Return a value with its type, so that 1, True and "1" differ."""
    return None if value is None else (type(value).__name__, value)


def place_values(locality: Locality, link: Link, device: Device, *, lists: bool) -> Values:
    """Return the values of a device at a link's place.

    `lists` is the gate DRAListTypeAttributes: a list then has all its values (docs/semantics.md 3.9.11, 3.9.17).
    Without it, a list equals nothing, and `distinctAttribute` takes it for equal to every other list
    (docs/semantics.md 3.9.10, 3.9.23).
    """
    if link.is_level:
        return _at_level(locality, link, device, lists=lists)
    attribute = device.lookup(link.where, locality.device.driver)
    if attribute is None or attribute.value is None:
        return ()
    kind, value = attribute.kind, attribute.value
    if not isinstance(value, tuple):
        return ((kind, value),)
    if not lists:
        return _unread(locality, link)
    return tuple(sorted({(kind.removesuffix("s"), member) for member in value}))


def _at_level(locality: Locality, link: Link, device: Device, *, lists: bool) -> Values:
    value = shared_value if link.kind.near else level_value
    known = typed(value(locality, link.where, device))
    listed = dict(locality.listed).get(link.where)
    if listed is None or (known is not None and not lists):
        return _empty_root(locality, link, device) if known is None else (known,)
    if not lists:
        return _unread(locality, link)
    digits = (level_number(value) for value in listed)
    return tuple(sorted({(type(value).__name__, value) for value in digits}))


def _empty_root(locality: Locality, link: Link, device: Device) -> Values:
    """Return an empty text that is published as PCIe root, where a constraint demands one root: equal to itself.

    Rule: docs/semantics.md 3.9.7. It is no place that anybody knows; kube-scheduler takes it for one, and the demand is
    kube-scheduler's.
    """
    if not (link.must and link.how is How.TOGETHER and link.where == "pcieRoot"):
        return ()
    attribute = device.lookup(PCIE_ROOT, locality.device.driver)
    return (("str", ""),) if attribute is not None and attribute.value == "" else ()


def _unread(locality: Locality, link: Link) -> Values:
    return ((LIST, str(locality.device) if link.kind.near else ""),)


Taken = tuple[tuple[int, DeviceID], ...]
"""(index of the ask, device) in the claim's order."""


class NodeSolution(Struct, frozen=True, dict=True):
    """What is known of one problem.

    `taken` lists (index of the ask, device) in the claim's order, None if no allocation was found. `infeasible` is a
    proof that there is none. `worse` says that it is proven worse than the values it was compared with (the later goals
    are then not decided). `copied` says that it is known from equal hardware, and `taken` does not name this node's
    devices.
    """

    taken: Taken | None = None
    stages: tuple[GoalValue, ...] = ()
    infeasible: bool = False
    worse: bool = False
    copied: bool = False

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven best."""
        return self.taken is not None and all(stage.proven for stage in self.stages)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Return the goals' values in order of importance."""
        return tuple([stage.value for stage in self.stages])

    def value(self, goal: str) -> int:
        """Return the value of a goal, 0 if it is not there."""
        return next((stage.value for stage in self.stages if stage.goal == goal), 0)


def counted(problem: AllocationProblem, taken: Taken) -> Counter[tuple[int, int]]:
    """Return how many devices each ask takes of each group, (ask, group)."""
    group_of = {device: number for number, group in enumerate(problem.groups) for device in group.devices}
    return Counter((ask, group_of[device]) for ask, device in taken)


def devices_of(
    problem: AllocationProblem,
    takes: Mapping[tuple[int, int], int],
    free: Mapping[int, Sequence[DeviceID]] | None = None,
) -> Taken:
    """Return the devices behind (ask, group): count, asks in the claim's order, devices in kube-scheduler's.

    `free` are the devices of each group that can be taken, if these are not all of them.
    """
    every = {number: group.devices for number, group in enumerate(problem.groups)}
    left = {number: list(devices) for number, devices in (every if free is None else free).items()}
    found: list[tuple[int, DeviceID]] = []
    for (ask, number), count in sorted(takes.items()):
        if count:
            found.extend((ask, device) for device in left[number][:count])
            if not problem.overlaps(number):
                del left[number][:count]
    return tuple(found)


def report_goal(budget: Budget, goal: GoalValue) -> None:
    """Report a goal that is decided."""
    bound = "proven" if goal.proven else f"bound {'unknown' if goal.bound is None else goal.bound}"
    budget.report_step(goal.goal, f"{GOALS[goal.goal]}: best {goal.value}, {bound}", goal.value, goal.bound)
