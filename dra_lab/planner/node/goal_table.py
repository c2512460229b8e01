"""The goals of the devices that are taken: one row a goal, read by models, by counts and by tables of options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from dra_lab.model.goals import DAMAGE
from dra_lab.planner.node.allocation_problem import NUMA_KINDS, ROOT_KINDS, AllocationProblem
from dra_lab.planner.node.device_counts import DeviceCounts, ModelCounts, Number, NumberCounts, PlaceOf
from dra_lab.planner.node.link_places import PlaceValue
from dra_lab.planner.node.link_rows import lost
from dra_lab.planner.node.variables import Expression, Model


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
