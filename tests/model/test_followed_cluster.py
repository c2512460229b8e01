"""What was worked out of a cluster is known on where nothing changed that it depends on."""

import pytest
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.model.pools import gather_pools
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.sources import load_cluster


def cordoned(node):
    """The node, as kubectl cordon leaves it."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return replace(node, spec=NodeSpec(unschedulable=True, taints=(taint,)))


def moved(node):
    """The node with another label."""
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, "rack": "7"}))


@pytest.mark.parametrize(("change", "kept"), [(cordoned, True), (moved, False)])
def test_hardware_is_known_on_unless_a_node_has_other_labels(change, kept):
    """Selectors of slices ask for labels, and nothing of devices depends on taints, state or versions of nodes."""
    before = load_cluster("sample:eks-p4d")
    after = before.with_objects(nodes=(change(before.nodes[0]), *before.nodes[1:]))
    assert after.node_by_name[before.nodes[0].name] is after.nodes[0]
    assert (after.hardware is before.hardware, after.gathered is before.gathered) == (kept, kept)


def test_a_node_that_goes_takes_what_was_worked_out_with_it():
    """There are other nodes then."""
    before = load_cluster("sample:eks-p4d")
    after = before.with_objects(nodes=before.nodes[1:])
    assert after.hardware is not before.hardware


def two_drivers(nodes=40):
    """Nodes with a slice of GPUs and one of NICs each."""
    slices = tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=f"n-{number:02}-{driver}"),
            spec=ResourceSliceSpec(
                driver=driver,
                pool=ResourcePool(name=f"n-{number:02}", generation=1, resource_slice_count=1),
                node_name=f"n-{number:02}",
                devices=(Device(name="d-0"), Device(name="d-1")),
            ),
        )
        for number in range(nodes)
        for driver in ("gpu.example.com", "nic.example.com")
    )
    return Cluster(slices, nodes=tuple(Node(metadata=ObjectMeta(name=f"n-{number:02}")) for number in range(nodes)))


def published_anew(cluster, at):
    """The cluster after a slice got another generation."""
    old = cluster.slices[at]
    pool = replace(old.spec.pool, generation=old.spec.pool.generation + 1)
    new = replace(old, spec=replace(old.spec, pool=pool))
    return cluster.with_objects(slices=(*cluster.slices[:at], new, *cluster.slices[at + 1 :]))


def test_what_a_node_sees_is_known_on_however_long_nobody_asks():
    """Else all nodes were gathered twice, as what was worked out from them keeps what they saw before."""
    cluster = two_drivers()
    before = {name: gather_pools(cluster, name) for name in cluster.node_names}
    for at in range(6):
        cluster = published_anew(cluster, at)
        gather_pools(cluster, "n-00")
    assert all(gather_pools(cluster, name) is before[name] for name in cluster.node_names[3:])


def test_a_pool_published_anew_leaves_the_other_pools_of_its_node_what_they_are():
    """Its own devices have the names of before, the same objects, on which much is kept."""
    cluster = two_drivers()
    before = gather_pools(cluster, "n-07")
    now = gather_pools(published_anew(cluster, 14), "n-07")
    assert (now[0].generation, now[0] is before[0], now[1] is before[1]) == (2, False, True)
    assert all(new.id is old.id for new, old in zip(now[0].devices, before[0].devices, strict=True))


def test_a_node_with_another_label_sees_the_pools_of_before():
    """Nothing of them asks for labels."""
    cluster = two_drivers()
    before = gather_pools(cluster, "n-07")
    after = cluster.with_objects(nodes=(*cluster.nodes[:7], moved(cluster.nodes[7]), *cluster.nodes[8:]))
    assert after.gathered is not cluster.gathered
    assert [now is was for now, was in zip(gather_pools(after, "n-07"), before, strict=True)] == [True, True]
