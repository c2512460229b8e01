"""Gangs of every shape for the exports: groups, slices, levels, minimum, shared claims, priorities, copies."""

from __future__ import annotations

import random

from small_claims import request

from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import PodGroup, Workload

BLOCK, RACK = "example.com/block", "example.com/rack"
GPUS = ClaimSketch(name="gpus", requests=(request("gpu", "gpu.nvidia.com", 4),))
CHANNEL = ClaimSketch(name="channel", requests=(request("channel", "channel.example.com"),))
CLIQUE = "nvidia.com/gpu.clique"


def tree(name: str = "fabric", keys=(BLOCK, RACK), source: str = "labels", *, same: bool = False) -> Hierarchy:
    """Return two blocks of two racks of two nodes; with `same` the racks of both blocks have the same names."""
    levels = (Level("block", keys[0], source), Level("rack", keys[1], source))
    racks = {(block, rack if same else f"{block}{rack}"): [] for block in ("b0", "b1") for rack in ("r0", "r1")}
    for number, path in enumerate(racks):
        racks[path] = [f"n{2 * number}", f"n{2 * number + 1}"]
    blocks = {
        block: [node for path, nodes in racks.items() for node in nodes if path[0] == block] for block, _ in racks
    }
    domains = [Domain((block,), tuple(nodes)) for block, nodes in blocks.items()]
    return Hierarchy(name, levels, (*domains, *(Domain(path, tuple(nodes)) for path, nodes in racks.items())))


def cliques() -> Hierarchy:
    """Return two NVLink domains with one partition each, as NVIDIA's label names them."""
    levels = (Level("NVLink domain", "", "NVIDIA"), Level("NVLink partition", CLIQUE, "NVIDIA"))
    found = {"u1": ("n0", "n1"), "u2": ("n2", "n3")}
    domains = [Domain((name,), nodes) for name, nodes in found.items()]
    return Hierarchy("NVLink", levels, (*domains, *(Domain((n, f"{n}.0"), nodes) for n, nodes in found.items())))


def group(name: str = "worker", pods: int = 4, least: int | None = None, claims=GPUS, **more) -> PodGroup:
    """Return a group of pods with GPUs."""
    return PodGroup(name, claims, count=pods, minimum=least, **more)


def gang(*groups: PodGroup, name: str = "train", **more) -> Workload:
    """Return a gang; without groups, of four workers."""
    return Workload(name, groups or (group(),), **more)


def random_gang(rng: random.Random) -> Workload:
    """Return a gang of any shape that the model allows."""
    required = rng.choice(["", "block", "rack", "rack", "host"])
    depth = ["", "block", "rack", "host"].index(required)
    finer = ["block", "rack", "host"][max(0, depth - 1) :]
    groups = [_random_group(rng, f"w{at}", finer) for at in range(rng.choice([1, 1, 2, 3]))]
    if rng.random() < 0.3:
        groups = [group("leader", 1, leader=True), *groups[:1]]
    if not sum(one.least for one in groups):
        groups.append(group("rest", 1))
    shared = (CHANNEL,) if rng.random() < 0.25 else ()
    return Workload(
        rng.choice(["train", "Train_1", "a-gang-with-a-name-that-is-long"]),
        groups,
        level=required,
        prefer_level=rng.choice(["", "", *finer]),
        hierarchy="fabric",
        replicas=rng.choice([1, 1, 3]),
        priority=rng.choice([0, 0, 7, -5, 1000]),
        shared_claims=shared,
    )


def _random_group(rng: random.Random, name: str, finer: list[str]) -> PodGroup:
    pods = rng.choice([1, 2, 4, 8])
    least = rng.choice([None, None, rng.randint(0, pods)])
    required = rng.choice(["", "", *finer])
    slices: tuple[tuple[int, str], ...] = ()
    if pods == 8 and rng.random() < 0.7:
        least, required = rng.choice([None, 4]), ""
        slices = ((4, finer[0]), (2, finer[-1]), (1, "host"))[: rng.randint(1, 3)]
    shared = (CHANNEL,) if (least or pods) and least != 0 and rng.random() < 0.1 else ()
    preferred = rng.choice(["", "", "rack"])
    return group(name, pods, least, level=required, prefer_level=preferred, slices=slices, shared_claims=shared)
