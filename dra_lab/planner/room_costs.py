"""What room costs on a node: the fewest running pods that leave it so that some more pods fit there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import inf

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import Bounded
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running_pods import Unit
from dra_lab.model.what_if import part_of_cluster
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.eligible import Rules, eligibility, is_shareable, rules_of
from dra_lab.planner.pod_claims import expand_pod, read_claims

Removal = tuple[Unit, ...]

_SORTED = 10
"""With more units on a node, sets of one size are not sorted by their pods and devices."""


@dataclass
class NodeCosts:
    """The least pods that must leave one node for 0, 1, 2, ... more pods of a kind; a bound until it is exact.

    `bounds` are by number of new pods; `exact` has the units that leave where the number is known exactly.
    """

    node: str
    units: tuple[Unit, ...]
    bounds: list[int]
    exact: dict[int, Removal] = field(default_factory=dict)


def pods_in(units: Sequence[Unit]) -> int:
    """Return the pods of units."""
    return sum(len(unit.pods) for unit in units)


class RoomCosts:
    """What room for pods of one kind costs on each node of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        workload: Workload,
        units: Sequence[Unit],
        release: KubernetesRelease,
        budget: Budget,
        solver: str,
        most: int,
    ) -> None:
        """Count on every node; `workload` has the claims of one pod, `most` is how many are wanted."""
        self.cluster, self.workload, self.release = cluster, workload, release
        self._budget, self._solver, self._most = budget, solver, most
        on_node: dict[str, list[Unit]] = {}
        for unit in units:
            for node in unit.nodes:
                on_node.setdefault(node, []).append(unit)
        self.nodes = {
            name: self._counted(name, tuple(on_node.get(name, ())))
            for name in cluster.node_names
            if name not in cluster.cordoned and not budget.reached
        }

    @cached_property
    def _rules(self) -> Rules:
        """Return the rules of the claims of one pod as if nothing were in use."""
        pod = expand_pod(read_claims(self.workload), self.cluster, self.release)
        return replace(rules_of(self.cluster, pod.sketch, self.release), idle=True)

    def _counted(self, node: str, units: tuple[Unit, ...]) -> NodeCosts:
        """Return bounds by counting the devices of each request that units would free."""
        held = {unit: unit.devices for unit in units}
        movable = frozenset(device for devices in held.values() for device in devices)
        busy = self.cluster.allocated.exclusive
        bounds = [0]
        rows = list(self._devices(node))
        for number in range(1, self._most + 1):
            least = 0
            for devices, need, countable in rows:
                if not countable:
                    continue  # what is free of a shared device is no number
                free = sum(1 for device in devices if device not in busy)
                gains = sorted((len(devices & own) for own in held.values()), reverse=True)
                if free + len(devices & movable) < need * number:
                    return NodeCosts(node, units, bounds)
                missing, taken = need * number - free, 0
                while missing > 0:
                    missing -= gains[taken]
                    taken += 1
                least = max(least, taken)
            bounds.append(max(least, bounds[-1]))
        return NodeCosts(node, units, bounds)

    def _devices(self, node: str) -> Iterator[tuple[frozenset[DeviceID], int, bool]]:
        """Yield for each kind of request the devices of an idle node, how many a pod needs, and whether they count.

        Devices that several pods can share, and partitions, are not counted: what is free of them is no number.
        """
        found = eligibility(self._rules, node)
        needs: dict[frozenset[DeviceID], int] = {}
        counted: dict[frozenset[DeviceID], bool] = {}
        asked: dict[str, int] = {}
        for part in found.asks:
            asked[part.ask.request] = asked.get(part.ask.request, 0) + 1
        for part in found.asks:
            if asked[part.ask.request] > 1 or part.ask.all_devices or part.ask.admin_access:
                continue
            devices = frozenset(part.devices)
            needs[devices] = needs.get(devices, 0) + part.ask.count
            counted[devices] = not any(
                is_shareable(found.seen[device], self._rules) or found.seen[device].consumes_counters
                for device in devices
            )
        for devices, need in needs.items():
            yield devices, need, counted[devices]

    def decide(self, node: NodeCosts, number: int) -> bool:
        """Find the fewest pods that leave a node for a number of new ones, or raise its bound; False without time."""
        for removal in _subsets(node.units, node.node, node.bounds[number]):
            cost = pods_on(node.node, removal)
            found = None if self._budget.reached else self._count(node.node, removal)
            node.bounds[number] = max(node.bounds[number], cost)
            if found is None or found.value is None or found.bound is None or found.value < number <= found.bound:
                return False
            if found.value >= number:
                node.exact[number] = removal
                return True
        del node.bounds[number:]  # that many never fit here
        return True

    def _count(self, node: str, removal: Removal) -> Bounded:
        """Return how many pods fit on a node once some units left."""
        from dra_lab.planner.fleet.headroom import headroom_of_claim

        part = without_units(part_of_cluster(self.cluster, node), removal)
        alone = part.with_objects(
            slices=tuple(s for s in part.slices if s.spec.node_name in (None, "", node)),
            nodes=tuple(one for one in part.nodes if one.name == node),
        )
        return headroom_of_claim(alone, self.workload, self.release, self._budget, self._solver).count

    def cheapest(self, nodes: Sequence[str], wanted: int, *, known: bool = False) -> tuple[float, dict[str, int]]:
        """Return the least bound for some pods on nodes in all, and how many go on each; no way is infinite.

        With `known` only numbers of pods count for which the units that leave are known, and as many pods as possible.
        """
        best: list[float] = [0.0] + [inf] * wanted
        steps: list[tuple[str, list[int]]] = []
        for name in nodes:
            bounds = self.nodes[name].bounds if name in self.nodes else ()
            if len(bounds) < 2:
                continue
            taken = [0] * (wanted + 1)
            for total in range(wanted, 0, -1):
                for number in range(1, min(total, len(bounds) - 1) + 1):
                    if known and number not in self.nodes[name].exact:
                        continue
                    if best[total - number] + bounds[number] < best[total]:
                        best[total], taken[total] = best[total - number] + bounds[number], number
            steps.append((name, taken))
        most = max(total for total, cost in enumerate(best) if cost < inf)
        numbers, total = {}, wanted if most == wanted else most if known else 0
        for name, taken in reversed(steps):
            if taken[total]:
                numbers[name], total = taken[total], total - taken[total]
        return best[wanted], numbers

    def cheapest_exact(self, nodes: Sequence[str], wanted: int) -> tuple[float, Removal | None]:
        """Return the least pods that leave for some pods on nodes, and units; if time is over a bound beside units."""
        while True:
            cost, numbers = self.cheapest(nodes, wanted)
            if cost == inf:
                return inf, None
            chosen = [(self.nodes[name], number) for name, number in numbers.items()]
            open_ = [(node, number) for node, number in chosen if number not in node.exact]
            if not open_:
                return cost, self._removal(numbers)
            if not all(self.decide(node, number) for node, number in open_):
                _, numbers = self.cheapest(nodes, wanted, known=True)
                return cost, self._removal(numbers)

    def _removal(self, numbers: Mapping[str, int]) -> Removal | None:
        """Return the units that leave for some pods on each node, None if no pod goes anywhere."""
        units = dict.fromkeys(unit for name, number in numbers.items() for unit in self.nodes[name].exact[number])
        return tuple(units) if numbers else None


def pods_on(node: str, units: Sequence[Unit]) -> int:
    """Return the pods of units on a node: the others of a unit count where they run."""
    return sum(pod.node == node for unit in units for pod in unit.pods)


def _subsets(units: Sequence[Unit], node: str, least: int) -> Iterator[Removal]:
    """Yield sets of units, those with few pods on the node first, then those with few devices."""

    def cost(removal: Removal) -> tuple[int, int]:
        return pods_on(node, removal), sum(len(unit.devices) for unit in removal)

    if len(units) <= _SORTED:
        every = (one for size in range(len(units) + 1) for one in combinations(units, size))
        yield from sorted((one for one in every if pods_on(node, one) >= least), key=cost)
        return
    ordered = sorted(units, key=lambda unit: cost((unit,)))
    for size in range(least and 1, len(units) + 1):
        yield from (one for one in combinations(ordered, size) if pods_on(node, one) >= least)


def without_units(cluster: Cluster, units: Sequence[Unit]) -> Cluster:
    """Return the cluster in which units hold nothing."""
    names = {(claim.metadata.namespace, claim.metadata.name) for unit in units for claim in unit.claims}
    if not names:
        return cluster
    return cluster.with_objects(
        claims=tuple(c for c in cluster.claims if (c.metadata.namespace, c.metadata.name) not in names)
    )
