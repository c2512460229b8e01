"""Random small gangs on random small trees."""

from __future__ import annotations

import dataclasses
import random

from msgspec.structs import replace
from random_clusters import PLAIN, TREES, random_fleet, random_sketch

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Domain, Hierarchy, LeftOut, Level
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.model.workload import PodGroup, Workload


def hierarchy_of(places: dict[str, tuple[str, ...]], name: str = "fabric", levels=("block", "rack")) -> Hierarchy:
    """Return a hierarchy from the path of each node; a node without one is left out."""
    domains = []
    for depth in range(1, len(levels) + 1):
        inside: dict[tuple[str, ...], list[str]] = {}
        for node, path in places.items():
            if path:
                inside.setdefault(path[:depth], []).append(node)
        domains += [Domain(path, tuple(nodes)) for path, nodes in sorted(inside.items())]
    left = tuple(LeftOut(node, "has no label") for node, path in places.items() if not path)
    return Hierarchy(name, tuple(Level(level) for level in levels), tuple(domains), left)


def random_places(rng: random.Random, nodes) -> dict[str, tuple[str, ...]]:
    """Put nodes into racks of blocks; some are in none."""
    found = {}
    for node in nodes:
        block = rng.choice("ab")
        found[node] = (block, rng.choice("rs")) if rng.random() < 0.9 else ()
    return found


def random_case(rng: random.Random):
    """Make a cluster, its hierarchy, gangs and ordinary workloads."""
    has = PLAIN if rng.random() < 0.6 else TREES
    cluster = random_fleet(rng, rng.randint(2, 4) if has is PLAIN else rng.randint(1, 3), has)
    if not cluster.node_names:
        return random_case(rng)
    if rng.random() < 0.3:
        cluster = cordon(cluster, rng.choice(cluster.node_names))
    hierarchy = hierarchy_of(random_places(rng, cluster.node_names))
    sketches = [replace(random_sketch(rng), name="claim") for _ in range(rng.choice([1, 1, 2]))]
    gangs = tuple(random_gang(rng, f"g{at}", sketches) for at in range(rng.choice([1, 1, 2, 2, 3])))
    workloads = ()
    if rng.random() < 0.4:
        workloads = (Workload("plain", (rng.choice(sketches),), replicas=rng.randint(1, 2)),)
    return cluster, hierarchy, gangs, workloads


def cordon(cluster: Cluster, name: str) -> Cluster:
    """Return a cluster in which one node is cordoned."""
    node = Node(metadata=ObjectMeta(name=name), spec=NodeSpec(unschedulable=True))
    return dataclasses.replace(cluster, nodes=(*(one for one in cluster.nodes if one.name != name), node))


def random_gang(rng: random.Random, name: str, sketches) -> Workload:
    """Make a gang of one or two groups."""
    required = rng.choice(["", "block", "rack", "rack", "host"])
    depth = ["", "block", "rack", "host"].index(required)
    groups = tuple(random_group(rng, f"w{at}", sketches, depth) for at in range(rng.choice([1, 1, 2])))
    if not sum(group.least for group in groups):
        return random_gang(rng, name, sketches)
    preferred = rng.choice(["", "", "rack", "block", "host"])
    shared = ()
    if rng.random() < 0.1:
        shared = (replace(rng.choice(sketches), name="shared"),)
    priority = rng.choice([0, 0, 0, 5])
    return Workload(
        name,
        groups,
        level=required,
        prefer_level=preferred,
        hierarchy="",
        replicas=rng.choice([1, 1, 2]),
        priority=priority,
        shared_claims=shared,
    )


def random_group(rng: random.Random, name: str, sketches, depth: int) -> PodGroup:
    """Make a group of one to three pods."""
    most = rng.choice([1, 2, 2, 3])
    least = rng.choice([None, None, rng.randint(1, most), 0])
    finer = ["block", "rack", "host"][max(0, depth - 1) :]
    required = rng.choice(["", "", "", *finer])
    slices: tuple[tuple[int, str], ...] = ()
    if rng.random() < 0.25 and not required:
        most = rng.choice([2, 4])
        least = rng.choice([None, 2])
        slices = ((2, rng.choice(finer)),)
        if rng.random() < 0.3 and slices[0][1] != "host":
            slices = (*slices, (1, "host"))
    preferred = rng.choice(["", "", "", "rack", "host"])
    return PodGroup(
        name, (rng.choice(sketches),), count=most, minimum=least, level=required, prefer_level=preferred, slices=slices
    )


def random_shared_case(rng: random.Random):
    """Make a case in which pods of some groups share claims, and some of these pods have no other ones."""
    cluster, hierarchy, gangs, workloads = random_case(rng)
    claims = [group.claims[0] for gang in gangs for group in gang.pods]

    def sharing(gang: Workload, group: PodGroup) -> PodGroup:
        shares = group.least and rng.random() < 0.6
        group = dataclasses.replace(group, shared_claims=(rng.choice(claims),) * bool(shares))
        if (shares or (gang.shared_claims and group.least)) and rng.random() < 0.4:
            # They take nothing of their own, so all of them are placed with the gang.
            group = dataclasses.replace(group, claims=(), minimum=None)
        return group

    gangs = tuple(dataclasses.replace(gang, pods=tuple(sharing(gang, group) for group in gang.pods)) for gang in gangs)
    return cluster, hierarchy, gangs, workloads
