"""Pods that leave drained nodes: planned again before anything else, with what to know of each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.pods import Pod
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running import NO_OWNER, Move, RunningPod
from dra_lab.model.running_pods import Unit, units_of
from dra_lab.planner.allowed_nodes import not_checked
from dra_lab.planner.demand import Demand, Placed, UnitNeed, admission_of, demands_of, place_units, places_of


def settled(
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Cluster:
    """Return the cluster in which pods that left drained nodes run elsewhere; `moves` says where, and which do not.

    Pods of a higher priority go first. A pod without an owner does not come back by itself, so that it gets no place.
    The same cluster if no pod leaves.
    """
    if not cluster.leaving:
        return cluster
    units = units_of(cluster.leaving)
    coming = [unit for unit in units if all(map(comes_back, unit.pods))]
    rest = cluster.with_objects(leaving=())
    admission = admission_of(rest, coming, release)
    demands = demands_of(coming, admission)
    placed = place_units(admission.cluster, demands, release, time_limit=time_limit, cancel=cancel, solver=solver)
    placed.why.update(dict.fromkeys({*units} - {*coming}, NO_OWNER))
    moves = [replace(move, drained=True) for move in moves_of(units, demands, placed, cluster)]
    moves.sort(key=lambda move: (bool(move.node_to), move.pod))
    pods = (*rest.pods, *moved_pods(moves, [pod for unit in units for pod in unit.pods]))
    waiting = tuple(pod for unit in coming if unit not in placed.pods for pod in unit.pods)
    return rest.with_objects(
        claims=placed.cluster.claims, pods=pods, moves=(*cluster.moves, *moves), waiting=(*rest.waiting, *waiting)
    )


def moved_pods(moves: Sequence[Move], pods: Sequence[RunningPod]) -> Iterator[Pod]:
    """Yield the pods that have a new place as pods of their new nodes."""
    there = {move.pod: move.node_to for move in moves if move.node_to}
    for pod in pods:
        if pod.known and pod.name in there:
            yield replace(pod.pod, spec=replace(pod.pod.spec, node_name=there[pod.name]))


def comes_back(pod: RunningPod) -> bool:
    """Say whether something starts the pod again; of a pod that was not read this is not known, and it counts."""
    return bool(pod.owner[0]) or not pod.known


def moves_of(units: Sequence[Unit], demands: Sequence[Demand], placed: Placed, cluster: Cluster) -> Iterator[Move]:
    """Yield where each pod of units goes."""
    shapes: dict[Unit, UnitNeed] = {shape.unit: shape for demand in demands for shape in demand.shapes}
    for number, unit in enumerate(units):
        if unit not in placed.pods:
            for pod in unit.pods:
                why = placed.why.get(unit, "there was no time to look for a place")
                yield Move(
                    pod.name, pod.node, "", pod.devices, (), why, unit=number, notes=notes_of(pod, unit, cluster)
                )
            continue
        for pod, there, claims in places_of(shapes[unit], placed):
            devices = tuple(device for _, own in claims for device in own)
            notes = notes_of(pod, unit, cluster)
            yield Move(pod.name, pod.node, there.node, pod.devices, devices, unit=number, notes=notes)


def notes_of(pod: RunningPod, unit: Unit, cluster: Cluster) -> tuple[str, ...]:
    """Return what to know of a pod before it moves."""
    notes = []
    if not pod.known:
        notes.append("the pod was not read: its owner, selectors and budgets are not known")
    if len(unit.pods) > 1:
        others = ", ".join(one.name for one in unit.pods if one is not pod)
        notes.append(f"it moves together with {others}")
    for budget in (one for one in cluster.budgets if one.covers(pod.pod)):
        more = budget.allowed(1)
        notes += [f"PodDisruptionBudget {budget.full_name} allows {more} more disruption{'' if more == 1 else 's'}"]
    standalone = {one.resource_claim_name for one in pod.pod.spec.resource_claims if one.resource_claim_name}
    kept = sorted(claim.metadata.name for _, claim in pod.claims if claim.metadata.name in standalone)
    if kept:
        notes.append(f"ResourceClaim {', '.join(kept)} stays allocated until no pod is reserved for it")
    notes += [f"not checked: {words}" for words in not_checked(msgspec.to_builtins(pod.pod.spec))]
    return tuple(notes)
