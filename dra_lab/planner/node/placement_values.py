"""Value every goal of any set of placements, the planner's own or kube-scheduler's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from dra_lab.model.device import Device
from dra_lab.model.goals import GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import Placement
from dra_lab.model.sketch import Ask, ClaimSketch, asks, covers
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.device_counts import NumberCounts
from dra_lab.planner.node.goal_table import GOAL_RULES
from dra_lab.planner.node.link_places import place_values, typed
from dra_lab.planner.node.link_rows import lost
from dra_lab.topology.locality import Locality


class Scale(Struct, frozen=True):
    """The claim and the devices by which values are measured.

    `paired` says whether the claim asks for both GPUs and NICs, `lists` whether lists count in links.
    """

    sketch: ClaimSketch
    places: Mapping[DeviceID, Locality]
    devices: Mapping[DeviceID, Device]
    paired: bool
    lists: bool = False


class Asked(NamedTuple):
    """What a drawing asks for: its asks, the number of each, and the asks behind each link."""

    every: tuple[Ask, ...]
    number: Mapping[str, int]
    tied: tuple[frozenset[int], ...]


def asked_of(sketch: ClaimSketch) -> Asked:
    """Return what a drawing asks for."""
    every = tuple(ask for request in sketch.requests for ask in asks(request))
    tied = tuple(
        frozenset(at for at, ask in enumerate(every) if any(covers(reference, ask) for reference in link.requests))
        for link in sketch.links
    )
    return Asked(every, {ask.reference: at for at, ask in enumerate(every)}, tied)


def value_placements(
    scale: Scale, placements: Sequence[Placement], order: Sequence[str], asked: Asked | None = None
) -> tuple[GoalValue, ...]:
    """Return the goals' values of placements in the given order of goals; nothing is proven by it.

    `asked` is what the drawing asks for, if it is known already.

    `damage` is left out: it is about other replicas, not about these devices (`replicas.FurtherReplicas`).
    """
    counts = _counts(scale, placements, asked)
    rules = [(goal, GOAL_RULES[goal]) for goal in order if goal in GOAL_RULES]
    return tuple(
        GoalValue(goal, rule.value(counts), unknown=rule.unknown(counts), of=rule.of(counts)) for goal, rule in rules
    )


def broken_links(scale: Scale, placements: Sequence[Placement]) -> tuple[str, ...]:
    """Return the names of the must-links that placements do not keep, or that tie a device without a value."""
    counts = _counts(scale, placements)
    problem = counts.problem
    broken = []
    for at, link in enumerate(scale.sketch.links):
        tied = [group for group in problem.groups if not set(group.asks).isdisjoint(problem.ends(at))]
        if link.must and (lost(counts, at) or not all(group.places[at] for group in tied)):
            broken.append(link.name)
    return tuple(broken)


def _counts(scale: Scale, placements: Sequence[Placement], asked: Asked | None = None) -> NumberCounts:
    """Return placements as an allocation of a problem in which every device that they take is a group of its own.

    A device that no request could be served with there, but that kube-scheduler took, counts like any other.
    """
    sketch = scale.sketch
    every, number, tied = asked or asked_of(sketch)
    takers: dict[DeviceID, list[int]] = {}
    for placement in placements:
        takers.setdefault(placement.device, []).append(number[placement.request])
    groups = []
    for device, mine in takers.items():
        place = scale.places[device]
        values = tuple(
            # Its attributes are read only where a link asks for them.
            place_values(place, link, scale.devices[device], lists=scale.lists) if ends.intersection(mine) else ()
            for link, ends in zip(sketch.links, tied, strict=True)
        )
        numa = typed(place.numa_node.value if place.numa_node else None)
        root = typed(place.pcie_root.value if place.pcie_root else None)
        several = len(mine) > 1
        groups.append(DeviceGroup((device,), tuple(mine), values, place.kind, numa, root, shareable=several))
    problem = AllocationProblem("", every, (), sketch.links, tuple(groups), paired=scale.paired)
    return NumberCounts(problem, Counter((ask, at) for at, mine in enumerate(takers.values()) for ask in mine))
