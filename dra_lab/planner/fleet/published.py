"""How many pods counting published devices allows on a node: a bound for nodes that were not examined in time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

from dra_lab.index.node_index import Taken
from dra_lab.index.pools import PoolDevice
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.sketch import Ask
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.node.device_tests import device_use
from dra_lab.planner.node.eligible import is_shareable

Ways = frozenset[int]
"""Ways to ask, by their numbers: class, selectors and capacity."""


class PublishedBounds:
    """Bounds on the pods of a fleet's one workload, node by node; `largest` is the number of its replicas.

    Every request of a pod takes its count of devices that match it. A device that cannot be shared is taken once,
    another until its capacity is used up. Taints, links and shared counters are left out: they only allow fewer pods.
    """

    def __init__(self, fleet: FleetProblem) -> None:
        """Note what a pod needs at least; requests with admin access or for all devices need nothing."""
        self.largest = fleet.demand[0]
        self._rules, self._views = fleet.scan.rules, fleet.scan.views
        numbers: dict[Hashable, int] = {}
        self._asks: list[Ask] = []
        requests: dict[str, list[tuple[Ask, int]]] = {}
        for ask in self._rules.asks[slice(*fleet.pods[0].asks)]:
            key = (ask.device_class_name, ask.selectors, tuple(sorted(ask.capacity.items())))
            if key not in numbers:
                numbers[key] = len(numbers)
                self._asks.append(ask)
            requests.setdefault(ask.request, []).append((ask, numbers[key]))
        self._needs: dict[Ways, int] = {}
        for mine in requests.values():
            if not any(ask.admin_access or ask.all_devices for ask, _ in mine):
                ways = frozenset(number for _, number in mine)
                self._needs[ways] = self._needs.get(ways, 0) + min(ask.count for ask, _ in mine)
        self._answers = [self._views.answers(ask) for ask in self._asks]
        self._rows: dict[tuple[int, ...], tuple[tuple[frozenset[int], int, Ways], ...]] = {}
        self._shareable: dict[tuple[int, ...], frozenset[int]] = {}
        self._times: dict[Hashable, tuple[Taken, int | None]] = {}
        self._drivers: dict[tuple[Ways, str], bool] = {}

    def most(self, nodes: Sequence[str]) -> int:
        """Return how many pods fit on nodes together at most."""
        return sum(map(self.on, nodes))

    def on(self, node: str) -> int:
        """Return how many pods fit on a node at most."""
        view = self._views.nodes.get(node)
        if view is None or any(node not in answers.by_node for answers in self._answers):
            return self._on_unread(node)
        stages = tuple([answers.by_node[node] for answers in self._answers])
        rows = self._rows.get(stages)
        if rows is None:
            rows = self._rows[stages] = tuple(self._rows_of(stages))
        shareable = self._shareable.get(view.kinds)
        if shareable is None:
            every = enumerate(view.devices)
            shareable = frozenset([at for at, item in every if is_shareable(item.device, self._rules)])
            self._shareable[view.kinds] = shareable
        alone, shares = self._views.held_on(node, self._rules.allocated)
        taken = dict(shares)
        found = self.largest
        for matching, need, ways in rows:
            free = matching - alone
            shared = free & shareable
            whole = len(free) - len(shared)
            for at in shared:
                times = self._often(view.devices[at], taken.get(at, ()), ways)
                if times is None:
                    break
                whole += times
            else:
                found = min(found, whole // need)
        return found

    def _on_unread(self, node: str) -> int:
        """Return how many pods fit on a node at most, if selectors have to be evaluated on its devices first.

        That takes longer than to count on a hundred others: every device of a driver that a request may use counts.
        """
        cluster, found = self._rules.cluster, self.largest
        seen = [s.spec for s in (*cluster.slices_by_node.get(node, ()), *cluster.network_slices)]
        for ways, need in self._needs.items():
            devices = [one for spec in seen if self._may_serve(ways, spec.driver) for one in spec.devices or ()]
            if not any(is_shareable(device, self._rules) for device in devices):
                found = min(found, len(devices) // need)
        return found

    def _may_serve(self, ways: Ways, driver: str) -> bool:
        key = ways, driver
        if key not in self._drivers:
            stages = [self._rules.matching.stage_of_all(self._asks[way], driver) for way in ways]
            self._drivers[key] = any(stage in ("", "match") for stage in stages)
        return self._drivers[key]

    def _rows_of(self, stages: Sequence[int]) -> Iterator[tuple[frozenset[int], int, Ways]]:
        """Yield sets of devices, how many of each a pod takes at least, and in which ways, by what matches."""
        match = [
            frozenset(at for at, stage in enumerate(answers.stages[number]) if stage == "match")
            for answers, number in zip(self._answers, stages, strict=True)
        ]
        sets = [
            (frozenset[int]().union(*(match[way] for way in ways)), ways, need) for ways, need in self._needs.items()
        ]
        whole = frozenset[int]().union(*(mine for mine, _, _ in sets))
        for matching in dict.fromkeys((*(mine for mine, _, _ in sets), whole)):
            inside = [(ways, need) for mine, ways, need in sets if mine <= matching]
            if inside:
                yield matching, sum(need for _, need in inside), frozenset[int]().union(*(ways for ways, _ in inside))

    def _often(self, item: PoolDevice, taken: Taken, ways: Ways) -> int | None:
        """Return how often requests can take a shared device in some ways at most, None if nothing ends that."""
        # By its place in memory, with the object itself: equal amounts are one object, and fractions are slow to hash.
        key = (item.kind.number, id(taken), ways)
        if key not in self._times:
            found = [device_use(self._rules.gates, ask, item.device) for ask in self._asks]
            uses = [(way, use) for way, use in enumerate(found) if use is not None]
            left = {name: parse_quantity(capacity.value) for name, capacity in item.device.capacity.items()}
            left |= {name: max(Fraction(), left[name] - amount) for name, amount in taken if name in left}
            each = [
                min((left[name] // amount for name, amount in use.items() if amount > 0), default=None)
                for way, use in uses
                if way in ways
            ]
            # A negative amount, which 1.36 allows, gives capacity back.
            endless = None in each or any(amount < 0 for _, use in uses for amount in use.values())
            self._times[key] = taken, None if endless else int(sum(filter(None, each)))
        return self._times[key][1]
