"""Schedulers beside a plan of gangs: how many start, and how much worse their devices are."""

from __future__ import annotations

from itertools import product

import pytest
from small_claims import request
from small_nodes import a_slice, cluster, gpu

from dra_lab import plan_gangs
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang, GangGroup
from dra_lab.model.gang_replay import GangVerdict
from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.model.nodes import Node, NodeStatus, ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.gang_choices import gang_choices

R136 = KubernetesRelease("1.36")
GPU, RACK, HOST = "gpu.nvidia.com", "example.com/rack", "kubernetes.io/hostname"
TWO = ClaimSketch(name="two", requests=(request("gpu", GPU, 2),))


def racks(sizes: dict[str, list[list[str]]], pods: int = 110) -> tuple[Cluster, Hierarchy]:
    """Return a cluster whose racks have nodes, each with a GPU on each of some PCIe roots, and its hierarchy."""
    names = {rack: [f"{rack}-n{number}" for number in range(len(nodes))] for rack, nodes in sizes.items()}
    slices = [
        a_slice(GPU, *(gpu(index, root) for index, root in enumerate(roots)), node=name)
        for rack, nodes in sizes.items()
        for name, roots in zip(names[rack], nodes, strict=True)
    ]
    nodes = tuple(
        Node(ObjectMeta(name=name, labels={RACK: rack, HOST: name}), status=NodeStatus(allocatable={"pods": pods}))
        for rack in sizes
        for name in names[rack]
    )
    domains = tuple(Domain((rack,), tuple(names[rack])) for rack in sizes)
    return cluster(*slices, nodes=nodes), Hierarchy("fabric", (Level("rack", RACK),), domains)


def choices(sizes: dict[str, list[list[str]]], pods: int, replicas: int = 1, most: int = 110):
    """Return what the schedulers do with gangs of pods with two GPUs each."""
    on, tree = racks(sizes, most)
    gang = Gang("train", [GangGroup(Workload("worker", (TWO,), pods))], "rack", hierarchy="fabric", replicas=replicas)
    plan = plan_gangs(on, [gang], hierarchies=[tree], release=R136)
    return gang_choices(on, gang, tree, R136, plan)


PAIRED, CROSSED = ["r0", "r0", "r1", "r1"], ["r0", "r1", "r0", "r1"]
"""First fit takes GPUs 0 and 1: those of one root, or of two."""


def test_whole_gangs_are_counted_in_each_domain():
    """Racks with room for three and two pods start one gang of two each, whatever order the pods come in."""
    [first, *_] = choices({"r1": [PAIRED, ["r0", "r0"]], "r2": [PAIRED]}, pods=2, replicas=3)
    assert (first.replay.verdict, first.started) == (GangVerdict.YES, (2, 2))


def test_first_fit_that_spans_more_roots_is_regret():
    """The plan uses one root for each pod; first fit uses two."""
    [first, *_] = choices({"r1": [CROSSED]}, pods=2)
    assert first.worse == {"roots": (2, 2)}


def test_the_choice_of_the_domain_is_a_range():
    """In one rack first fit is as good as the plan, in the other it is not."""
    [first, *_] = choices({"r1": [PAIRED], "r2": [CROSSED]}, pods=2)
    assert first.worse == {"roots": (0, 2)}


@pytest.mark.parametrize("pods", [1, 2, 3])
def test_the_range_is_that_of_every_distribution(pods):
    """The least and most sum over all ways to spread pods over the nodes of one rack."""
    nodes = [PAIRED, CROSSED, ["r0", "r0"]]
    [first, *_] = choices({"r1": nodes}, pods=pods)
    # first fit takes GPUs 0 and 1 for the first pod of a node, GPUs 2 and 3 for the second
    roots = [[len(set(node[at : at + 2])) for at in range(0, len(node), 2)] for node in nodes]
    ways = [way for way in product(*(range(len(node) + 1) for node in roots)) if sum(way) == pods]
    sums = {sum(sum(node[:count]) for node, count in zip(roots, way, strict=True)) for way in ways}
    assert first.worse.get("roots", (0, 0)) == (min(sums) - pods, max(sums) - pods)


def test_kueue_fills_a_domain_gang_after_gang():
    """It counts pods: three a node, of which two get devices, so that the second gang waits."""
    kueue = choices({"r1": [PAIRED]}, pods=1, replicas=3, most=3)[1]
    assert (kueue.replay.verdict, kueue.started, kueue.trapped) == (GangVerdict.YES, (2, 2), ("r1",))


def test_what_is_proven_to_fit_nowhere_fits_nowhere_with_kai_and_volcano():
    """They are not replayed, but no scheduler can do what is impossible."""
    assert [one.replay.verdict for one in choices({"r1": [PAIRED]}, pods=3)[2:]] == [GangVerdict.NO] * 2


def test_without_a_pod_group_kube_scheduler_is_open():
    """Kubernetes 1.35 has no PodGroup with a level."""
    on, tree = racks({"r1": [PAIRED]})
    gang = Gang("train", [GangGroup(Workload("worker", (TWO,), 2))], "rack", hierarchy="fabric")
    plan = plan_gangs(on, [gang], hierarchies=[tree], release=R136)
    [first, *_] = gang_choices(on, gang, tree, KubernetesRelease("1.35"), plan)
    assert first.replay.verdict is GangVerdict.MAYBE
