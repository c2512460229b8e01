"""Racks of nodes with GPUs, and what kube-scheduler and Kueue do there with a gang whose plan proves nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from small_nodes import a_slice, cluster, gpu

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.model.nodes import Node, NodeStatus, ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.pinning.gang_choices import gang_choices

GPU, RACK, HOST = "gpu.nvidia.com", "example.com/rack", "kubernetes.io/hostname"


def racks(
    sizes: Mapping[str, Sequence[int | Sequence[str]]], pods: int = 110, **allocatable: int
) -> tuple[Cluster, Hierarchy]:
    """Return a cluster whose racks have nodes, each with a number of GPUs or one on each of some PCIe roots."""
    names = {rack: [f"{rack}-n{number}" for number in range(len(nodes))] for rack, nodes in sizes.items()}
    roots = {
        name: [""] * own if isinstance(own, int) else own
        for rack, nodes in sizes.items()
        for name, own in zip(names[rack], nodes, strict=True)
    }
    slices = [
        a_slice(GPU, *(gpu(index, root) for index, root in enumerate(own)), node=name)
        for name, own in roots.items()
        if own
    ]
    status = NodeStatus(allocatable={"pods": pods, **allocatable})
    nodes = [
        Node(ObjectMeta(name=name, labels={RACK: rack, HOST: name}), status=status)
        for rack in sizes
        for name in names[rack]
    ]
    domains = tuple(Domain((rack,), tuple(names[rack])) for rack in sizes)
    return cluster(*slices, nodes=tuple(nodes)), Hierarchy("fabric", (Level("rack", RACK),), domains)


def replay_pod_group(on, wanted, hierarchy, release, **more):
    """Return what kube-scheduler does with a gang."""
    return gang_choices(on, wanted, hierarchy, release, Plan(PlanStatus.FEASIBLE), **more)[0].replay


def replay_kueue(on, wanted, hierarchy, release, **more):
    """Return what Kueue does with a gang."""
    return gang_choices(on, wanted, hierarchy, release, Plan(PlanStatus.FEASIBLE), **more)[1].replay
