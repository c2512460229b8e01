"""How many pods fit, the largest multiple, and the most of a kind that pods use: found by trying everything."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from brute_force import BruteForce, TooLarge
from brute_force_fleets import ENDLESS, NOTHING, STEPS, Kept, Stock, best_fleet, ways_of
from msgspec.structs import replace
from random_devices import CPU, KINDS

from dra_lab.model.claims import ALL, CapacityRequirements
from dra_lab.model.goals import UNPLACED
from dra_lab.model.sketch import asks
from dra_lab.model.workload import Workload

SO_MANY = 8
"""More pods than these are not counted."""


def most_pods(cluster, sketch, release):
    """Return how many pods of one claim fit over all nodes, at most SO_MANY."""
    wanted = (Workload("more", (sketch,), replicas=SO_MANY),)
    best = best_fleet(cluster, wanted, (UNPLACED,), release)
    return 0 if best is None else SO_MANY - best[0]


def fits_somewhere(cluster, sketch, release):
    """Return whether some node has an allocation for one pod."""
    models = (BruteForce(cluster, sketch, node, release, paired=False, most=ENDLESS) for node in cluster.node_names)
    return any(next(model.allocations(), None) is not None for model in models)


def times(sketch, number):
    """Return a claim whose counts, or the capacity of a request for one device, are multiplied by `number`."""
    return replace(sketch, requests=tuple(_request_times(request, number) for request in sketch.requests))


def _request_times(request, number):
    if request.exactly is not None:
        return replace(request, exactly=_part_times(request.exactly, number))
    return replace(request, first_available=tuple(_part_times(sub, number) for sub in request.first_available))


def _part_times(part, number):
    count = part.count or 1
    if part.allocation_mode == ALL:
        return part
    if part.capacity is not None and part.capacity.requests and count == 1:
        amounts = {key: int(amount) * number for key, amount in part.capacity.requests.items()}
        return replace(part, capacity=CapacityRequirements(requests=amounts))
    return replace(part, count=count * number)


class Packings:
    """Every set of aligned pods on nodes, what they keep of each kind of device, and what is free of it.

    Nodes may share a pool.
    """

    def __init__(self, cluster, sketches, nodes, release) -> None:
        aligned = [replace(one, links=tuple(replace(link, must=True) for link in one.links)) for one in sketches]
        found = [
            [BruteForce(cluster, sketch, node, release, paired=False, most=ENDLESS) for sketch in aligned]
            for node in nodes
        ]
        self.cluster, self.sketches = cluster, sketches
        self.models = [models[0] for models in found]
        self.stock = Stock(self.models)
        # A pod that keeps nothing uses nothing.
        self.ways = [
            way for models in found for model in models for way in ways_of(model, ()) if way.kept.key != NOTHING
        ]
        self.asked = {key for sketch in sketches for ask in _asks(sketch) for key in ask.capacity}
        self.most: Counter[str] = Counter()
        self.steps = 0
        self._extend([], Kept(), 0)

    def _extend(self, pods, kept, first) -> None:
        for kind, amount in self.used(kept).items():
            self.most[kind] = max(self.most[kind], amount)
        for at in range(first, len(self.ways)):
            way = self.ways[at]
            following = kept.plus(way.kept)
            if way.kept.alone & kept.alone or following.key == kept.key:
                continue  # taken, or one more share without an amount, which uses no more
            if self._holds(following, [*pods, way]):
                self._extend([*pods, way], following, at)

    def _holds(self, kept, pods) -> bool:
        """Return whether each pod has room for what it looks into beside what all keep."""
        self.steps += len(self.models)
        if self.steps > STEPS:
            raise TooLarge
        return all(self.stock.lasts_for(kept.plus(pod.seen)) for pod in pods)

    def seen(self, device):
        """Return the view of a node that sees a device."""
        return next(model for model in self.models if device in model.devices)

    def key(self, device) -> str:
        """Return the capacity that CPUs are counted by, "" for a device that is counted as one."""
        model = self.seen(device)
        if not model.shareable(device) or device.driver != CPU:
            return ""
        return min((key for key in model.devices[device].capacity if key in self.asked), default="")

    def used(self, kept):
        """Return what pods keep, kind by kind."""
        found: Counter[str] = Counter()
        for device in kept.alone | kept.touched:
            key = self.key(device)
            found[KINDS[device.driver]] += int(kept.shares[device, key]) if key else 1
        return found

    def available(self, model, device) -> bool:
        """Say whether some request that means a device tolerates all its taints."""
        taints = model.devices[device].taints
        return not taints or any(
            model.match(ask, device) and all(model.tolerates(ask, taint) for taint in taints)
            for sketch in self.sketches
            for ask in _asks(sketch)
        )

    @property
    def free(self):
        """Return what no claim holds, kind by kind; of partitions the most that counters last for at once."""
        found: Counter[str] = Counter()
        seen = {device: model for model in self.models for device in model.devices}
        parts: dict[tuple[str, str], list] = {}
        for device, model in seen.items():
            left = self._left(model, device)
            if model.devices[device].consumes_counters and left:
                parts.setdefault(device[:2], []).append(device)
            else:
                found[KINDS[device.driver]] += left
        for (driver, _), devices in parts.items():
            found[KINDS[driver]] += self._most_partitions(devices)
        return found

    def _most_partitions(self, devices) -> int:
        """Return the most of a pool's partitions that its counters last for, by trying every set; shares have paid."""
        unpaid = [device for device in devices if device not in self.cluster.allocated.shares]
        for size in range(len(unpaid), -1, -1):
            for chosen in combinations(unpaid, size):
                if self.stock.books.last_for(chosen):
                    return len(devices) - len(unpaid) + size
        return len(devices) - len(unpaid)

    def _left(self, model, device) -> int:
        held = self.cluster.allocated
        if device in held.exclusive or not self.available(model, device):
            return 0
        key = self.key(device)
        if key:
            return max(0, model.amounts_left(device)[key])
        return int(device not in held.shares or model.shareable(device))


def _asks(claim):
    return [ask for request in claim.requests for ask in asks(request)]
