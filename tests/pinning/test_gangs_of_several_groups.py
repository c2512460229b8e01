"""A PodGroup of several groups: the verdict is what every order of its pods and every choice of nodes has."""

from __future__ import annotations

import random

import pytest
from gang_replays import replay_pod_group
from small_claims import request
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab import ClaimSketch, KubernetesRelease, Link, PodGroup, Workload
from dra_lab.model.gang_verdicts import GangVerdict
from dra_lab.model.nodes import Node, NodeStatus, ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.pinning.gang_fills import GangFills

R136 = KubernetesRelease("1.36")
ROOTS = ("r1", "r2")
CPU = {"cpu": 10}


def gpus(count: int) -> ClaimSketch:
    """Return a claim of GPUs."""
    return ClaimSketch(name="gpus", requests=(request("gpu", "gpu.nvidia.com", count),))


PAIR = ClaimSketch(
    name="pair",
    requests=(request("gpu", "gpu.nvidia.com"), request("nic", "dranet")),
    links=(Link(name="near", requests=("gpu", "nic")),),
)


def machines(*sizes: tuple[int, int]):
    """Return nodes with GPUs and NICs, on two PCIe roots in turn, and ten CPUs each."""
    slices = []
    for at, (cards, nics) in enumerate(sizes):
        name = f"n{at}"
        slices.append(a_slice("gpu.nvidia.com", *(gpu(i, ROOTS[i % 2]) for i in range(cards)), node=name))
        slices.append(a_slice("dra.net", *(nic(f"nic-{i}", ROOTS[i % 2]) for i in range(nics)), node=name))
    nodes = [
        Node(ObjectMeta(name=f"n{at}"), status=NodeStatus(allocatable={**CPU, "pods": 9})) for at in range(len(sizes))
    ]
    return cluster(*slices, nodes=tuple(nodes))


def two(first: tuple[ClaimSketch, int], second: tuple[ClaimSketch, int], least: int | None = None) -> Workload:
    """Return a gang of two groups."""
    groups = [
        PodGroup(name, claims, count=pods, minimum=least) for name, (claims, pods) in (("a", first), ("b", second))
    ]
    return Workload("g", groups)


@pytest.mark.parametrize(
    ("gang", "sizes", "verdict"),
    [
        (two((gpus(1), 1), (gpus(8), 3)), [(8, 0)] * 4, GangVerdict.YES),
        (two((gpus(1), 1), (gpus(8), 3)), [(8, 0)] * 3, GangVerdict.NO),
        (two((gpus(1), 1), (gpus(4), 3)), [(8, 0)] * 2, GangVerdict.YES),
        (two((gpus(2), 1), (gpus(1), 4)), [(3, 0), (3, 0)], GangVerdict.MAYBE),
    ],
)
def test_a_leader_and_workers_find_a_place_in_every_order_or_not(gang, sizes, verdict):
    """A worker finds none only after every node has a pod that leaves too little for it."""
    assert replay_pod_group(machines(*sizes), gang, None, R136).verdict is verdict


def test_shared_claims_are_not_replayed():
    """The bugs of 1.36 in them are fixed in 1.37."""
    group = PodGroup("a", gpus(1), count=2, shared_claims=(gpus(1),))
    found = replay_pod_group(machines((8, 0)), Workload("g", [group]), None, R136)
    assert (found.verdict, found.sentence) == (GangVerdict.MAYBE, "claims that pods share are not replayed")


def every_end(fills: GangFills, gang: Workload, nodes: list[str], requests: dict | None) -> set[int]:
    """Return the numbers of pods that have a place at the end of any order of the pods with any choice of nodes."""
    sizes = tuple(group.count for group in gang.pods)
    ends: set[int] = set()
    seen: set[object] = set()
    stack = [(sizes, ((),) * len(nodes))]
    while stack:
        left, histories = state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        if not any(left):
            ends.add(sum(map(len, histories)))
            continue
        for number, count in enumerate(left):
            if not count:
                continue
            fewer = (*left[:number], count - 1, *left[number + 1 :])
            able = [at for at, node in enumerate(nodes) if takes(fills, node, histories[at], number, gang, requests)]
            for at in able:
                stack.append((fewer, (*histories[:at], (*histories[at], number), *histories[at + 1 :])))
            if not able:
                stack.append((fewer, histories))
    return ends


def takes(
    fills: GangFills, node: str, pods: tuple[int, ...], number: int, gang: Workload, requests: dict | None
) -> bool:
    """Say whether first fit places one more pod on a node, and its CPUs are enough."""
    if requests:
        names = [gang.pods[one].name for one in (*pods, number)]
        if sum(requests[name]["cpu"] for name in names) > CPU["cpu"]:
            return False
    return fills.simulation.taken(node, tuple(("", one) for one in pods), number).status is FirstFitStatus.ALLOCATED


def random_case(rng: random.Random):
    """Return a small cluster with a gang of two groups, and what its pods request."""
    sizes = [(rng.randint(0, 4), rng.randint(0, 3)) for _ in range(rng.randint(1, 3))]
    claims = [gpus(1), gpus(2), gpus(3), PAIR]
    rows = [(rng.choice(claims), rng.randint(1, 3)) for _ in range(2)]
    gang = two(*rows, least=rng.choice([None, 1]))
    requests = {name: {"cpu": rng.choice([1, 4, 6])} for name in "ab"} if rng.random() < 0.4 else None
    return machines(*sizes), gang, requests


@pytest.mark.long
def test_random_gangs_end_as_every_order_does():
    """No order ends with fewer pods than are certain, none with more than the most, and each verdict occurs."""
    verdicts = set()
    for seed in range(150):
        on, gang, requests = random_case(random.Random(f"several groups {seed}"))
        found = replay_pod_group(on, gang, None, R136, requests=requests)
        fills = GangFills(on, gang.pods, R136, None, requests)
        ends = every_end(fills, gang, on.node_names, requests)
        verdicts.add((found.verdict, min(ends) >= gang.least, max(ends) >= gang.least))
    assert verdicts <= {
        (GangVerdict.YES, True, True),
        (GangVerdict.NO, False, False),
        (GangVerdict.MAYBE, True, True),
        (GangVerdict.MAYBE, False, True),
        (GangVerdict.MAYBE, False, False),
    }
    assert {verdict for verdict, *_ in verdicts} == set(GangVerdict)
