"""Random small gangs with node types: copies of nodes with a few places in racks and in new racks."""

from __future__ import annotations

import random

from random_gangs import random_case

from dra_lab.model.node_type import NewDomains, NodeType
from dra_lab.planner.plan_pod import plan_pod


def random_node_case(rng: random.Random, release):
    """Make a cluster, its hierarchy, one or two gangs, workloads and node types of which most can have the pods."""
    cluster, hierarchy, gangs, workloads = random_case(rng)
    gangs, workloads = gangs[: rng.choice([1, 1, 2])], workloads[: rng.choice([0, 1])]
    places = {node: hierarchy.path_of(node) for node in cluster.node_names}
    types = random_types(rng, cluster.node_names, places)
    claims = [group.claims for gang in gangs for group in gang.pods if group.least]
    like = {one.node for one in types}
    able = [any(plan_pod(cluster, one, release=release, node=node).fits for node in like) for one in claims]
    if not types or (not all(able) and rng.random() < 0.95):
        return random_node_case(rng, release)
    return cluster, hierarchy, gangs, workloads, types


def random_types(rng: random.Random, names, places) -> tuple[NodeType, ...]:
    """Make one or two node types; both share the new racks."""
    racks = sorted({"/".join(path) for path in places.values() if path})
    new = None
    if rng.random() < 0.6:
        new = NewDomains(nodes=rng.randint(1, 3), most=rng.choice([1, 1, 1, 2]), level="rack")
    found = []
    for at, node in enumerate(rng.sample(list(names), min(len(names), rng.choice([1, 1, 2])))):
        chosen = rng.sample(racks, min(len(racks), rng.choice([0, 1, 1, 2])))
        free = {rack: rng.choice([1, 2, 3]) for rack in chosen}
        domains = new if at == 0 or rng.random() < 0.6 else None
        if racks:
            found.append(NodeType.like(node, cost=rng.choice([1, 1, 2, 2.5]), places=free, new_domains=domains))
    return tuple(found)
