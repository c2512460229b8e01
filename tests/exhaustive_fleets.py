"""The best plan for small fleets found by trying every allocation of every replica on every node: no solver."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from itertools import product

from exhaustive_plans import CPU, FABRIC, GPU, NIC, Exhaustive, random_fleet, random_sketch
from exhaustive_sharing import ExhaustiveSharing, sharing_cluster, sharing_sketch
from msgspec.structs import replace

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, FleetPlan, Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease

MOST = 10_000


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


def a_coupled_fleet(rng: random.Random, *, sharing: bool) -> Cluster:
    """Make a cluster of two or three nodes that share a pool: seen by all of them, or each device by all or one."""
    nodes = rng.randint(2, 3)
    cluster = sharing_cluster(rng, nodes) if sharing else random_fleet(rng, nodes)
    driver = GPU if sharing else rng.choice([GPU, NIC])
    mine = [s for s in cluster.slices if s.spec.driver == driver]
    first = [s for s in mine if s.spec.pool.name == mine[0].spec.pool.name]
    others = [s for s in cluster.slices if s.spec.driver != driver]
    # Local devices beside the shared ones; counters are known by their driver, so that there those are the only ones.
    kept = others if sharing else [*others, *rng.sample(mine, rng.randint(0, len(mine)))]
    each = rng.random() < 0.5
    fabric = [_shared(rng, published, cluster.node_names, each=each) for published in first]
    claims = [c for c in cluster.claims if not sharing or _held(c).driver != driver]
    for device in [d for s in fabric for d in s.spec.devices or ()]:
        if rng.random() < 0.15:
            held = DeviceID(driver, FABRIC, device.name)
            result = DeviceRequestAllocationResult(request="r", **held._asdict())
            allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
            claims.append(
                ResourceClaim(
                    metadata=ObjectMeta(name=f"far-{device.name}", namespace="default"),
                    status=ResourceClaimStatus(allocation=allocation),
                )
            )
    return dataclasses.replace(cluster, slices=(*kept, *fabric), claims=tuple(claims))


def _held(claim: ResourceClaim):
    return claim.status.allocation.devices.results[0]


def _shared(rng: random.Random, published, nodes, *, each: bool):
    spec = replace(published.spec, pool=replace(published.spec.pool, name=FABRIC), node_name=None)
    name = replace(published.metadata, name=f"far-{published.metadata.name}")
    if spec.devices is None or not each:
        return replace(published, metadata=name, spec=replace(spec, all_nodes=True))
    devices = tuple(
        replace(d, all_nodes=True) if rng.random() < 0.5 else replace(d, node_name=rng.choice(nodes))
        for d in spec.devices
    )
    return replace(published, metadata=name, spec=replace(spec, devices=devices, per_device_node_selection=True))


class Held:
    """What pods keep of devices (`alone`, `shares`, `touched`), or what one looks into for a moment (admin access)."""

    def __init__(self, alone=frozenset(), shares=None, touched=frozenset(), paid=None) -> None:
        self.alone, self.shares, self.touched = alone, Counter(shares or {}), touched
        self.paid = Counter(paid or {})

    def plus(self, other: Held) -> Held:
        both = Counter(self.shares)
        both.update(other.shares)
        paid = Counter(self.paid)
        paid.update(other.paid)
        return Held(self.alone | other.alone, both, self.touched | other.touched, paid)

    def take(self, model, ask, device) -> None:
        if shareable(model, device):
            self.touched |= {device}
            for key, amount in used(model, ask, device).items():
                self.shares[device, key] += amount
        else:
            # A device is kept by one pod, and pays each time that somebody takes it.
            self.alone |= {device}
            self.paid[device] += 1

    def far(self) -> Held:
        """Return the part that is of devices which several nodes see."""
        return Held(
            frozenset(d for d in self.alone if d.pool == FABRIC),
            {key: amount for key, amount in self.shares.items() if key[0].pool == FABRIC},
            frozenset(d for d in self.touched if d.pool == FABRIC),
            {d: times for d, times in self.paid.items() if d.pool == FABRIC},
        )

    @property
    def key(self):
        return (self.alone, frozenset(self.shares.items()), self.touched, frozenset(self.paid.items()))


class Way:
    """One allocation for one replica: what it keeps, what it looks into, what it is worth."""

    def __init__(self, model: Exhaustive, picked, order: tuple[str, ...]) -> None:
        goals = model.goals(picked)
        self.value = tuple(goals[goal] for goal in order)
        self.kept, self.seen = Held(), Held()
        for ask, taken in picked:
            for device in taken:
                (self.seen if ask.admin_access else self.kept).take(model, ask, device)
        self.key = (self.kept.key, self.seen.key)


def shareable(model: Exhaustive, device) -> bool:
    return model.shareable(device) if isinstance(model, ExhaustiveSharing) else device.driver == CPU


def used(model: Exhaustive, ask, device):
    if isinstance(model, ExhaustiveSharing):
        return model.uses(ask, device)
    return {"dra.cpu/cpu": int(ask.capacity["dra.cpu/cpu"])}


def holds(model: Exhaustive, held: Held) -> bool:
    """Say whether capacity and counters last for what pods hold at once."""
    for (device, key), amount in held.shares.items():
        left = model.room(device)[key] if isinstance(model, ExhaustiveSharing) else model.left(device)
        if amount > left:
            return False
    if not isinstance(model, ExhaustiveSharing):
        return True
    counters, pools = model.counters, set()
    for device, times in (*held.paid.items(), *((device, 1) for device in held.touched)):
        paid = model.shareable(device) and device in model.cluster.allocated.shares
        if model.published[device].consumes_counters and not paid:
            pools.add(device.driver)
            for _ in range(times):
                counters = model.drawn(counters, device)
    return all(left >= 0 for (driver, _, _), left in counters.items() if driver in pools)


class ExhaustiveNode:
    """The least values of every combination of replicas on one node, for each use of devices that others see."""

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
        self.best: dict = {}
        self._extend([], Held(), [0] * len(workloads), 0, 0, (0,) * len(order))

    def _extend(self, taken, kept, counts, workload, first, value) -> None:
        self.steps += 1
        if self.steps > MOST:
            raise TooLarge
        far, looks = kept.far(), [way.seen.far() for way in taken if way.seen.far().key != Held().key]
        key = (tuple(counts), far.key, frozenset(look.key for look in looks))
        if key not in self.best or value < self.best[key][0]:
            self.best[key] = (value, far, looks)
        for w in range(workload, len(self.workloads)):
            if counts[w] == self.workloads[w].replicas:
                continue
            for at in range(first if w == workload else 0, len(self.ways[w])):
                way = self.ways[w][at]
                if way.kept.alone & kept.alone:
                    continue
                following, pods = kept.plus(way.kept), [*taken, way]
                if self._holds(following, pods):
                    counts[w] += 1
                    summed = tuple(a + b for a, b in zip(value, way.value, strict=True))
                    self._extend(pods, following, counts, w, at, summed)
                    counts[w] -= 1

    def _holds(self, kept, pods) -> bool:
        """Each pod has room for what it looks into beside what all keep, in whichever order they come."""
        return all(holds(self.models[0], kept.plus(way.seen)) for way in pods)


class TooLarge(Exception):
    """There is too much to try."""


def best_fleet(cluster, workloads, order, *, sharing=False, version="1.37", all_placed=False):
    """Return the least values of all goals in `order`, None where no plan places anything (or all, where asked)."""
    device = tuple(goal for goal in order if goal not in (UNPLACED, NODES))
    nodes = [
        ExhaustiveNode(cluster, workloads, node, device, sharing=sharing, version=version)
        for node in cluster.node_names
    ]
    wanted = [w.replicas for w in workloads]
    # Node by node: of equal numbers of replicas and nodes so far only the best values can lead to the best plan.
    reached: dict = {((0,) * len(wanted), 0, Held().key, frozenset()): ((0,) * len(device), Held(), [])}
    for node in nodes:
        following: dict = {}
        if len(reached) * len(node.best) > 10 * MOST:
            raise TooLarge
        for (key, (value, far, looks)), (more, (added, farther, further)) in product(
            reached.items(), node.best.items()
        ):
            counts, used_nodes = key[:2]
            summed = tuple(a + b for a, b in zip(counts, more[0], strict=True))
            if any(have > want for have, want in zip(summed, wanted, strict=True)) or far.alone & farther.alone:
                continue
            both, every = far.plus(farther), [*looks, *further]
            if both.key != Held().key and not all(holds(node.models[0], both.plus(look)) for look in [Held(), *every]):
                continue
            new = (summed, used_nodes + any(more[0]), both.key, frozenset(look.key for look in every))
            total = tuple(a + b for a, b in zip(value, added, strict=True))
            if new not in following or total < following[new][0]:
                following[new] = (total, both, every)
        reached = following
    plans = []
    for (counts, used_nodes, *_), (value, *_) in reached.items():
        values = dict(zip(device, value, strict=True)) | {UNPLACED: sum(wanted) - sum(counts), NODES: used_nodes}
        if any(counts) and not (all_placed and values[UNPLACED]):
            plans.append(tuple(values[goal] for goal in order))
    return min(plans, default=None)


def hold_to(expected: tuple[int, ...] | None, plan: FleetPlan, cluster: Cluster, release: KubernetesRelease, seed: str):
    """Hold a plan to the values that trying everything found (None: no plan), to its proof, and to every rule."""
    found = tuple(goal.value for goal in plan.goals) if plan.replicas else None
    assert found == expected, f"seed {seed}: {found} instead of {expected}"
    assert plan.proven, f"seed {seed}"
    assert (plan.status is PlanStatus.INFEASIBLE) == (expected is None), f"seed {seed}"
    assert check_fleet(cluster, plan, release) == (), f"seed {seed}"
