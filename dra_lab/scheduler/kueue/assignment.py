"""Kueue's topology assignment of the pod sets of one workload over the nodes of a ResourceFlavor.

Kueue counts what nodes can allocate (CPUs, memory, extended resources, pods). It does not count devices of claims. With
the gate KueueDRADeviceFeasibility it leaves out nodes that cannot allocate the devices of one pod.

Source: kubernetes-sigs/kueue v0.19.2, pkg/cache/scheduler/tas_flavor_snapshot.go, tas_topology_tree.go,
tas_nodes_cache.go, scheduling_simulator_default.go. TASNodeFeasibilityForAllLevels and the check of devices are those
of v0.20, tas_topology_tree.go and dynamic_resource_allocation.md. Kueue charges the pods of a domain without nodes to
the domain; here each pod counts on its node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from msgspec import Struct

from dra_lab.model.nodes import Node, NodeSelector, node_matches
from dra_lab.model.pods import Container, Pod
from dra_lab.model.quantity import parse_quantity
from dra_lab.scheduler.kueue.domain_choice import (
    PODS,
    Amounts,
    KueueChoice,
    KueueDomain,
    PodSetRequest,
    choose,
    fill,
    fits,
    tree_of,
)

HOSTNAME = "kubernetes.io/hostname"
_EFFECTS = ("NoSchedule", "NoExecute")
_ENDED = ("Succeeded", "Failed")


class KueuePodSet(Struct, frozen=True):
    """A pod set of a Workload, as far as Kueue's topology choice reads it.

    `requests` are the quantities that one pod requests of a node, by resource name. `required` and `preferred` are the
    keys of the level that all pods must or should share; "" without. `slices` has (key of the level, pods) of each
    layer, the coarse one first. `group` is the group of leader and workers; "" without. `nodes` are the nodes that can
    allocate the devices of one pod; None: Kueue does not check them.

    Source: `PodSet` and `PodSetTopologyRequest` of kueue.x-k8s.io/v1beta2.
    """

    name: str
    count: int
    requests: Mapping[str, str | int | float] = {}
    required: str = ""
    preferred: str = ""
    slices: tuple[tuple[str, int], ...] = ()
    group: str = ""
    node_selector: Mapping[str, str] = {}
    affinity: NodeSelector | None = None
    tolerations: tuple[Mapping[str, object], ...] = ()
    nodes: frozenset[str] | None = None


class KueueAssignment(Struct, frozen=True):
    """Where Kueue puts the pods of a pod set: (path of the lowest domain, number of pods), in order of the paths.

    `message` says in Kueue's words why it is not admitted; "" if it is. `headroom` is how many pods each domain of the
    asked level has room for, before any is assigned.
    """

    pod_set: str
    pods: tuple[tuple[tuple[str, ...], int], ...] = ()
    message: str = ""
    headroom: Mapping[tuple[str, ...], int] = {}


class KueueFlavor(Struct, frozen=True):
    """The nodes of a ResourceFlavor and the Topology above them.

    `levels` are the label keys of the Topology, the outermost first. A node must have `node_labels`. `not_ready` are
    the names of nodes that are not ready. With `node_leaves`, as with TASNodeFeasibilityForAllLevels, nodes are counted
    one by one below the last level.
    """

    levels: tuple[str, ...]
    topology: str = "default"
    node_labels: Mapping[str, str] = {}
    tolerations: tuple[Mapping[str, object], ...] = ()
    not_ready: frozenset[str] = frozenset()
    node_leaves: bool = True


def kueue_assignments(
    flavor: KueueFlavor,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    pod_sets: Sequence[KueuePodSet],
) -> tuple[KueueAssignment, ...]:
    """Return where Kueue puts the pod sets of one workload, up to the first that is not admitted.

    One group of pod sets comes after the other. `pods` on a node take its room.
    """
    headroom = _DomainHeadroom(flavor, nodes, pods)
    groups: dict[str, list[KueuePodSet]] = {}
    for index, pod_set in enumerate(pod_sets):
        groups.setdefault(pod_set.group or str(index), []).append(pod_set)
    found: list[KueueAssignment] = []
    for group in groups.values():
        workers = group[0]
        leader = group[1] if len(group) > 1 else None
        if leader is not None and leader.count > workers.count:
            workers, leader = leader, workers
        results = headroom.assigned(workers, leader)
        found += sorted(results, key=lambda result: [s.name for s in group].index(result.pod_set))
        if any(result.message for result in results):
            break
    return tuple(found)


class _DomainHeadroom:
    """The room of the lowest domains."""

    def __init__(self, flavor: KueueFlavor, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        self.flavor = flavor
        self.hidden = flavor.node_leaves and flavor.levels[-1] != HOSTNAME
        self.of_nodes = self.hidden or flavor.levels[-1] == HOSTNAME
        self.nodes: dict[tuple[str, ...], Node] = {}
        self.free: dict[tuple[str, ...], Counter[str]] = {}
        place: dict[str, tuple[str, ...]] = {}
        for node in nodes:
            labels, closed = node.metadata.labels, node.spec.unschedulable or node.name in flavor.not_ready
            if closed or not {*flavor.levels} <= labels.keys() or not flavor.node_labels.items() <= labels.items():
                continue
            path = (*(labels[key] for key in flavor.levels), *((node.name,) if self.hidden else ()))
            place[node.name] = path
            self.nodes.setdefault(path, node)
            self.free.setdefault(path, Counter()).update(whole_amounts(node.status.allocatable))
        for pod in pods:
            if pod.spec.node_name in place and pod.status.phase not in _ENDED:
                self.free[place[pod.spec.node_name]].subtract(whole_amounts(pod_requests(pod)) | {"pods": 1})

    def assigned(self, workers: KueuePodSet, leader: KueuePodSet | None) -> list[KueueAssignment]:
        """Place one group of pod sets, and take the room that it needs."""
        pod_request, wrong = self._request_of(workers, leader)
        if pod_request is None:
            return [KueueAssignment(workers.name, message=wrong)]
        request = whole_amounts(workers.requests) | {"pods": 1}
        leads = None if leader is None else whole_amounts(leader.requests) | {"pods": 1}
        levels = tree_of(self.free)
        excluded = Counter[str]()
        for place in levels[-1] if levels else ():
            self._count(place, workers, request, leads, excluded)
        for root in levels[0] if levels else ():
            fill(root, pod_request)
        if not levels or not levels[pod_request.level]:
            message = f"no topology domains at level: {self._key(workers)}"
            return [KueueAssignment(workers.name, message=message)]
        headroom = {place.path: place.headroom[PODS] for place in levels[pod_request.level]}
        chosen = choose(levels, pod_request)
        sets = [workers] if leader is None else [workers, leader]
        if chosen.fitted is not None:
            message = self._too_little(levels, pod_request, chosen, excluded)
            return [KueueAssignment(one.name, message=message) for one in sets]
        for path, count in chosen.pods:
            self.free[path].subtract({name: amount * count for name, amount in request.items()})
        found = [KueueAssignment(workers.name, self._shown(chosen.pods), headroom=headroom)]
        if leader is not None and leads is not None:
            for path in chosen.leader:
                self.free[path].subtract(leads)
            found.append(KueueAssignment(leader.name, self._shown(tuple((path, 1) for path in chosen.leader))))
        return found

    def _shown(self, pods: tuple[tuple[tuple[str, ...], int], ...]) -> tuple[tuple[tuple[str, ...], int], ...]:
        """Return the assignment as Kueue writes it: only host names, or the last level that the Topology has."""
        if not self.hidden:
            return tuple((path[-1:] if self.of_nodes else path, count) for path, count in pods)
        found: Counter[tuple[str, ...]] = Counter()
        for path, count in pods:
            found[path[:-1]] += count
        return tuple(sorted(found.items()))

    def _key(self, pod_set: KueuePodSet) -> str:
        if pod_set.slices and not (pod_set.required or pod_set.preferred):
            return self.flavor.levels[0]
        return pod_set.required or pod_set.preferred or self.flavor.levels[-1]

    def _request_of(self, workers: KueuePodSet, leader: KueuePodSet | None) -> tuple[PodSetRequest | None, str]:
        """Return what is asked in numbers of levels, or what is wrong with it."""
        index = {key: number for number, key in enumerate(self.flavor.levels)}
        level = index.get(self._key(workers))
        if level is None:
            return None, f"no requested topology level: {self._key(workers)}"
        layers: list[tuple[int, int]] = []
        for number, (key, size) in enumerate(workers.slices):
            if key not in index:
                what = "additional slice layer" if number else "slices"
                return None, f"no requested topology level for {what}: {key}"
            if not number and size <= 0:
                return None, "slice topology requested, but slice size not provided"
            if not number and index[key] < level:
                return None, f"podset slice topology {key} is above the podset topology {self._key(workers)}"
            if number and index[key] <= layers[-1][0]:
                above = self.flavor.levels[layers[-1][0]]
                return None, f"additional slice layer topology {key} must be at a lower level than {above}"
            if number and layers[-1][1] % size:
                return None, f"additional slice layer size {size} must evenly divide parent layer size {layers[-1][1]}"
            layers.append((index[key], size))
        pod_request = PodSetRequest(
            count=workers.count,
            level=level,
            slices=tuple(layers),
            required=bool(workers.required),
            unconstrained=not (workers.required or workers.preferred),
            leaders=int(leader is not None),
            lowest=len(self.flavor.levels) - 1,
        )
        return pod_request, ""

    def _count(
        self, place: KueueDomain, workers: KueuePodSet, request: Amounts, leads: Amounts | None, excluded: Counter[str]
    ) -> None:
        """Count what fits into a lowest domain; `excluded` counts the nodes that are left out, by reason."""
        node = self.nodes[place.path]
        if self.of_nodes and (reason := _unfit(node, workers, self.flavor.tolerations)):
            excluded[reason] += 1
            return
        free = self.free[place.path]
        place.headroom[PODS], limit = fits(request, free)
        if not place.headroom[PODS] and limit:
            excluded[f'resource "{limit}"'] += 1
        if leads is not None and fits(leads, free)[0]:
            place.leaders = 1
            free = Counter({name: amount - leads.get(name, 0) for name, amount in free.items()})
        place.led[PODS] = fits(request, free)[0]

    def _too_little(
        self,
        levels: Sequence[Sequence[KueueDomain]],
        pod_request: PodSetRequest,
        chosen: KueueChoice,
        excluded: Mapping[str, int],
    ) -> str:
        """Return Kueue's message for a pod set that is not admitted."""
        fitted, wanted = chosen.fitted or (0, 0)
        name = f'topology "{self.flavor.topology}"'
        if len(pod_request.slices) > 1:
            at, count = pod_request.level, pod_request.count
            best = min(levels[at], key=lambda place: (-place.headroom[1], ",".join(place.path)))
            text = f"{name} doesn't allow to fit"
            for level, size in pod_request.slices:
                text += f"; {_slices_below(best, at, level, size)}/{count // size} slice(s) fit on level "
                text += self.flavor.levels[level]
        else:
            unit = "pod" if pod_request.slice_size == 1 else "slice"
            none = f"{name} doesn't allow to fit any of {wanted} {unit}(s)"
            text = f"{name} allows to fit only {fitted} out of {wanted} {unit}(s)" if fitted else none
        if excluded:
            reasons = sorted(f"{reason}: {count}" for reason, count in excluded.items())
            text += f". Total nodes: {len(self.nodes)}; excluded: {', '.join(reasons)}"
        return text


def _slices_below(place: KueueDomain, level: int, target: int, size: int) -> int:
    if level == target:
        return place.headroom[PODS] // size
    return sum(_slices_below(child, level + 1, target, size) for child in place.children)


def _unfit(node: Node, pod_set: KueuePodSet, more: Iterable[Mapping[str, object]]) -> str:
    """Return why Kueue leaves a node out: a taint, the node selector, the affinity or devices; "" if it does not."""
    tolerations = (*pod_set.tolerations, *more)
    for taint in node.spec.taints:
        if taint.get("effect") in _EFFECTS and not any(_tolerated(taint, one) for one in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f'taint "{taint.get("key", "")}{value}:{taint["effect"]}"'
    if any(node.metadata.labels.get(key) != value for key, value in pod_set.node_selector.items()):
        return "nodeSelector"
    if pod_set.affinity is not None and not node_matches(pod_set.affinity, node):
        return "affinity"
    return "" if pod_set.nodes is None or node.name in pod_set.nodes else "draNoFit"


def _tolerated(taint: Mapping[str, object], toleration: Mapping[str, object]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    same = toleration.get("value", "") == (taint.get("value") or "")
    return bool(toleration.get("key")) and toleration.get("operator") in (None, "", "Equal") and same


def pod_requests(pod: Pod) -> dict[str, Fraction]:
    """Return what a pod requests of its node: its containers together, or the most of one init container.

    Amounts of the pod itself (`spec.resources`) replace those of its containers, and `overhead` is added.
    Source: `NewRequestsFromPodSpec` of Kueue, which uses the resource helpers of Kubernetes.
    """
    most, sidecars = dict[str, Fraction](), dict[str, Fraction]()
    for container in pod.spec.init_containers:
        own = _added(sidecars, _sum([container]))
        if container.restart_policy == "Always":
            sidecars = own
        most = _larger(most, own)
    found = _larger(_added(_sum(pod.spec.containers), sidecars), most)
    for part in ("limits", "requests"):
        amounts = pod.spec.resources.get(part)
        found |= _parsed(amounts) if isinstance(amounts, Mapping) else {}
    return _added(found, _parsed(pod.spec.overhead))


def _larger(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: max(one.get(name, Fraction()), other.get(name, Fraction())) for name in {**one, **other}}


def _sum(containers: Iterable[Container]) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for container in containers:
        found = _added(found, _parsed({**container.resources.limits, **container.resources.requests}))
    return found


def _parsed(amounts: Mapping[str, Any]) -> dict[str, Fraction]:
    return {name: parse_quantity(amount) for name, amount in amounts.items()}


def _added(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: one.get(name, Fraction()) + other.get(name, Fraction()) for name in {**one, **other}}


def whole_amounts(amounts: Mapping[str, str | int | float] | Mapping[str, Fraction]) -> dict[str, int]:
    """Return whole numbers as Kueue counts: thousandths of CPUs, units of everything else, rounded up."""
    values = {name: one if isinstance(one, Fraction) else parse_quantity(one) for name, one in amounts.items()}
    return {name: ceil(value * 1000 if name == "cpu" else value) for name, value in values.items()}
