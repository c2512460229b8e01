"""How many pods fit, the largest multiple, and the most of a kind that pods use: found by trying everything."""

from __future__ import annotations

from collections import Counter

from exhaustive_fleets import MOST, ExhaustiveNode, Held, TooLarge, best_fleet, holds, shareable
from exhaustive_plans import CPU, KINDS, Exhaustive
from exhaustive_sharing import CORES, ExhaustiveSharing
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


def most_used(cluster, sketches, node, *, sharing, version):
    """Return for each kind what is free on a node, and the most of it that aligned pods use side by side."""
    aligned = [
        Workload(f"w{at}", (replace(sketch, links=tuple(replace(link, must=True) for link in sketch.links)),), MOST)
        for at, sketch in enumerate(sketches)
    ]
    return Packings(cluster, aligned, node, sharing=sharing, version=version)


class Packings:
    """Every set of pods on one node, and what each keeps of every kind of device."""

    def __init__(self, cluster, workloads, node, *, sharing, version) -> None:
        self.workloads = workloads
        self.cluster = cluster
        empty = [replace_replicas(workload) for workload in workloads]
        nodes = ExhaustiveNode(cluster, empty, node, (), sharing=sharing, version=version)
        self.model = nodes.models[0]
        # A pod that keeps nothing uses nothing.
        self.ways = [way for ways in nodes.ways for way in ways if way.kept.key != Held().key]
        self.asked = {key for w in workloads for c in w.claims for ask in _asks(c) for key in ask.capacity}
        self.most: Counter[str] = Counter()
        self.steps = 0
        self._extend([], Held(), 0)

    def _extend(self, pods, kept, first) -> None:
        self.steps += 1
        if self.steps > MOST:
            raise TooLarge
        for kind, amount in self.used(kept).items():
            self.most[kind] = max(self.most[kind], amount)
        for at in range(first, len(self.ways)):
            way = self.ways[at]
            following = kept.plus(way.kept)
            if way.kept.alone & kept.alone:
                continue
            if following.key == kept.key:
                continue  # shares without an amount: one more of them uses no more
            if all(holds(self.model, following.plus(pod.seen)) for pod in [*pods, way]):
                self._extend([*pods, way], following, at)

    def key(self, device) -> str:
        """Return the capacity that CPUs are counted by, "" for a device that is counted as one."""
        if not shareable(self.model, device) or device.driver != CPU:
            return ""
        keys = [key for key in self.model.devices[device].capacity if key in self.asked]
        return keys[0] if keys else ""

    def used(self, kept):
        """Return what pods keep, kind by kind."""
        found: Counter[str] = Counter()
        for device in kept.alone | kept.touched:
            key = self.key(device)
            found[KINDS[device.driver]] += int(kept.shares[device, key]) if key else 1
        return found

    @property
    def free(self):
        """Return what no claim holds, kind by kind."""
        found: Counter[str] = Counter()
        held = self.cluster.allocated
        for device in self.model.devices:
            found[KINDS[device.driver]] += 0
            if device in held.exclusive:
                continue
            key = self.key(device)
            if key:
                room = self.model.room(device)[key] if key in (CORES, "shares") else self.model.left(device)
                found[KINDS[device.driver]] += max(0, int(room))
            elif not (device in held.shares and not shareable(self.model, device)):
                found[KINDS[device.driver]] += 1
        return found


def replace_replicas(workload):
    """Return a workload of which a node is asked for its ways alone."""
    return Workload(workload.name, workload.claims, 0)


def _asks(claim):
    return [ask for request in claim.requests for ask in asks(request)]
