"""How many pods of a gang first fit places on a node and in a domain, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import DomainReplay
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import PodGroup
from dra_lab.pinning.pin_budget import MOST_MIXES, PinBudget
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, Hold, SchedulerSimulation
from dra_lab.scheduler.kueue.assignment import pod_requests, whole_amounts
from dra_lab.scheduler.kueue.domain_choice import fits


class GangFills:
    """How many pods of a gang first fit places; nodes that are alike are searched once."""

    def __init__(
        self,
        cluster: Cluster,
        groups: Sequence[PodGroup],
        release: KubernetesRelease,
        budget: PinBudget | None,
        requests: Requests | None = None,
    ) -> None:
        """Take the pods of the groups as they are exported without pins; with `requests` nodes count these as well."""
        self.groups = groups
        pods = [pod_kind(cluster, release, group.name, group.claims) for group in groups]
        self.simulation = SchedulerSimulation(cluster, pods, release, budget=budget)
        self.alone = len(groups) == 1 and not self.simulation.shared
        names = [group.name for group in groups]
        self.amounts = NodeAmounts(cluster, names, requests) if requests else None
        self._known: dict[tuple[object, int, int], tuple[int, int]] = {}
        self._mixed: dict[object, tuple[tuple[int, ...], int]] = {}

    def on_node(self, node: str, number: int, wanted: int) -> tuple[int, int]:
        """Return how many pods of one group a node takes if no other pod comes: for certain, and at most."""
        headroom = None if self.amounts is None else self.amounts.headroom(node, number)
        least, most = self._with_devices(node, number, wanted)
        return (least, most) if headroom is None else (min(least, headroom), min(most, headroom))

    def _with_devices(self, node: str, number: int, wanted: int) -> tuple[int, int]:
        key = (self.simulation.kind_of.get(node), number, wanted)
        if key[0] is None:
            return 0, 0
        if key not in self._known:
            history: History = ()
            taken = self.simulation.taken(node, history, number)
            while taken.status is FirstFitStatus.ALLOCATED and len(history) < wanted:
                history = (*history, self._pod(node, number))
                if len(history) < wanted:
                    taken = self.simulation.taken(node, history, number)
            self._known[key] = (len(history), wanted if taken.unknown else len(history))
        return self._known[key]

    def domain(self, name: str, nodes: Sequence[str], wanted: int) -> DomainReplay:
        """Return what a domain takes of the gang: for certain in any order of its pods and nodes, and at most.

        A pod of a group finds no node only after every node is too full for it.
        """
        sizes = [group.count for group in self.groups]
        alone = [[self.on_node(node, number, size)[1] for node in nodes] for number, size in enumerate(sizes)]
        most = sum(min(size, sum(counts)) for size, counts in zip(sizes, alone, strict=True))
        if self.simulation.shared:
            return DomainReplay(name, 0, most, wanted)
        mixed = [self.mixed(node) for node in nodes]
        full = [sum(fewest[number] for fewest, _ in mixed) for number in range(len(sizes))]
        return DomainReplay(name, min(sum(sizes), *full), min(most, sum(pods for _, pods in mixed)), wanted)

    def mixed(self, node: str) -> tuple[tuple[int, ...], int]:
        """Return for each group the fewest pods on a node with which it takes no more of it, and the most pods there.

        Pods of all groups come in any order; a group that always has room has as many as the gang. The node shares no
        device with others.
        """
        kind = self.simulation.kind_of.get(node)
        if kind is None:
            return (0,) * len(self.groups), 0
        key = kind, () if self.amounts is None else tuple(sorted(self.amounts.free(node).items()))
        if key not in self._mixed:
            self._mixed[key] = self._try_mixes(node)
        return self._mixed[key]

    def _try_mixes(self, node: str) -> tuple[tuple[int, ...], int]:
        """Put pods on a node one after the other in every order; those that leave the same devices are one."""
        sizes = [group.count for group in self.groups]
        fewest, most, tried = [sum(sizes)] * len(sizes), 0, 0
        layer: dict[object, tuple[tuple[int, ...], tuple[Hold, ...]]] = {(): ((), ())}
        while layer:
            following: dict[object, tuple[tuple[int, ...], tuple[Hold, ...]]] = {}
            for pods, holds in layer.values():
                most = max(most, len(pods))
                for number, size in enumerate(sizes):
                    if pods.count(number) == size:
                        continue
                    tried += 1
                    history = tuple(self._pod(node, one) for one in pods)
                    taken = self.simulation.taken(node, history, number)
                    if taken.unknown or tried > MOST_MIXES:
                        return tuple(min(len(pods), one) for one in fewest), sum(sizes)
                    more = (*pods, number)
                    if taken.status is FirstFitStatus.ALLOCATED and (
                        self.amounts is None or self.amounts.takes(node, more)
                    ):
                        kept = (*holds, *taken.holds)
                        following[tuple(sorted(more)), tuple(sorted(map(repr, kept)))] = more, kept
                    else:
                        fewest[number] = min(fewest[number], len(pods))
            layer = following
        return tuple(fewest), most

    def _pod(self, node: str, number: int) -> tuple[str, int]:
        return node if self.simulation.shared else "", number


Requests = Mapping[str, Mapping[str, str | int | float]]
"""What a pod of each group requests of its node, by the name of the workload."""

_ENDED = ("Succeeded", "Failed")


class NodeAmounts:
    """The amounts of nodes beside the requests of some kinds of pods; a node that says nothing is not counted."""

    def __init__(self, cluster: Cluster, groups: Sequence[str], requests: Requests) -> None:
        """Take the requests of the groups by their names."""
        self.requested = [whole_amounts(requests.get(name, {})) | {"pods": 1} for name in groups]
        known = [node for node in cluster.nodes if node.status.allocatable]
        self.allocatable = {node.name: whole_amounts(node.status.allocatable) for node in known}
        self.used: dict[str, Counter[str]] = {node.name: Counter() for node in known}
        for pod in cluster.pods:
            if pod.spec.node_name in self.used and pod.status.phase not in _ENDED:
                self.used[pod.spec.node_name].update(whole_amounts(pod_requests(pod)) | {"pods": 1})

    def headroom(self, node: str, group: int) -> int | None:
        """Return how many pods of a group a node has room for if no other pod comes; None if it says nothing."""
        have = self.allocatable.get(node)
        if have is None:
            return None
        return fits(self.requested[group], self.free(node))[0]

    def free(self, node: str) -> dict[str, int]:
        """Return the amounts of a node that are not in use, {} if it says nothing."""
        return {name: amount - self.used[node][name] for name, amount in self.allocatable.get(node, {}).items()}

    def takes(self, node: str, pods: Sequence[int]) -> bool:
        """Say whether a node has room for pods, each by the number of its group; yes if it says nothing."""
        wanted, free = sum((Counter(self.requested[group]) for group in pods), Counter[str]()), self.free(node)
        return not free or all(amount <= free.get(name, 0) for name, amount in wanted.items())
