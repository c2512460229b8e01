"""Running pods as demand: what the pods of a unit ask for, where they may run, and where they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.model.claims import ResourceClaim, selected
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.placement import PlacedPod, Placement, SharedClaim
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease, release_of_text
from dra_lab.model.running import RunningPod
from dra_lab.model.running_pods import Unit
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.planner.allowed_nodes import allowed_nodes
from dra_lab.planner.fleet.after import reallocated
from dra_lab.planner.node_tests import only_nodes
from dra_lab.planner.pod_claims import exact_sketch

Named = tuple[str, ResourceClaim]
"""A claim with its name in the pod."""


@dataclass(frozen=True, eq=False)
class UnitNeed:
    """What a unit asks for.

    Pods with equal claims of their own are a group, and `shared` are the claims of all pods. `kept` are claims
    that pods elsewhere use too: they stay allocated.
    """

    unit: Unit
    groups: tuple[tuple[tuple[RunningPod, tuple[Named, ...]], ...], ...]
    shared: tuple[Named, ...]
    kept: tuple[ResourceClaim, ...]
    why: str = ""

    @cached_property
    def key(self) -> bytes:
        """Return the same bytes for units that ask for the same, whatever their pods are called."""
        own = [(len(group), [_asked(claim) for claim in group[0][1]]) for group in self.groups]
        return msgspec.json.encode((own, [_asked(claim) for claim in self.shared]))

    def workload(self, replicas: int, selector: str = "") -> Workload:
        """Return units of this shape as a workload, whose devices must all meet a selector."""
        name, shared = self.unit.name, [_sketch(claim, own, selector) for own, claim in self.shared]
        pods = tuple(
            PodGroup(f"pods-{number}", [_sketch(claim, own, selector) for own, claim in group[0][1]], len(group))
            for number, group in enumerate(self.groups, start=1)
        )
        if len(self.unit.pods) == 1:
            return Workload(name, pods[0].claims, replicas=replicas)
        return Workload(name, pods=pods, replicas=replicas, shared_claims=shared)


def _asked(named: Named) -> Any:
    name, claim = named
    return name, msgspec.to_builtins(claim.spec)


def shape_of(unit: Unit, there: Collection[int] = ()) -> UnitNeed:
    """Return what a unit asks for; `there` are the identities of claims that stay, as pods elsewhere use them."""
    users = Counter(id(claim) for pod in unit.pods for _, claim in pod.claims)
    every = {id(claim): (name, claim) for pod in unit.pods for name, claim in pod.claims}
    kept = tuple(claim for number, (_, claim) in every.items() if number in there)
    free = {number: own for number, own in every.items() if number not in there}
    shared = {number: own for number, own in free.items() if users[number] > 1}
    groups: dict[bytes, list[tuple[RunningPod, tuple[Named, ...]]]] = {}
    for pod in unit.pods:
        own = tuple((name, c) for name, c in pod.claims if id(c) in free and id(c) not in shared)
        groups.setdefault(msgspec.json.encode([_asked(claim) for claim in own]), []).append((pod, own))
    why = "all its claims stay where they are, because pods elsewhere use them" if not free else ""
    if any(users[number] < len(unit.pods) for number in shared):
        why = "only some of its pods share a claim, which dra-lab does not plan"
    return UnitNeed(unit, tuple(map(tuple, groups.values())), tuple(shared.values()), kept, why)


def _sketch(claim: ResourceClaim, name: str, selector: str) -> ClaimSketch:
    """Return what a claim demands, from devices that meet a selector as well."""
    drawn = exact_sketch(claim.spec, name)
    if not selector:
        return drawn
    requests = (request.with_parts(lambda _, part: selected(part, selector)) for request in drawn.requests)
    return replace(drawn, requests=tuple(requests))


@dataclass(frozen=True, eq=False)
class AdmittingNodes:
    """The nodes that admit each unit by its selectors, affinity, tolerations and amounts.

    `cluster` is the one that was given, in which the devices of a node also say which sets of nodes it is in. Thus
    `selectors` bind the pods of a unit to its nodes, and pods with different nodes are planned together.
    """

    cluster: Cluster
    shapes: Mapping[Unit, UnitNeed]
    nodes: Mapping[Unit, frozenset[str]]
    selectors: Mapping[frozenset[str], str]


def admission_of(cluster: Cluster, units: Iterable[Unit], release: KubernetesRelease) -> AdmittingNodes:
    """Return where units may run; on a cluster that has no claims of theirs but those which pods elsewhere use."""
    there = {id(claim) for claim in cluster.claims}
    shapes = {unit: shape_of(unit, there) for unit in units}
    nodes = {}
    for unit, shape in shapes.items():
        admitted = cluster.open_nodes
        for pod in unit.pods:
            spec = msgspec.to_builtins(replace(pod.pod.spec, node_name=""))  # the node where it runs is no wish
            admitted &= allowed_nodes(cluster, spec, shape.kept, "", release).names
        nodes[unit] = admitted
    sets = [one for one in dict.fromkeys(nodes.values()) if one != cluster.open_nodes]
    if not sets or cluster.network_slices:
        return AdmittingNodes(cluster, shapes, nodes, {})
    names = {one: f"set{number}" for number, one in enumerate(sets)}
    slices = tuple(_marked(s, [name for one, name in names.items() if s.spec.node_name in one]) for s in cluster.slices)
    selectors = {one: f'device.attributes["{_MARK}"].{name} == true' for one, name in names.items()}
    selectors = {one: f'"{names[one]}" in device.attributes["{_MARK}"] && {text}' for one, text in selectors.items()}
    return AdmittingNodes(cluster.with_objects(slices=slices), shapes, nodes, selectors)


_MARK = "nodes.dra-lab.internal"


def _marked(slice_: ResourceSlice, names: Sequence[str]) -> ResourceSlice:
    """Return a slice whose devices have attributes for the sets of nodes that its node is in."""
    if not names or not slice_.spec.devices:
        return slice_
    more = {f"{_MARK}/{name}": DeviceAttribute(bool_=True) for name in names}
    devices = tuple(replace(device, attributes={**device.attributes, **more}) for device in slice_.spec.devices)
    return replace(slice_, spec=replace(slice_.spec, devices=devices))


@dataclass(frozen=True)
class Demand:
    """Units of the same shape that may run on the same nodes."""

    shapes: tuple[UnitNeed, ...]
    nodes: frozenset[str]
    priority: int
    selector: str = ""

    def is_bound(self, cluster: Cluster) -> bool:
        """Say whether only some nodes admit the pods and no selector says so: devices that several nodes see."""
        return not self.selector and not self.nodes >= cluster.open_nodes

    @cached_property
    def workload(self) -> Workload:
        """Return the workload that has a replica for each unit."""
        return self.shapes[0].workload(len(self.shapes), self.selector)


def demands_of(units: Iterable[Unit], admission: AdmittingNodes) -> tuple[Demand, ...]:
    """Return what units ask for, equal ones together: those of a higher priority first, then those with few nodes."""
    found: dict[tuple[int, frozenset[str], str, bytes], list[UnitNeed]] = {}
    for unit in units:
        shape, nodes = admission.shapes[unit], admission.nodes[unit]
        priority = max(pod.priority for pod in unit.pods)
        found.setdefault((priority, nodes, shape.why, shape.key), []).append(shape)
    demands = [
        Demand(tuple(shapes), nodes, priority, admission.selectors.get(nodes, ""))
        for (priority, nodes, *_), shapes in found.items()
    ]
    return tuple(sorted(demands, key=lambda one: (-one.priority, len(one.nodes), one.shapes[0].unit.name)))


@dataclass
class Placed:
    """Where units go: the pods and shared claims of each that has a place, and why the others have none.

    `cluster` has all of them at their new places.
    """

    cluster: Cluster
    pods: dict[Unit, tuple[PlacedPod, ...]] = field(default_factory=dict)
    shared: dict[Unit, tuple[SharedClaim, ...]] = field(default_factory=dict)
    why: dict[Unit, str] = field(default_factory=dict)


def place_units(cluster: Cluster, demands: Sequence[Demand], release: KubernetesRelease, **common: Any) -> Placed:
    """Return where units go, those of one priority and set of nodes together, in the order of the demands.

    `common` are further arguments of `make_plan`.
    """
    placed = Placed(cluster)
    parts: dict[tuple[int, frozenset[str]], list[Demand]] = {}
    for demand in demands:
        if demand.shapes[0].why:
            placed.why.update({shape.unit: shape.why for shape in demand.shapes})
        else:
            bound = demand.nodes if demand.is_bound(placed.cluster) else placed.cluster.open_nodes
            parts.setdefault((demand.priority, bound), []).append(demand)
    for (_, nodes), mine in parts.items():
        take(placed, plan_on(placed.cluster, nodes, [demand.workload for demand in mine], release, common), mine)
    return placed


def plan_on(
    cluster: Cluster, nodes: frozenset[str], workloads: Sequence[Workload], release: KubernetesRelease, common: Any
) -> Plan:
    """Return the plan of workloads on some nodes."""
    from dra_lab.planner.plan_workloads import plan_workloads

    part = cluster if nodes >= cluster.open_nodes else only_nodes(cluster, sorted(nodes))
    return plan_workloads(part, workloads, release=release, first_fit=False, **common)


def take(placed: Placed, plan: Plan, demands: Sequence[Demand]) -> None:
    """Write down where the units of a plan go, the first units of a demand first."""
    pods: dict[str, dict[int, list[PlacedPod]]] = {}
    shared: dict[str, dict[int, list[SharedClaim]]] = {}
    for pod in plan.pods:
        pods.setdefault(pod.workload, {}).setdefault(pod.replica, []).append(pod)
    for claim in plan.shared:
        shared.setdefault(claim.workload, {}).setdefault(claim.replica, []).append(claim)
    release, claims = release_of_text(plan.release), list[ResourceClaim]()
    for demand in demands:
        name = demand.workload.name
        there = pods.get(name, {})
        for shape, number in zip(demand.shapes, sorted(there), strict=False):
            placed.pods[shape.unit] = tuple(there[number])
            placed.shared[shape.unit] = tuple(shared.get(name, {}).get(number, ()))
            held = {id(c): (c, d) for _, _, own in places_of(shape, placed) for c, d in own}
            claims += [reallocated(placed.cluster, claim, devices, release) for claim, devices in held.values()]
        mine = [one.message for one in plan.shortfalls if name in (one.subject, "") or len(demands) == 1]
        reasons = mine or ["no node has room for it"]
        placed.why.update({shape.unit: sentence_case(reasons[0]) for shape in demand.shapes[len(there) :]})
    placed.cluster = placed.cluster.with_objects(claims=(*placed.cluster.claims, *claims))


def places_of(
    shape: UnitNeed, placed: Placed
) -> Iterator[tuple[RunningPod, PlacedPod, list[tuple[ResourceClaim, tuple[Placement, ...]]]]]:
    """Yield each pod of a unit with its place, and what each of its claims gets there."""
    free = list(placed.pods[shape.unit])
    beside = [one for claim in placed.shared[shape.unit] for one in claim.devices]
    for number, group in enumerate(shape.groups, start=1):
        for pod, own in group:
            at = next(n for n, one in enumerate(free) if one.group in ("", f"pods-{number}"))
            there = free.pop(at)
            mine = [(claim, _devices(there.devices, name, len(own))) for name, claim in own]
            mine += [(claim, _devices(beside, name, len(shape.shared))) for name, claim in shape.shared]
            yield pod, there, mine


def _devices(devices: Iterable[Placement], name: str, claims: int) -> tuple[Placement, ...]:
    """Return the devices of one claim of several; those of a single claim do not name it."""
    return tuple(one for one in devices if claims == 1 or one.claim == name)
