"""Candidates that several requests share are kept once, because the names of 40,000 devices take two megabytes."""

from dra_lab import DeviceRequest, ExactDeviceRequest, KubernetesRelease, asks, load_cluster
from dra_lab.sketch.cluster_candidates import candidates

NOW = KubernetesRelease()


def two_asks(cluster):
    """Two requests for devices of the same class."""
    exactly = ExactDeviceRequest(device_class_name=cluster.classes[0].name)
    return [ask for own in ("one", "other") for ask in asks(DeviceRequest(name=own, exactly=exactly))]


def test_requests_that_mean_the_same_devices_share_them():
    """Whatever they are called; their messages differ by name."""
    cluster = load_cluster("sample:two-sockets")
    one, other = (candidates(cluster, ask, NOW) for ask in two_asks(cluster))
    assert one.devices
    assert (one.devices is other.devices, one.ids is other.ids, one.in_class is one.devices) == (True, True, True)
