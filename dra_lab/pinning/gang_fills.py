"""How many pods of a gang first fit places on a node and in a domain, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import GangGroup
from dra_lab.model.gang_replay import DomainReplay
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.node_amounts import NodeAmounts, Requests
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation


class GangFills:
    """How many pods of a gang first fit places; nodes that are alike are searched once."""

    def __init__(
        self,
        cluster: Cluster,
        groups: Sequence[GangGroup],
        release: KubernetesRelease,
        budget: PinBudget | None,
        requests: Requests | None = None,
    ) -> None:
        """Take the pods of the groups as they are exported without pins; with `requests` nodes count these as well."""
        self.groups = groups
        self.budget = budget or PinBudget()
        pods = [pod_kind(cluster, release, group.workload.name, group.workload.claims) for group in groups]
        self.simulation = SchedulerSimulation(cluster, pods, release, budget=budget)
        self.alone = len(groups) == 1 and not self.simulation.shared
        names = [group.workload.name for group in groups]
        self.amounts = NodeAmounts(cluster, names, requests) if requests else None
        self._known: dict[tuple[object, int, int], tuple[int, int]] = {}

    def on_node(self, node: str, number: int, wanted: int) -> tuple[int, int]:
        """Return how many pods of one group a node takes if no other pod comes: for certain, and at most."""
        room = None if self.amounts is None else self.amounts.room(node, number)
        least, most = self._with_devices(node, number, wanted)
        return (least, most) if room is None else (min(least, room), min(most, room))

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

    def goals_on_node(self, node: str, number: int, count: int) -> list[Mapping[str, int]]:
        """Return the goals' values of the first pods of one group on a node, in their order."""
        pod = self._pod(node, number)
        found = (self.simulation.taken(node, (pod,) * before, number) for before in range(count))
        return [{goal.goal: goal.value for goal in taken.goals} for taken in found]

    def domain(self, name: str, nodes: Sequence[str], wanted: int) -> DomainReplay:
        """Return what a domain takes of the gang: exact for pods that are alike on nodes that share no device."""
        least = most = 0
        for number, group in enumerate(self.groups):
            size = group.workload.replicas
            counts = [self.on_node(node, number, size) for node in nodes]
            least += min(size, sum(count[0] for count in counts))
            most += min(size, sum(count[1] for count in counts))
        return DomainReplay(name, least if self.alone else 0, most, wanted)

    def _pod(self, node: str, number: int) -> tuple[str, int]:
        return node if self.simulation.shared else "", number
