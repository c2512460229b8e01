"""What several requests mean alike is kept once: of 40,000 devices the names alone take two megabytes."""

from msgspec.structs import replace

from dra_lab.authoring.candidates import candidates
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.sources import load_cluster

NOW = KubernetesRelease()


def two_asks(cluster):
    """Two requests for devices of the same class."""
    exactly = ExactDeviceRequest(device_class_name=cluster.classes[0].name)
    return [ask for own in ("one", "other") for ask in asks(DeviceRequest(name=own, exactly=exactly))]


def labelled(node):
    """The node with another label."""
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, "rack": "7"}))


def test_requests_that_mean_the_same_devices_share_them():
    """Whatever they are called; their messages differ by name."""
    cluster = load_cluster("sample:two-sockets")
    one, other = (candidates(cluster, ask, NOW) for ask in two_asks(cluster))
    assert one.devices
    assert (one.devices is other.devices, one.ids is other.ids, one.in_class is one.devices) == (True, True, True)


def test_what_requests_mean_is_shared_on_after_a_change():
    """A node with another label changes none of it, and nothing is kept of the asks of before."""
    before = load_cluster("sample:two-sockets")
    first = [candidates(before, ask, NOW).ids for ask in two_asks(before)]
    after = before.with_objects(nodes=(labelled(before.nodes[0]), *before.nodes[1:]))
    assert after.hardware is not before.hardware
    one, other = (candidates(after, ask, NOW) for ask in two_asks(before))
    assert (one.devices is other.devices, one.ids is other.ids, [one.ids, other.ids]) == (True, True, first)
