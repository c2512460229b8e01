"""Goals and their bounds, contradicted by counting devices, or by an allocation that is better; no solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, islice

from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.checks.plan_fits import is_simple
from dra_lab.checks.plan_options import Part, PlacementOptions, Unknown, Use
from dra_lab.checks.plan_places import goal_values
from dra_lab.findings import Finding
from dra_lab.model.names import DeviceID, part_of
from dra_lab.model.plan import DAMAGE, GoalValue, NodeClass, NodeFit, Placement
from dra_lab.model.sketch import Ask, asks

MOST_DEVICES = 512
"""Devices on a node above which no better allocation is searched on it."""

MOST_CLASSES = 8
"""Classes of identical nodes besides the plan's own on which a better allocation is searched."""

MOST_CORNERS = 12
"""Sets of NUMA nodes, each of which is searched by itself."""

_SPANNED: Mapping[str, tuple[str, Collection[str]]] = {
    "numa": ("numaNode", ("gpu", "nic", "cpu")),
    "roots": ("pcieRoot", ("gpu", "nic")),
}
"""The level that a goal counts, and the kinds of devices for which it does."""

Allowed = Callable[[AuditedPlan], bool]
"""Says whether the devices of a plan keep every rule."""

Judge = Callable[[Mapping[str, int]], str]
"""Says what an allocation with these values of the goals contradicts, "" for nothing."""


def check_bounds(held: AuditedPlan, allowed: Allowed) -> Iterator[Finding]:
    """No goal is below what counting shows, and no bound is above what another allocation has.

    Looked at are the plan's own node and one node of each class of identical nodes. A node that is called worse has no
    allocation that is better than the plan. Claims that hold devices already tie the pod to nodes in ways that are not
    tried here.
    """
    plan = held.plan
    if plan.allocated_claims or not plan.placements:
        return
    if is_simple(held):
        yield from _contradicted(held, plan.goals, allowed)
    for equal in _others(held):
        there = replace(held, plan=replace(plan, node=equal.nodes[0], placements=(), goals=()))
        if not is_simple(there):
            continue
        yield from _contradicted(there, equal.goals, allowed)
        if equal.fit is NodeFit.WORSE:
            worse = tuple(replace(goal, bound=goal.value) for goal in plan.goals)
            yield from _contradicted(there, worse, allowed, counted=False)


def _others(held: AuditedPlan) -> Iterable[NodeClass]:
    """Return the classes of nodes other than the plan's own on which the claim fits."""
    fits, admitted = (NodeFit.BEST, NodeFit.WORSE), held.plan.admitted
    found = (
        equal
        for equal in held.plan.node_classes
        if equal.fit in fits
        and equal.nodes
        and held.plan.node not in equal.nodes
        and (admitted is None or equal.nodes[0] in admitted)
    )
    return islice(found, MOST_CLASSES)


def _contradicted(
    held: AuditedPlan, goals: Sequence[GoalValue], allowed: Allowed, *, counted: bool = True
) -> Iterator[Finding]:
    """Yield what contradicts goals of a node: counting, or the first better allocation that is found."""
    options = PlacedPods(held)
    least = least_values(options)
    for goal in goals if counted else ():
        if goal.value < least.get(goal.goal, 0):
            text = f"the plan says {goal.value} on {held.plan.node}, but counting shows {least[goal.goal]} or more"
            yield broken("goal", goal.goal, text)
    if least and any(goal.goal != DAMAGE and (goal.bound or 0) > least.get(goal.goal, 0) for goal in goals):
        text = better(options, lambda values: against(goals, values), allowed)
        if text:
            yield broken("bound", held.plan.node, text)


def against(goals: Sequence[GoalValue], values: Mapping[str, int]) -> str:
    """Return which bound an allocation contradicts: that of the first goal in which it differs; "" for none.

    `damage` is not known of an allocation, nor, therefore, what the goals after it may be.
    """
    for goal in goals:
        if goal.goal == DAMAGE or goal.goal not in values:
            return ""
        if values[goal.goal] != goal.value:
            if goal.bound is None or values[goal.goal] >= min(goal.bound, goal.value):
                return ""
            return f"{goal.goal} cannot be below {goal.bound}, the plan says; {values[goal.goal]} is possible"
    return ""


# ---------------------------------------------------------------- counting


def least_values(options: PlacementOptions) -> Mapping[str, int]:
    """Return values below which no allocation on a node can be, by goal; nothing is known of goals that are left out.

    Why they hold: the devices of a request that are not shared are distinct. So `count` of them are on at least as many
    PCIe roots (NUMA nodes) as the largest ones need to have `count` matching devices. A device without a known place
    counts as its own place. A GPU is paired with a NIC of its own on its root, so no more are paired than NICs are
    taken, and none beyond the GPUs or the NICs of any root that may be taken. An alternative that has fewer devices
    than it asks for is not used.
    """
    try:
        requests = options.held.plan.sketch.requests
        possible = [[ask for ask in asks(request) if _enough(options, ask)] for request in requests]
    except Unknown:
        return {}
    if not all(possible):
        return {}
    found = {"alternatives": sum(min(ask.rank for ask in own) for own in possible)}
    for goal, (level, kinds) in _SPANNED.items():
        found[goal] = max((min(_fewest(options, ask, level, kinds) for ask in own) for own in possible), default=0)
    return found | {"unpaired": _least_unpaired(options, possible)}


def _enough(options: PlacementOptions, ask: Ask) -> bool:
    able = options.able[ask.reference]
    return len(able) >= ask.count or any(map(options.held.shareable, able))


def _most(options: PlacementOptions, ask: Ask) -> int:
    return len(options.able[ask.reference]) if ask.all_devices else ask.count


def _of_kinds(options: PlacementOptions, ask: Ask, kinds: Collection[str]) -> int:
    """Return how many distinct devices of some kinds an ask takes at least."""
    able, places = options.able[ask.reference], options.held.places
    others = sum(places[device].kind not in kinds for device in able)
    if any(map(options.held.shareable, able)):
        return int(not others)
    return max(0, ask.count - others)


def _fewest(options: PlacementOptions, ask: Ask, level: str, kinds: Collection[str]) -> int:
    """Return the least number of places at which an ask has enough devices: the largest places first."""
    wanted, places = _of_kinds(options, ask, kinds), options.held.places
    found = [places[device].place(level) for device in options.able[ask.reference] if places[device].kind in kinds]
    sizes = sorted(Counter(place.value for place in found if place is not None).values(), reverse=True)
    sizes += [1] * found.count(None)
    number = 0
    while wanted > 0:
        wanted -= sizes[number]
        number += 1
    return number


def _least_unpaired(options: PlacementOptions, possible: Sequence[Sequence[Ask]]) -> int:
    places = options.held.places
    every = {device for own in options.able.values() for device in own}
    taken = {kind: {device for device in every if places[device].kind == kind} for kind in ("gpu", "nic")}
    if not taken["nic"]:
        # whether GPUs of a claim without NICs count as unpaired is decided by the whole cluster
        return 0
    at = {
        kind: Counter(place.value for d in devices if (place := places[d].pcie_root) is not None)
        for kind, devices in taken.items()
    }
    on_roots = sum(min(count, at["nic"][root]) for root, count in at["gpu"].items())
    may = {name for name, own in options.able.items() if not taken["nic"].isdisjoint(own)}
    nics = sum(max(_most(options, ask) if ask.reference in may else 0 for ask in own) for own in possible)
    shared = any(map(options.held.shareable, taken["gpu"])) or any(ask.admin_access for own in possible for ask in own)
    gpus = 0 if shared else sum(min(_of_kinds(options, ask, ("gpu",)) for ask in own) for own in possible)
    return max(0, gpus - min(nics, on_roots))


# ---------------------------------------------------------------- a better allocation


class PlacedPods(PlacementOptions):
    """Choices of devices that keep all must-links, distinct by where devices sit and by what preferred links see."""

    most_steps = 1_500

    def __init__(self, held: AuditedPlan) -> None:
        """Take a plan's cluster, node and drawing; its devices do not matter."""
        super().__init__(held, [link for link in held.plan.sketch.links if link.must], MOST_DEVICES)

    def among(self, devices: Sequence[DeviceID]) -> PlacedPods:
        """Return the choices of some devices only, the first ones first."""
        found = PlacedPods(self.held)
        found.able = {name: tuple(d for d in devices if d in set(own)) for name, own in self.able.items()}
        found.most_steps = 400
        return found

    @cached_property
    def names(self) -> Mapping[DeviceID, Hashable]:
        """Return under which name each device is counted: those that nothing tells apart, nor their place, have one."""
        places, links = self.held.places, [link for link in self.held.plan.sketch.links if not link.must]
        found: dict[DeviceID, Hashable] = {}
        for device, name in super().names.items():
            at = places[device]
            values = tuple(self.held.values(device, link) for link in links)
            alone = not self.held.shareable(device)
            found[device] = (name, at.kind, at.pcie_root, at.numa_node, values) if alone else name
        return found

    def _picked(self, ask: Ask) -> Iterable[tuple[tuple[DeviceID, ...], Use]]:
        # one by one, as a search that ends early needs few of them
        return self._choose(ask)


def better(options: PlacedPods, judge: Judge, allowed: Allowed) -> str:
    """Return what the first allocation contradicts that keeps every rule and that `judge` objects to; "" for none.

    All choices are looked at where they are few; else some of each set of NUMA nodes, roots with most GPUs and NICs
    first.
    """
    for parts in _allocations(options):
        taken = options.held.taking(_placements(parts))
        text = judge(goal_values(taken))
        if text and allowed(taken):
            return text
    return ""


def _allocations(options: PlacedPods) -> Iterator[tuple[Part, ...]]:
    if (yield from _until_unknown(options)):
        return
    try:
        corners = tuple(_corners(options))
    except Unknown:  # there are too many devices to say what each may serve
        return
    for devices in corners:
        yield from _until_unknown(options.among(devices))


def _until_unknown(options: PlacementOptions) -> Generator[tuple[Part, ...], None, bool]:
    """Yield what is found before a search is given up; returns whether that is all there is."""
    try:
        for parts, _ in options.served(options.free):
            yield parts
    except Unknown:
        return False
    return True


def _corners(options: PlacementOptions) -> Iterator[Sequence[DeviceID]]:
    """Yield the devices on one NUMA node, on two, and so on; those on roots with most GPUs and NICs first."""
    places = options.held.places
    able = sorted({device for own in options.able.values() for device in own})
    at: dict[object, Counter[str]] = {}
    for device in able:
        root = places[device].pcie_root
        at.setdefault(None if root is None else root.value, Counter())[places[device].kind] += 1

    def richness(device: DeviceID) -> tuple[int, int, str]:
        root = places[device].pcie_root
        if root is None:
            return 0, 0, ""
        there = at[root.value]
        return -min(there["gpu"], there["nic"]), -there["gpu"], str(root.value)

    ordered = sorted(able, key=richness)
    numa = {d: None if (place := places[d].numa_node) is None else place.value for d in ordered}
    nodes = sorted({value for value in numa.values() if value is not None})
    sets = (frozenset(own) for size in range(1, len(nodes) + 1) for own in combinations(nodes, size))
    for own in islice(sets, MOST_CORNERS):
        yield [d for d in ordered if numa[d] in own or (numa[d] is None and places[d].kind == "other")]
    yield ordered


def _placements(parts: Sequence[Part]) -> tuple[Placement, ...]:
    found: list[Placement] = []
    for ask, devices in parts:
        claim, request = part_of(ask.reference)
        found.extend(Placement(request, device, claim=claim) for device in devices)
    return tuple(found)
