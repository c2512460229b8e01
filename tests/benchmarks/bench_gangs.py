"""Gangs: 40 gangs of 8 to 64 pods on 5,000 busy nodes in 300 racks of 20 blocks, in ten ways."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.model.node_type import NewDomains, NodeType
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.planner import nodes_to_add
from dra_lab.planner.gangs import plan_gangs
from tests.benchmarks.mixed_cluster import mixed_cluster, workloads
from tests.oracle.referee import check_plan

RELEASE = KubernetesRelease("1.36")
NODES, RACKS, BLOCKS = 5_000, 300, 20

Case = tuple[Sequence[Workload], Sequence[Workload]]
Make = Callable[[str], Case]
"""What makes the gangs and the ordinary pods of a case from the name of the case."""


def fabric(cluster: Cluster, seed: str) -> Hierarchy:
    """Put the nodes into racks of 10 to 23 nodes, and the racks into blocks."""
    chance = random.Random(seed)
    names = list(cluster.node_names)
    chance.shuffle(names)
    sizes = [10] * RACKS
    while sum(sizes) < len(names):
        at = chance.randrange(RACKS)
        sizes[at] += sizes[at] < 23
    racks: list[Domain] = []
    for number, size in enumerate(sizes):
        path = (f"b{number % BLOCKS:02}", f"r{number:03}")
        racks.append(Domain(path, tuple(sorted(names[:size]))))
        del names[:size]
    blocks: dict[str, list[str]] = {}
    for rack in racks:
        blocks.setdefault(rack.path[0], []).extend(rack.nodes)
    outer = [Domain((block,), tuple(nodes)) for block, nodes in sorted(blocks.items())]
    return Hierarchy("fabric", (Level("block"), Level("rack")), (*outer, *sorted(racks, key=lambda one: one.path)))


def shapes(*, must: bool = False) -> list[Workload]:
    """Return pods of 4, 2 and 1 GPUs."""
    return list(workloads((1, 1, 1), must=must))


def pods(shape: Workload, count: int, name: str = "worker") -> PodGroup:
    """Return a number of pods of a shape."""
    return PodGroup(name, shape.claims, count)


def sizes(seed: str) -> list[int]:
    """Return 40 sizes of gangs."""
    chance = random.Random(seed)
    return [chance.choice((8, 12, 16, 24, 32, 48, 64)) for _ in range(40)]


def each_of(shape: int, *, must: bool = False, level: str = "rack", prefer_level: str = "", **more: Any) -> Make:
    """Return what makes gangs of pods of one shape, each in a domain of a level; `more` are fields of their group."""

    def make(seed: str) -> Case:
        groups = [replace(pods(shapes(must=must)[shape], size), **more) for size in sizes(seed)]
        return [
            Workload(f"g{n}", [group], level=level, prefer_level=prefer_level) for n, group in enumerate(groups)
        ], ()

    return make


def three_shapes(seed: str) -> Case:
    """Gangs of pods of three shapes, each in one rack."""
    chance, every = random.Random(seed), shapes()
    small = [min(size, 32) for size in sizes(seed)]
    return [Workload(f"g{n}", [pods(chance.choice(every), size)], level="rack") for n, size in enumerate(small)], ()


def priorities(seed: str) -> Case:
    """Gangs of two priorities and ordinary pods beside them."""
    every = shapes()
    found = [
        Workload(f"g{n}", [pods(every[n % 2], min(32, size))], level="rack", priority=n % 3 and 10)
        for n, size in enumerate(sizes(seed))
    ]
    return found, [Workload("plain", every[2].claims, replicas=500)]


def elastic(seed: str) -> Case:
    """Gangs that start with half of their pods, each in one rack."""
    groups = [replace(pods(shapes()[1], size), minimum=size // 2) for size in sizes(seed)]
    return [Workload(f"g{n}", [group], level="rack") for n, group in enumerate(groups)], ()


def leaders(seed: str) -> Case:
    """Gangs of a leader with 1 GPU and workers with 4, each in one rack."""
    every = shapes()
    found = []
    for number, size in enumerate(sizes(seed)):
        leader = replace(pods(every[2], 1, "leader"), leader=True)
        found.append(Workload(f"g{number}", [leader, pods(every[0], min(16, size))], level="rack"))
    return found, ()


CASES: dict[str, tuple[Make, float]] = {
    "one shape": (each_of(1), 0.4),
    "linked": (each_of(1, must=True), 0.4),
    "three shapes": (three_shapes, 0.4),
    "crowded": (each_of(0), 0.4),
    "blocks": (each_of(0, level="block"), 0.4),
    "preferred racks": (each_of(1, level="block", prefer_level="rack"), 0.4),
    "slices": (each_of(1, level="block", slices=((4, "rack"),)), 0.4),
    "priorities": (priorities, 0.3),
    "elastic": (elastic, 0.5),
    "leaders": (leaders, 0.4),
}


def summary(plan: Plan) -> str:
    """Return the goals with their bounds."""
    goals = [f"{g.goal} {g.value:,}" + ("" if g.proven else f" (>= {g.bound})") for g in plan.goals]
    parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in plan.parts.items())
    return f"{plan.status}: {', '.join(goals)} ({plan.states:,} states; seconds: {parts})"


def instance(name: str) -> tuple[Cluster, Hierarchy, Sequence[Workload], Sequence[Workload]]:
    """Return the cluster, the levels, the gangs and the ordinary pods of an instance."""
    make, busy = CASES[name]
    cluster = mixed_cluster(NODES, busy)
    return cluster, fabric(cluster, name), *make(name)


def measure(name: str, limit: float) -> None:
    """Plan an instance and print what is proven of it."""
    cluster, hierarchy, gangs, plain = instance(name)
    began, cpu = time.perf_counter(), time.process_time()
    plan = plan_gangs(cluster, [*gangs, *plain], hierarchies=[hierarchy], release=RELEASE, time_limit=limit)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"{name}, limit {limit:g} s: {seconds:.1f} s ({cpu:.1f} s of CPU)\n  {summary(plan)}", flush=True)
    assert check_plan(cluster, plan, RELEASE, [hierarchy]) == ()


ADDED = {"places": (2, 18), "no limit": (None, 18)}


def measure_added(name: str, limit: float) -> None:
    """Ask which nodes ten more gangs need, on racks with few places or with any number of them."""
    places, size = ADDED[name]
    cluster = mixed_cluster(NODES, 0.4)
    hierarchy = fabric(cluster, "added")
    gangs = [Workload(f"g{n}", [pods(shapes()[1], 64)], level="rack") for n in range(10)]
    chosen = zip(cluster.node_names, (3.0, 2.5), strict=False)
    types = [NodeType.like(n, cost=cost, places=places, new_domains=NewDomains(nodes=size)) for n, cost in chosen]
    began, cpu = time.perf_counter(), time.process_time()
    found = nodes_to_add(cluster, gangs, types=types, hierarchies=[hierarchy], release=RELEASE, time_limit=limit)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in found.parts.items())
    print(f"nodes to add, {name}, limit {limit:g} s: {seconds:.1f} s ({cpu:.1f} s of CPU)")
    print(
        f"  {found.status}: {found.count} nodes, cost {found.cost:g} (>= {found.bound}; seconds: {parts})", flush=True
    )
    if found.plan is not None:
        assert check_plan(found.cluster, found.plan, RELEASE, found.hierarchies) == ()


def main() -> None:
    """Print the times beside their targets.

    A plan with a bound in 5 s, the gangs proven in 60 s on nine of ten; nodes to add with a bound in 5 s.
    """
    mixed_cluster(5)
    for name in sys.argv[1:] or (*CASES, *ADDED):
        for limit in (5, 60):
            (measure if name in CASES else measure_added)(name, limit)


if __name__ == "__main__":
    main()
