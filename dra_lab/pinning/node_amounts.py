"""CPUs, memory, extended resources and pods that nodes have left, as kube-scheduler's NodeResourcesFit counts it.

Source: kubernetes 1.36.2, pkg/scheduler/framework/plugins/noderesources/fit.go (`fitsRequest`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.scheduler.kueue.assignment import pod_requests, whole_amounts
from dra_lab.scheduler.kueue.domain_choice import fits

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
