"""The goals of the devices that are taken: one row a goal, read by models, and the values of any placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from dra_lab.model.device import Device
from dra_lab.model.goals import DAMAGE, GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import Placement
from dra_lab.model.sketch import Ask, ClaimSketch, asks, covers
from dra_lab.planner.node.allocation_problem import (
    NUMA_KINDS,
    ROOT_KINDS,
    AllocationProblem,
    DeviceGroup,
    PlaceValue,
    place_values,
    typed,
)
from dra_lab.planner.node.link_rows import lost
from dra_lab.planner.node.variables import DeviceCounts, Expression, Model, ModelCounts, Number, NumberCounts, PlaceOf
from dra_lab.topology.places import Locality


class Objective(Struct, frozen=True):
    """A goal to be minimised in a model."""

    goal: str
    expression: Expression


class GoalRule(Struct, frozen=True):
    """One goal: `value` counts it in numbers of any sort.

    `unknown` counts the devices taken whose place is not known well enough to say what the goal asks; `of` counts the
    devices that the value is a part of, 0 where it is no part.
    """

    value: Callable[[DeviceCounts], Number]
    unknown: Callable[[NumberCounts], int] = lambda _: 0
    of: Callable[[NumberCounts], int] = lambda _: 0


def objectives(model: Model, order: Sequence[str], *, damage: int = 0) -> tuple[Objective, ...]:
    """Return the goals in order of importance, adding the variables that they need to the model.

    The goal `damage` is about replicas that are not in the model: it stands for the number given, the most it can be.
    """
    counts = ModelCounts(model)
    return tuple(Objective(goal, damage if goal == DAMAGE else GOAL_RULES[goal].value(counts)) for goal in order)


def goal_values(
    problem: AllocationProblem, taken: Mapping[tuple[int, int], int], links: Iterable[int] | None = None
) -> dict[str, int]:
    """Return the goals of an allocation, all but `damage`; of some links where `links` says so.

    Only what is taken counts: a solver that was ended early leaves its helper variables where they were. That
    must-links are kept is not looked at.
    """
    counts = NumberCounts(problem, taken, links)
    return {goal: rule.value(counts) for goal, rule in GOAL_RULES.items()}


def _unpaired(counts: DeviceCounts) -> Number:
    """Return the chosen GPUs beyond the chosen NICs of all PCIe roots; 0 if the claim does not ask for both kinds."""
    if not counts.problem.paired:
        return 0
    groups = counts.problem.groups
    at: dict[PlaceValue, dict[str, list[int]]] = {}
    alone: list[Number] = []
    for number in counts.groups(ROOT_KINDS):
        group = groups[number]
        if group.root is not None:
            at.setdefault(group.root, {"gpu": [], "nic": []})[group.kind].append(number)
        elif group.kind == "gpu":
            alone.append(counts.devices([number]))
    beyond = (counts.beyond(here["gpu"], here["nic"]) for here in at.values() if here["gpu"])
    return counts.total([*alone, *beyond])


def _gpus(counts: NumberCounts) -> int:
    """Return the chosen GPUs that could be paired; 0 where the claim does not ask for both kinds."""
    if not counts.problem.paired:
        return 0
    return int(counts.devices([at for at in counts.groups(ROOT_KINDS) if counts.problem.groups[at].kind == "gpu"]))


def _unknown(kinds: Sequence[str], place: PlaceOf) -> Callable[[NumberCounts], int]:
    def count(counts: NumberCounts) -> int:
        found = [number for number in counts.groups(kinds) if place(counts.problem.groups[number]) is None]
        return int(counts.devices(found))

    return count


def _placeless(counts: NumberCounts) -> int:
    """Return the devices that preferred links tie and whose place has, as far as it is known, no value for them."""
    problem = counts.problem
    tied = ((link, group) for link in counts.preferred for ask, group in counts.taken if ask in problem.ends(link))
    return int(counts.devices(sorted({group for link, group in tied if not problem.groups[group].places[link]})))


NUMA: PlaceOf = attrgetter("numa")
ROOT: PlaceOf = attrgetter("root")

GOAL_RULES: Mapping[str, GoalRule] = {
    # the sum of the ranks of the alternatives taken, as kube-scheduler scores them
    "alternatives": GoalRule(lambda c: c.total(c.problem.asks[ask].rank * c.served(ask) for ask in c.asks)),
    # 1 for a broken link, for a pairwise link the groups without a place
    "preferences": GoalRule(lambda c: c.total(lost(c, link) for link in c.preferred), unknown=_placeless),
    "numa": GoalRule(lambda c: c.spanned(c.groups(NUMA_KINDS), NUMA), _unknown(NUMA_KINDS, NUMA)),
    "unpaired": GoalRule(_unpaired, _unknown(ROOT_KINDS, ROOT), _gpus),
    "roots": GoalRule(lambda c: c.spanned(c.groups(ROOT_KINDS), ROOT), _unknown(ROOT_KINDS, ROOT)),
}
"""The goals of the devices that are taken, by name; `model/goals.py` has their words and their order."""


class Scale(Struct, frozen=True):
    """The claim and the devices by which values are measured.

    `paired` says whether the claim asks for both GPUs and NICs, `lists` whether lists count in links.
    """

    sketch: ClaimSketch
    places: Mapping[DeviceID, Locality]
    devices: Mapping[DeviceID, Device]
    paired: bool
    lists: bool = False


class DrawnAsks(NamedTuple):
    """What a drawing asks for: its asks, the number of each, and the asks behind each link."""

    every: tuple[Ask, ...]
    number: Mapping[str, int]
    tied: tuple[frozenset[int], ...]


def asked_of(sketch: ClaimSketch) -> DrawnAsks:
    """Return what a drawing asks for."""
    every = tuple(ask for request in sketch.requests for ask in asks(request))
    tied = tuple(
        frozenset(at for at, ask in enumerate(every) if any(covers(reference, ask) for reference in link.requests))
        for link in sketch.links
    )
    return DrawnAsks(every, {ask.reference: at for at, ask in enumerate(every)}, tied)


def value_placements(
    scale: Scale, placements: Sequence[Placement], order: Sequence[str], asked: DrawnAsks | None = None
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


def _counts(scale: Scale, placements: Sequence[Placement], asked: DrawnAsks | None = None) -> NumberCounts:
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
