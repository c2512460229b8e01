"""How many pods fit, the largest multiple, and the most of a kind that pods use: found by trying everything."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from exhaustive_fleets import MOST, ExhaustiveNode, Held, TooLarge, best_fleet, holds, shareable
from exhaustive_plans import CPU, KINDS, Exhaustive
from exhaustive_sharing import CORES, SHARES, ExhaustiveSharing
from msgspec.structs import replace

from dra_lab.model.claims import ALL, CapacityRequirements
from dra_lab.model.fleet import UNPLACED, Workload
from dra_lab.model.sketch import asks

SO_MANY = 8
"""More pods than these are not counted."""


def most_pods(cluster, sketch, *, sharing, version):
    """Return how many pods of one claim fit over all nodes, at most SO_MANY."""
    wanted = (Workload("more", (sketch,), SO_MANY),)
    best = best_fleet(cluster, wanted, (UNPLACED,), sharing=sharing, version=version)
    return 0 if best is None else SO_MANY - best[0]


def fits_somewhere(cluster, sketch, *, sharing, version):
    """Say whether some node has an allocation for one pod."""
    for node in cluster.node_names:
        if sharing:
            found = ExhaustiveSharing(cluster, sketch, node, version=version)
        else:
            found = Exhaustive(cluster, sketch, node)
        if next(found.allocations(), None) is not None:
            return True
    return False


def times(sketch, number):
    """Return a claim with every count, or the capacity of a request for one device, so many times."""
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


def most_used(cluster, sketches, nodes, *, sharing, version):
    """Return for each kind what is free on nodes, and the most of it that aligned pods use side by side."""
    aligned = [
        Workload(f"w{at}", (replace(sketch, links=tuple(replace(link, must=True) for link in sketch.links)),), MOST)
        for at, sketch in enumerate(sketches)
    ]
    return Packings(cluster, aligned, nodes, sharing=sharing, version=version)


class Packings:
    """Every set of pods on nodes, and what they keep of every kind of device; nodes may share a pool."""

    def __init__(self, cluster, workloads, nodes, *, sharing, version) -> None:
        self.cluster, self.workloads = cluster, workloads
        empty = [Workload(workload.name, workload.claims, 0) for workload in workloads]
        found = [ExhaustiveNode(cluster, empty, node, (), sharing=sharing, version=version) for node in nodes]
        self.models = [node.models[0] for node in found]
        # A pod that keeps nothing uses nothing.
        self.ways = [
            (at, way)
            for at, node in enumerate(found)
            for ways in node.ways
            for way in ways
            if way.kept.key != Held().key
        ]
        self.asked = {key for w in workloads for c in w.claims for ask in _asks(c) for key in ask.capacity}
        self.most: Counter[str] = Counter()
        self.steps = 0
        self._extend([], Held(), 0)

    def _extend(self, pods, kept, first) -> None:
        for kind, amount in self.used(kept).items():
            self.most[kind] = max(self.most[kind], amount)
        for at in range(first, len(self.ways)):
            way = self.ways[at][1]
            following = kept.plus(way.kept)
            if way.kept.alone & kept.alone or following.key == kept.key:
                continue  # taken, or one more share without an amount, which uses no more
            if self._holds([*pods, self.ways[at]]):
                self._extend([*pods, self.ways[at]], following, at)

    def _holds(self, pods) -> bool:
        """Each pod has room for what it looks into beside what all keep; each node sees its own and what is shared."""
        self.steps += len(self.models)
        if self.steps > MOST:
            raise TooLarge
        for at, model in enumerate(self.models):
            mine = Held()
            for node, pod in pods:
                mine = mine.plus(pod.kept if node == at else pod.kept.far())
            looks = [pod.seen if node == at else pod.seen.far() for node, pod in pods]
            if not all(holds(model, mine.plus(look)) for look in looks):
                return False
        return True

    def seen(self, device):
        """Return the view of a node that sees a device."""
        return next(model for model in self.models if device in model.devices)

    def key(self, device) -> str:
        """Return the capacity that CPUs are counted by, "" for a device that is counted as one."""
        model = self.seen(device)
        if not shareable(model, device) or device.driver != CPU:
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
        """Say whether no taint keeps a device from all claims; those of the random claims tolerate all or none."""
        tainted = any(t.effect in ("NoSchedule", "NoExecute") for t in model.devices[device].taints)
        return not tainted or any(ask.tolerations for w in self.workloads for c in w.claims for ask in _asks(c))

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
            found[KINDS[driver]] += self._fed(seen[devices[0]], devices)
        return found

    def _fed(self, model, devices) -> int:
        """Return the most of a pool's partitions that its counters last for, by trying every set; shares have paid."""
        unpaid = [device for device in devices if device not in self.cluster.allocated.shares]
        for size in range(len(unpaid), -1, -1):
            for chosen in combinations(unpaid, size):
                left = model.counters
                for device in chosen:
                    left = model.drawn(left, device)
                if all(amount >= 0 for (driver, _, _), amount in left.items() if driver == devices[0].driver):
                    return len(devices) - len(unpaid) + size
        return len(devices) - len(unpaid)

    def _left(self, model, device) -> int:
        held = self.cluster.allocated
        if device in held.exclusive or not self.available(model, device):
            return 0
        key = self.key(device)
        if key:
            return max(0, int(model.room(device)[key] if key in (CORES, SHARES) else model.left(device)))
        return int(device not in held.shares or shareable(model, device))


def _asks(claim):
    return [ask for request in claim.requests for ask in asks(request)]
