"""State that several nodes share, and the differences between two states of one node."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from small_nodes import a_slice, cluster, device, gpu, nic
from small_plans import held, request

from dra_lab.cel.matching import Matching
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.device import Counter, DeviceCounterConsumption
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import CounterSet
from dra_lab.planner.budget import Budget
from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.scan import scan_nodes

RELEASE = KubernetesRelease("1.37")
GPU, NIC = "gpu.nvidia.com", "dra.net"
NODES = tuple(Node(metadata=ObjectMeta(name=name)) for name in ("n1", "n2", "n3"))


def on_nodes(*slices, **fields):
    classes = tuple(
        DeviceClass(
            metadata=ObjectMeta(name=driver),
            spec=DeviceClassSpec(selectors=(DeviceSelector(CELDeviceSelector(f'device.driver == "{driver}"')),)),
        )
        for driver in (GPU, NIC)
    )
    return cluster(*slices, classes=classes, nodes=NODES, **fields)


def scanned(on, driver: str = GPU):
    sketch = ClaimSketch(requests=(request("r", driver),))
    return scan_nodes(Rules(on, sketch, RELEASE, Matching(on, RELEASE)), Budget())


def everywhere(published):
    return msgspec.structs.replace(
        published, spec=msgspec.structs.replace(published.spec, node_name=None, all_nodes=True)
    )


def test_devices_of_several_nodes_are_reported():
    """A device of a slice for all nodes couples them, if a request may mean it; a node's own does not."""
    on = on_nodes(everywhere(a_slice(NIC, nic("far"), node="fabric")), a_slice(GPU, gpu(0), node="n1"))
    assert coupled_devices(scanned(on, NIC)) == {DeviceID(NIC, "fabric", "far"): ("n1", "n2", "n3")}
    assert coupled_devices(scanned(on, GPU)) == {}


def partitioned(**fields):
    """Three partitions on three nodes that draw on one counter of 4: 2, 2 and 3."""
    parts = tuple(
        device(
            f"p{n}",
            {},
            consumes_counters=(DeviceCounterConsumption(counter_set="s", counters={"memory": Counter(value=amount)}),),
            node_name=f"n{n}",
        )
        for n, amount in ((1, 2), (2, 2), (3, 3))
    )
    published = a_slice(GPU, *parts, node="pool", count=2)
    spec = msgspec.structs.replace(published.spec, node_name=None, per_device_node_selection=True)
    counters = msgspec.structs.replace(
        published.spec,
        node_name=None,
        all_nodes=True,
        devices=None,
        shared_counters=(CounterSet(name="s", counters={"memory": Counter(value=4)}),),
    )
    slices = (
        msgspec.structs.replace(published, spec=spec),
        msgspec.structs.replace(published, metadata=ObjectMeta(name="sets"), spec=counters),
    )
    return on_nodes(*slices, **fields)


def test_pools_whose_counters_span_nodes_are_reported():
    """Partitions of one pool on three nodes draw on the same counters, though no device is seen twice."""
    scan = scanned(partitioned())
    assert coupled_pools(scan) == {(GPU, "pool"): ("n1", "n2", "n3")}
    assert coupled_devices(scan) == {}


@pytest.mark.parametrize(("enough", "less"), [(4, 3), (3, 1)])
def test_what_is_left_of_counters_is_in_the_key_of_a_node(enough, less):
    """Equal partitions with less left of their counter are another state, also where neither has enough for all."""
    slices = []
    for node, left in (("n1", enough), ("n2", enough), ("n3", less)):
        draws = (DeviceCounterConsumption(counter_set="s", counters={"memory": Counter(value=1)}),)
        parts = a_slice(GPU, *(device(f"p{n}", {}, consumes_counters=draws) for n in range(4)), node=node, count=2)
        sets = (CounterSet(name="s", counters={"memory": Counter(value=left)}),)
        spec = msgspec.structs.replace(parts.spec, devices=None, shared_counters=sets)
        slices += [parts, msgspec.structs.replace(parts, metadata=ObjectMeta(name=f"sets-{node}"), spec=spec)]
    sketch = ClaimSketch(requests=(request("r", GPU, 4),))
    on = on_nodes(*slices)
    scan = scan_nodes(Rules(on, sketch, RELEASE, Matching(on, RELEASE)), Budget())
    assert [c.nodes for c in scan.classes] == [("n1", "n2"), ("n3",)]


def test_a_partition_in_use_changes_the_key_of_other_nodes():
    """A counter that a claim on one node uses is reduced on the other nodes of the pool."""
    free = {node: c.now for c in scanned(partitioned()).classes for node in c.nodes}
    busy = scanned(partitioned(claims=(held(DeviceID(GPU, "pool", "p1")),)))
    keys = {node: c.now for c in busy.classes for node in c.nodes}
    assert keys["n2"] == free["n2"]
    assert keys["n3"] != free["n3"]


def two_pools(**fields):
    """Two pools alike, each with a partition on two nodes that draws 2 on a counter of 3 of the pool: a1 a2, b1 b2."""
    slices = []
    for pool in "ab":
        draws = (DeviceCounterConsumption(counter_set="s", counters={"memory": Counter(value=2)}),)
        parts = (device(f"p{n}", {}, consumes_counters=draws, node_name=f"{pool}{n}") for n in (1, 2))
        published = a_slice(GPU, *parts, node=pool, count=2)
        spec = msgspec.structs.replace(published.spec, node_name=None, per_device_node_selection=True)
        sets = (CounterSet(name="s", counters={"memory": Counter(value=3)}),)
        counters = msgspec.structs.replace(
            published.spec, node_name=None, all_nodes=True, devices=None, shared_counters=sets
        )
        slices += [
            msgspec.structs.replace(published, spec=spec),
            msgspec.structs.replace(published, metadata=ObjectMeta(name=f"sets-{pool}"), spec=counters),
        ]
    nodes = tuple(Node(metadata=ObjectMeta(name=f"{pool}{n}")) for pool in "ab" for n in (1, 2))
    return replace(on_nodes(*slices, **fields), nodes=nodes)


def test_nodes_that_differ_in_their_counters_alone_are_two_states():
    """Two nodes with the same free partition, of which one's pool has nothing left to draw on, are not one state."""
    free = scanned(two_pools())
    assert ("a1", "a2", "b1", "b2") in [c.nodes for c in free.classes]
    busy = scanned(two_pools(claims=(held(DeviceID(GPU, "a", "p2")),)))
    key = {node: c.now for c in busy.classes for node in c.nodes}
    assert key["b1"] == key["b2"]
    assert key["a1"] != key["b1"]


def test_only_the_nodes_asked_about_are_looked_at():
    """`only` leaves the other nodes out of the scan and tells which they are."""
    on = on_nodes(*(a_slice(GPU, gpu(0), node=node.name) for node in NODES))
    rules = Rules(on, ClaimSketch(requests=(request("r", GPU),)), RELEASE, Matching(on, RELEASE))
    scan = scan_nodes(msgspec.structs.replace(rules, only=frozenset({"n2"})), Budget())
    assert [c.nodes for c in scan.classes] == [("n2",)]
    assert scan.excluded == ("n1", "n3")
