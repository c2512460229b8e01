"""Layers give the cluster that the same change of the documents gives, and removing them gives the snapshot back."""

import json

import pytest
from small_documents import CLASS, SLICE, changed

from dra_lab.errors import InputError
from dra_lab.model.layers import Layer, layered_release, read_layer
from dra_lab.sources import load_cluster, load_texts
from dra_lab.topology.layered import with_layers, with_possible_layers

DEVICE = "gpu.example.com/p-1/d"
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


def node(name: str, kubelet: str = "v1.36.1") -> dict:
    labels = {"kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"nodeInfo": {"kubeletVersion": kubelet}},
    }


def slice_on(name: str, number: int) -> dict:
    """Return the only slice of a node: a pool p-NUMBER with d and e on one PCIe root, of which d says its NUMA node."""
    root = {ROOT: {"string": "pci0000:17"}}
    device = {**SLICE["spec"]["devices"][0], "attributes": root}
    return changed(
        SLICE,
        ("metadata.name", f"s-{number}"),
        ("spec.nodeName", name),
        ("spec.pool.name", f"p-{number}"),
        ("spec.devices.0.attributes", {**root, NUMA: {"int": 1}}),
        ("spec.devices.1", {**device, "name": "e"}),
    )


def held(number: int) -> dict:
    result = {"request": "r", "driver": "gpu.example.com", "pool": f"p-{number}", "device": "d"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"c-{number}", "namespace": "n"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def documents(nodes=(1, 2), holders=(1, 2), kubelet: str = "v1.36.1") -> list:
    """Return the documents of nodes with a slice each, and claims that hold a device of some."""
    made = [CLASS, *(node(f"node-{n}", kubelet) for n in nodes), *(slice_on(f"node-{n}", n) for n in nodes)]
    return [*made, *(held(n) for n in holders)]


def cluster_of(items: list):
    return load_texts({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})


def content(cluster) -> tuple:
    kinds = (cluster.slices, cluster.classes, cluster.nodes, cluster.claims)
    return tuple(sorted(map(repr, kind)) for kind in kinds)


def without_device() -> list:
    """Return the documents without the device d of node-1."""
    made = documents()
    del made[3]["spec"]["devices"][0]
    return made


def with_taint() -> list:
    """Return the documents with a taint on the device d of node-1."""
    made = documents()
    made[3]["spec"]["devices"][0]["taints"] = [{"key": "dra-lab/what-if", "effect": "NoSchedule"}]
    return made


def with_numa() -> list:
    """Return the documents with the NUMA node of e, which is that of d, as both are on one PCIe root."""
    made = documents()
    for document in made[3:5]:
        document["spec"]["devices"][1]["attributes"][NUMA] = {"int": 1}
    return made


def with_node() -> list:
    """Return the documents with a copy of node-1 that nothing uses."""
    name = "node-1-new-1"
    copied = changed(slice_on(name, 1), ("metadata.name", f"s-1-{name}"), ("spec.pool.name", f"p-1-{name}"))
    return [*documents(), node(name), copied]


BY_HAND = [
    (read_layer("add", "1=node-1"), with_node()),
    (read_layer("drain", "node-1"), documents((2,), (2,))),
    (read_layer("uncordon", "node-2"), documents()),
    (read_layer("without", DEVICE), without_device()),
    (read_layer("taint", DEVICE), with_taint()),
    (read_layer("idle"), documents(holders=())),
    (read_layer("publish-numa"), with_numa()),
    (read_layer("release", "1.37"), documents(kubelet="v1.37.1")),
]


@pytest.mark.parametrize(("layer", "by_hand"), BY_HAND, ids=[layer.change for layer, _ in BY_HAND])
def test_a_layer_is_the_same_change_of_the_documents(layer, by_hand):
    assert content(with_layers(cluster_of(documents()), [layer])) == content(cluster_of(by_hand))


def test_the_snapshot_is_never_changed():
    cluster = cluster_of(documents())
    before = content(cluster)
    with_layers(cluster, [layer for layer, _ in BY_HAND if layer.change not in ("drain", "without")])
    assert with_layers(cluster, []) is cluster
    assert content(cluster) == before


def test_any_layer_can_be_removed_from_the_middle():
    cluster = cluster_of(documents())
    layers = [read_layer("idle"), read_layer("taint", DEVICE), read_layer("drain", "node-2")]
    for gone in layers:
        rest = [layer for layer in layers if layer is not gone]
        one_by_one = with_layers(with_layers(cluster, rest[:1]), rest[1:])
        assert content(with_layers(cluster, rest)) == content(one_by_one)


def test_layers_apply_in_their_order():
    cluster = cluster_of(documents())
    add, drain = read_layer("add", "1=node-1"), read_layer("drain", "node-1-new-1")
    assert content(with_layers(cluster, [add, drain])) == content(cluster)
    with pytest.raises(InputError, match="Drain node-1-new-1: there is no node"):
        with_layers(cluster, [drain, add])


def test_layers_that_do_not_apply_are_left_out_with_the_reason():
    """A layer about a node that is gone keeps its place and says why it changes nothing."""
    cluster = cluster_of(documents())
    found = with_possible_layers(cluster, [read_layer("drain", "node-9"), read_layer("idle")])
    assert content(found.cluster) == content(cluster_of(documents(holders=())))
    assert list(found.refused) == [0]
    assert "node-9" in found.refused[0]


def test_a_numa_node_that_is_not_known_stays_unknown():
    """The note says how many devices would publish one, and how many would not."""
    made = documents()
    del made[3]["spec"]["devices"][0]["attributes"][NUMA]
    found = with_possible_layers(cluster_of(made), [read_layer("publish-numa")])
    (note,) = found.notes.values()
    assert note == f"1 device would publish {NUMA}; the NUMA node of 2 more is not known."
    assert all(NUMA not in device.attributes for device in found.cluster.slices[0].spec.devices)


def test_publishing_numa_is_refused_if_nothing_becomes_known():
    """The message says what to add."""
    layers = [read_layer("publish-numa")]
    published = with_layers(cluster_of(documents()), layers)
    with pytest.raises(InputError, match="--topology FILE"):
        with_layers(published, layers)


def test_a_numa_node_under_a_name_of_the_driver_is_known():
    """The drivers of mi300x publish NUMA nodes under two names, which no constraint can compare."""
    cluster = load_cluster("sample:mi300x")
    published = with_layers(cluster, [read_layer("publish-numa")])
    assert all(NUMA in device.attributes for made in published.slices for device in made.spec.devices)
    assert not any(NUMA in device.attributes for made in cluster.slices for device in made.spec.devices)


@pytest.mark.parametrize("text", ["add 4=node-1", "drain node-1", f"without {DEVICE}", "idle", "release 1.37"])
def test_a_layer_is_read_from_its_text(text: str):
    change, _, value = text.partition(" ")
    assert str(read_layer(change, value)) == f"--{text}"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Layer(change="drain", subject="node-11"), "did you mean 'node-1'"),
        (Layer(change="add", subject="node-3", count=1), "did you mean 'node-"),
        (Layer(change="without", subject="gpu.example.org/p-1/d"), "did you mean 'gpu.example.com'"),
        (Layer(change="without", subject="gpu.example.com/pp-1/d"), "did you mean 'p-1'"),
        (Layer(change="taint", subject="gpu.example.com/p-1/x"), "has no device 'x'; its devices: d, e"),
        (Layer(change="taint", subject="d"), "write driver/pool/device"),
        (Layer(change="release", subject="1.99"), "use one of"),
        (Layer(change="drian", subject="node-1"), "did you mean 'drain'"),
        (Layer(change="add", subject="node-1", count=0), "give 1 to"),
        (Layer(change="drain"), "needs NODE"),
        (Layer(change="idle", subject="node-1"), "has no subject"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_one(layer: Layer, message: str):
    with pytest.raises(InputError, match=message):
        with_layers(cluster_of(documents()), [layer])


@pytest.mark.parametrize(
    ("change", "value"), [("add", "node-1"), ("add", "x=node-1"), ("add", "0=node-1"), ("drain", ""), ("idle", "x")]
)
def test_a_value_of_another_form_is_refused(change: str, value: str):
    with pytest.raises(InputError):
        read_layer(change, value)


def test_the_last_release_counts():
    layers = [read_layer("release", "1.35"), read_layer("idle"), read_layer("release", "1.37")]
    assert layered_release(layers) == "1.37"
    assert with_layers(load_cluster("sample:eks-p4d"), layers).default_release == "1.37.1"
