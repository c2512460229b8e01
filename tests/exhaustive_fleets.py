"""The best plan for small fleets found by trying every allocation of every replica on every node: no solver."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

from exhaustive_plans import CPU, Exhaustive, random_fleet, random_sketch
from exhaustive_sharing import ExhaustiveSharing, sharing_cluster, sharing_sketch
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, Workload

MOST = 30_000


def random_workloads(rng: random.Random, cluster: Cluster, *, sharing: bool) -> tuple[Workload, ...]:
    """Make one to three kinds of pods with one to four replicas each."""
    drawn = []
    for number in range(rng.choice([1, 1, 2, 2, 3])):
        sketch = sharing_sketch(rng, cluster) if sharing else random_sketch(rng)
        drawn.append(Workload(f"w{number}", (replace(sketch, name="claim"),), rng.randint(1, 4)))
    return tuple(drawn)


def a_fleet(rng: random.Random, *, sharing: bool) -> Cluster:
    """Make a cluster of one to four nodes."""
    nodes = rng.randint(1, 4)
    return sharing_cluster(rng, nodes) if sharing else random_fleet(rng, nodes)


class Way:
    """One allocation for one replica: what it holds alone, what it takes of shared devices, what it is worth."""

    def __init__(self, model: Exhaustive, picked, order: tuple[str, ...]) -> None:
        goals = model.goals(picked)
        self.value = tuple(goals[goal] for goal in order)
        self.alone: frozenset = frozenset(
            device for ask, taken in picked for device in taken if not ask.admin_access and not shareable(model, device)
        )
        self.shares: Counter = Counter()
        for ask, taken in picked:
            for device in taken:
                if shareable(model, device):
                    for key, amount in used(model, ask, device).items():
                        self.shares[device, key] += amount
        self.touched = frozenset(d for _, taken in picked for d in taken if shareable(model, d))
        self.key = (self.alone, frozenset(self.shares.items()), self.touched)


def shareable(model: Exhaustive, device) -> bool:
    return model.shareable(device) if isinstance(model, ExhaustiveSharing) else device.driver == CPU


def used(model: Exhaustive, ask, device):
    if isinstance(model, ExhaustiveSharing):
        return model.uses(ask, device)
    return {"dra.cpu/cpu": int(ask.capacity["dra.cpu/cpu"])}


class ExhaustiveNode:
    """The least values of every combination of replicas on one node."""

    def __init__(self, cluster, workloads, node, order, *, sharing: bool, version: str) -> None:
        make = (lambda s: ExhaustiveSharing(cluster, s, node, version=version)) if sharing else None
        self.models = [make(w.claims[0]) if make else Exhaustive(cluster, w.claims[0], node) for w in workloads]
        self.ways: list[list[Way]] = []
        for model in self.models:
            best: dict = {}
            for picked in model.allocations():
                way = Way(model, picked, order)
                if way.key not in best or way.value < best[way.key].value:
                    best[way.key] = way
            self.ways.append(list(best.values()))
        self.workloads, self.order = workloads, order
        self.steps = 0
        self.best: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._extend([], [0] * len(workloads), 0, 0, (0,) * len(order))

    def _extend(self, taken, counts, workload, first, value) -> None:
        self.steps += 1
        if self.steps > MOST:
            raise TooLarge
        key = tuple(counts)
        if key not in self.best or value < self.best[key]:
            self.best[key] = value
        for w in range(workload, len(self.workloads)):
            if counts[w] == self.workloads[w].replicas:
                continue
            for at in range(first if w == workload else 0, len(self.ways[w])):
                way = self.ways[w][at]
                if not any(way.alone & other.alone for other in taken) and self._holds([*taken, way]):
                    counts[w] += 1
                    summed = tuple(a + b for a, b in zip(value, way.value, strict=True))
                    self._extend([*taken, way], counts, w, at, summed)
                    counts[w] -= 1

    def _holds(self, ways) -> bool:
        model = self.models[0]
        shares: Counter = Counter()
        for way in ways:
            shares.update(way.shares)
        for (device, key), amount in shares.items():
            left = model.room(device)[key] if isinstance(model, ExhaustiveSharing) else model.left(device)
            if amount > left:
                return False
        return not isinstance(model, ExhaustiveSharing) or self._counted(model, ways)

    @staticmethod
    def _counted(model, ways) -> bool:
        counters, pools = model.counters, set()
        devices = {device for way in ways for device in way.alone | way.touched}
        for device in devices:
            paid = model.shareable(device) and device in model.cluster.allocated.shares
            if model.devices[device].consumes_counters and not paid:
                counters = model.drawn(counters, device)
                pools.add(device.driver)
        return all(left >= 0 for (driver, _, _), left in counters.items() if driver in pools)


class TooLarge(Exception):
    """There is too much to try."""


def best_fleet(cluster, workloads, order, *, sharing=False, version="1.37", all_placed=False):
    """Return the least values of all goals in `order`, None where no plan places anything (or all, where asked)."""
    device = tuple(goal for goal in order if goal not in (UNPLACED, NODES))
    nodes = [
        ExhaustiveNode(cluster, workloads, node, device, sharing=sharing, version=version).best
        for node in cluster.node_names
    ]
    wanted = [w.replicas for w in workloads]
    # Node by node: of equal numbers of replicas and nodes so far only the best values can lead to the best plan.
    reached: dict = {((0,) * len(wanted), 0): (0,) * len(device)}
    for best in nodes:
        following: dict = {}
        for ((counts, used_nodes), value), (more, added) in product(reached.items(), best.items()):
            summed = tuple(a + b for a, b in zip(counts, more, strict=True))
            if any(have > want for have, want in zip(summed, wanted, strict=True)):
                continue
            key = (summed, used_nodes + any(more))
            total = tuple(a + b for a, b in zip(value, added, strict=True))
            if key not in following or total < following[key]:
                following[key] = total
        reached = following
    plans = []
    for (counts, used_nodes), value in reached.items():
        values = dict(zip(device, value, strict=True)) | {UNPLACED: sum(wanted) - sum(counts), NODES: used_nodes}
        if any(counts) and not (all_placed and values[UNPLACED]):
            plans.append(tuple(values[goal] for goal in order))
    return min(plans, default=None)
