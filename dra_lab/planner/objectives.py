"""The goals for one claim on one node as linear expressions, each with a bound that needs no solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dra_lab.model.plan import DAMAGE
from dra_lab.planner.places import PlaceValue
from dra_lab.planner.problem import NUMA_KINDS, ROOT_KINDS, DeviceGroup
from dra_lab.planner.variables import Expression, Model, total


@dataclass(frozen=True, slots=True)
class Objective:
    """A goal to be minimised; `floor` is a value that no allocation can undercut."""

    goal: str
    expression: Expression
    floor: int = 0


def objectives(model: Model, order: Sequence[str], *, damage: int = 0) -> tuple[Objective, ...]:
    """Return the goals in order of importance, adding the variables that they need to the model.

    The goal `damage` is about replicas that are not in the model: it stands for the number given, the most it can be.
    """
    return tuple(Objective(goal, damage) if goal == DAMAGE else _GOALS[goal](model) for goal in order)


def _alternatives(model: Model) -> Objective:
    """Goal 2: the sum of the ranks of the alternatives taken, as kube-scheduler scores them."""
    ranked = total(model.problem.asks[ask].rank * chosen for ask, chosen in model.chosen.items())
    floor = sum(
        min((model.problem.asks[i].rank for i in indices if model.possible(i)), default=0)
        for indices in model.problem.requests
    )
    return Objective("alternatives", ranked, floor)


def _preferences(model: Model) -> Objective:
    """Goal 3: what the preferred links lose: 1 for a broken link, for a pairwise link the groups without a place."""
    return Objective("preferences", total(model.broken.values()))


def _numa(model: Model) -> Objective:
    """Goal 4: NUMA nodes with chosen GPUs, NICs or CPUs; a device of unknown locality is a place of its own."""
    return Objective("numa", _spanned(model, NUMA_KINDS, lambda group: group.numa, "numa"), _floor(model, NUMA_KINDS))


def _roots(model: Model) -> Objective:
    """Goal 6: PCIe roots with chosen GPUs or NICs; a device of unknown root is a place of its own."""
    return Objective("roots", _spanned(model, ROOT_KINDS, lambda group: group.root, "root"), _floor(model, ROOT_KINDS))


def _unpaired(model: Model) -> Objective:
    """Goal 5: over the PCIe roots, chosen GPUs beyond the chosen NICs; only where the claim asks for both kinds."""
    if not model.problem.paired:
        return Objective("unpaired", 0)
    at: dict[PlaceValue, dict[str, list[Expression]]] = {}
    alone: list[Expression] = []
    for number, group in enumerate(model.problem.groups):
        if group.kind not in ROOT_KINDS:
            continue
        if group.root is not None:
            at.setdefault(group.root, {}).setdefault(group.kind, []).append(model.taken[number])
        elif group.kind == "gpu":
            alone.append(model.taken[number])
    for root, kinds in at.items():
        gpus, nics = total(kinds.get("gpu", ())), total(kinds.get("nic", ()))
        if not kinds.get("nic"):
            alone.append(gpus)
        elif kinds.get("gpu"):
            without = model.integer("without", f"root {root[1]}", model.problem.most_devices)
            model.require(without >= gpus - nics, "unpaired", str(root[1]))
            alone.append(without)
    return Objective("unpaired", total(alone), max(0, _least(model, ("gpu",)) - _most(model, ("nic",))))


def _spanned(
    model: Model, kinds: tuple[str, ...], place: Callable[[DeviceGroup], PlaceValue | None], prefix: str
) -> Expression:
    used: dict[PlaceValue, Expression] = {}
    unknown: list[Expression] = []
    for number, group in enumerate(model.problem.groups):
        if group.kind not in kinds or not model.takes(number):
            continue
        value = place(group)
        if value is None:
            unknown.append(model.taken[number])
            continue
        if value not in used:
            used[value] = model.integer(prefix, str(value[1]), 1)
        rows = [model.taken[number]] if group.size > 1 else model.takes(number)
        for row in rows:
            model.require(row <= min(group.size, model.problem.most_devices) * used[value], prefix, str(value[1]))
    return total([*used.values(), *unknown])


def _floor(model: Model, kinds: tuple[str, ...]) -> int:
    """Return 1 when some request can be served by no device of another kind, else 0."""
    return int(_least(model, kinds) > 0)


def _least(model: Model, kinds: tuple[str, ...]) -> int:
    """Return how many different devices of some kinds every allocation takes at least."""
    counts = []
    for indices in model.problem.requests:
        needs = []
        for ask in (i for i in indices if model.possible(i)):
            groups = [group for group in model.problem.groups if ask in group.asks]
            only = all(group.kind in kinds for group in groups)
            needs.append(model.problem.need(ask) if only else 0)
        counts.append(min(needs, default=0))
    # Requests may share a shareable device, so only the largest of them is certain then.
    shared = any(group.shareable for group in model.problem.groups if group.kind in kinds)
    return max(counts, default=0) if shared else sum(counts)


def _most(model: Model, kinds: tuple[str, ...]) -> int:
    """Return how many devices of some kinds an allocation takes at most."""
    counts = []
    for indices in model.problem.requests:
        possible = [ask for ask in indices if model.possible(ask)]
        able = [a for a in possible if any(a in g.asks and g.kind in kinds for g in model.problem.groups)]
        counts.append(max((model.problem.need(ask) for ask in able), default=0))
    return sum(counts)


_GOALS: dict[str, Callable[[Model], Objective]] = {
    "alternatives": _alternatives,
    "preferences": _preferences,
    "numa": _numa,
    "unpaired": _unpaired,
    "roots": _roots,
}
