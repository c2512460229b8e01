"""The pods of a snapshot that hold devices, what moves together, and what may not move at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.pods import Pod
from dra_lab.model.running import Movable, PodDisruptionBudget, RunningPod, devices_of

SYSTEM = "kube-system"


@once_per_snapshot
def running_pods(cluster: Cluster) -> tuple[RunningPod, ...]:
    """Return the pods of a cluster that hold devices, in the order of their names."""
    return tuple(sorted(_running(cluster), key=lambda one: one.name))


def _running(cluster: Cluster) -> Iterator[RunningPod]:
    claims: Mapping[tuple[str, str], ResourceClaim] = {
        claim.metadata.key: claim for claim in cluster.claims if claim.status.allocation is not None
    }
    seen: set[tuple[str, str]] = set()
    for pod in cluster.pods:
        if pod.ended or not pod.uses_claims:
            continue
        own = tuple((name, claims[key]) for name, key in _claim_names(pod) if key in claims)
        if own:
            seen.add(pod.metadata.key)
            yield RunningPod(pod, pod.spec.node_name or _node_of(cluster, own), own)
    unread: dict[tuple[str, str], list[tuple[str, ResourceClaim]]] = {}
    for (namespace, name), claim in claims.items():
        for user in claim.status.reserved_for:
            if user.resource in ("pods", "") and (namespace, user.name) not in seen:
                unread.setdefault((namespace, user.name), []).append((name, claim))
    for (namespace, name), held in unread.items():
        stub = Pod(metadata=ObjectMeta(name=name, namespace=namespace))
        yield RunningPod(stub, _node_of(cluster, held), tuple(held), known=False)


def _claim_names(pod: Pod) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the name of each claim in the pod, and namespace and name of its ResourceClaim."""
    namespace = pod.metadata.key[0]
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name or made.get(entry.name)
        if name:
            yield entry.name, (namespace, name)
    extended = pod.status.extended_resource_claim_status
    if extended is not None and extended.resource_claim_name:
        yield "extended-resources", (namespace, extended.resource_claim_name)


def _node_of(cluster: Cluster, claims: Sequence[tuple[str, ResourceClaim]]) -> str:
    """Return the node of a pod from where its claims can be used, "" if several nodes see all devices."""
    for _, claim in claims:
        allocation = claim.status.allocation
        terms = allocation.node_selector.node_selector_terms if allocation and allocation.node_selector else ()
        for term in terms:
            for one in (*term.match_fields, *term.match_expressions):
                if one.key in ("metadata.name", "kubernetes.io/hostname") and len(one.values) == 1:
                    return one.values[0]
    nodes = {
        slice_.spec.node_name
        for _, claim in claims
        for device in devices_of(claim)
        for slice_ in cluster.slices_by_pool.get((device.driver, device.pool), ())
    }
    return (nodes.pop() or "") if len(nodes) == 1 else ""


# ---------------------------------------------------------------- what moves together


@dataclass(frozen=True, eq=False)
class Unit:
    """Pods that move together: one pod, pods that share a claim, or a gang.

    `stays` says what is so about pods that may not move ("without an owner"), "" if they may. `budgets` counts the pods
    of the unit by the PodDisruptionBudget that covers them.
    """

    pods: tuple[RunningPod, ...]
    stays: str = ""
    budgets: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the first pod."""
        return self.pods[0].name

    @property
    def claims(self) -> tuple[ResourceClaim, ...]:
        """Return the claims of all pods, each once."""
        return tuple({claim.metadata.name: claim for pod in self.pods for _, claim in pod.claims}.values())

    @property
    def nodes(self) -> frozenset[str]:
        """Return the nodes of its pods."""
        return frozenset(pod.node for pod in self.pods)

    @property
    def devices(self) -> frozenset[DeviceID]:
        """Return the devices that its pods hold."""
        return frozenset(device for pod in self.pods for device in pod.devices)


def units_of(pods: Iterable[RunningPod]) -> tuple[Unit, ...]:
    """Return the pods that move together, in the order of their names: those that share a claim or a gang."""
    every = tuple(pods)
    first: dict[object, int] = {}
    parent = list(range(len(every)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for number, pod in enumerate(every):
        keys: list[object] = [("claim", c.metadata.namespace, c.metadata.name) for _, c in pod.claims]
        for key in (*keys, *((("group", pod.group),) if pod.group else ())):
            parent[root(number)] = root(first.setdefault(key, number))
    found: dict[int, list[RunningPod]] = {}
    for number, pod in enumerate(every):
        found.setdefault(root(number), []).append(pod)
    return tuple(Unit(tuple(found[number])) for number in sorted(found, key=lambda number: found[number][0].name))


def movable_units(
    pods: Sequence[RunningPod], budgets: Sequence[PodDisruptionBudget], movable: Movable | None, priority: int
) -> tuple[Unit, ...]:
    """Return what moves together among running pods, with the reason where it has to stay.

    `priority` is the highest of the pods that need room.
    """
    wanted = movable or Movable()
    most = priority if wanted.priority is None else wanted.priority
    allowed = {budget.full_name: budget.allowed(sum(map(budget.covers, (p.pod for p in pods)))) for budget in budgets}
    found = []
    for own in (unit.pods for unit in units_of(pods)):
        covering = {pod.name: [budget.full_name for budget in budgets if budget.covers(pod.pod)] for pod in own}
        counted = Counter(name for names in covering.values() for name in names)
        reasons = [why for pod in own if (why := _stays(pod, wanted, most, covering[pod.name]))]
        reasons += [
            f"of which PodDisruptionBudget {name} lets {allowed[name]} go"
            for name, count in counted.items()
            if count > allowed[name]
        ]
        found.append(Unit(own, next(iter(reasons), ""), counted))
    return tuple(found)


def _stays(pod: RunningPod, movable: Movable, most: int, budgets: Collection[str]) -> str:
    """Return what is so about a pod that may not move, "" if it may."""
    metadata, (kind, _) = pod.pod.metadata, pod.owner
    if not pod.known:
        return "of which only the name was read"
    if not kind:
        return "without an owner"
    if kind in ("DaemonSet", "Node"):
        return f"of a {kind}"
    if metadata.namespace == SYSTEM:
        return f"of {SYSTEM}"
    if metadata.deletion_timestamp:
        return "in deletion"
    if movable.namespaces and metadata.key[0] not in movable.namespaces:
        return f"of {metadata.key[0]}"
    if any(metadata.labels.get(key) != value for key, value in movable.labels.items()):
        return f"without {', '.join(f'{key}={value}' for key, value in movable.labels.items())}"
    if pod.priority > most:
        return "of a higher priority"
    if len(budgets) > 1:
        return f"of several PodDisruptionBudgets ({', '.join(sorted(budgets))})"
    return ""
