"""A topology file laid over real slices: what no driver publishes becomes known, what is published stays."""

from __future__ import annotations

import time

import pytest
from checked_plans import checked_plan
from small_nodes import NUMA, a_slice, cluster, device, gpu, nic, real_cluster
from topology_texts import SERVER, TOPO

from dra_lab.errors import InputError
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.sources.foreign import decode_inventory, with_overlay
from dra_lab.topology import localities

BUS = "resource.kubernetes.io/pciBusID"
FILE = decode_inventory(SERVER, "dgx.xml")
RELEASE = KubernetesRelease("1.36")


def slices(node: str = "n1", **more):
    """Return the slices of a node as a cloud publishes them: addresses, and no root for the NIC."""
    gpus = a_slice(
        "gpu.nvidia.com", gpu(0, **{BUS: "0000:13:00.0"}), gpu(1, **{BUS: "0000:21:00.0"}, **more), node=node
    )
    return gpus, a_slice("dra.net", nic("pci-0000-14-00-0"), node=node)


def places(world, node: str = "n1"):
    """Return the localities of a node by device name."""
    return {found.device.device: found for found in localities(world, node).values()}


def test_devices_are_met_by_address_and_by_name():
    """A GPU is met by its pciBusID, a NIC that publishes no address by the address in its name."""
    found = places(with_overlay(cluster(*slices()), FILE))
    assert (found["gpu-0"].pcie_root.value, found["pci-0000-14-00-0"].pcie_root.value) == ("pci0000:10", "pci0000:10")


def test_an_overlaid_place_is_derived_and_names_the_file():
    """The source of a place says which file and line it is from, and that no driver publishes it."""
    place = places(with_overlay(cluster(*slices()), FILE))["gpu-0"].numa_node
    assert (place.value, place.derived, place.source) == (0, True, "overlay: dgx.xml:5, Package 0, nodeset")


def test_what_is_published_wins_and_the_contradiction_is_reported():
    """The file never replaces a published value; the difference is a Finding with the place in the file."""
    world = with_overlay(cluster(*slices(**{NUMA: 1})), FILE)
    found = [finding for finding in world.findings if finding.rule == "overlay-contradiction"]
    assert places(world)["gpu-1"].numa_node.value == 1
    assert [(finding.subject, str(finding.origin)) for finding in found] == [
        ("gpu.nvidia.com/n1/gpu-1", "dgx.xml:5, Package 0, nodeset")
    ]


def test_only_nodes_that_fit_are_taken():
    """A node with a device that is not in the file is another machine and is left alone."""
    other = a_slice("gpu.nvidia.com", gpu(0, **{BUS: "0000:13:00.0"}), gpu(1, **{BUS: "0000:99:00.0"}), node="n2")
    world = with_overlay(cluster(*slices(), other), FILE)
    assert list(world.overlays) == ["n1"]


def test_a_file_that_fits_nowhere_is_refused():
    """Neither a file without addresses nor one of another machine is laid over anything."""
    with pytest.raises(InputError, match="it contains no PCI addresses"):
        with_overlay(cluster(*slices()), decode_inventory(TOPO.encode(), "topo.txt"))
    with pytest.raises(InputError, match="the file does not contain all PCI addresses of any node"):
        with_overlay(cluster(a_slice("gpu.nvidia.com", gpu(0, **{BUS: "0000:99:00.0"}))), FILE)
    with pytest.raises(InputError, match="there is no node 'x'"):
        with_overlay(cluster(*slices()), FILE, nodes=["x"])


def test_a_file_with_other_kinds_of_devices_is_of_another_machine():
    """Virtual machines of a cloud have the same addresses: a NIC in the file is no GPU; where named it is told."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, **{BUS: "0000:14:00.0"})))
    with pytest.raises(InputError, match="matches no node"):
        with_overlay(world, FILE)
    both = cluster(a_slice("gpu.nvidia.com", gpu(0, **{BUS: "0000:14:00.0"}), gpu(1, **{BUS: "0000:13:00.0"})))
    overlaid = with_overlay(both, FILE, nodes=["n1"])
    assert [f.subject for f in overlaid.findings if f.rule == "overlay-contradiction"] == ["gpu.nvidia.com/n1/gpu-0"]


def test_cpus_get_their_socket_by_numa_node():
    """A CPU device has no address; its NUMA node says which socket it is on."""
    cpus = a_slice("dra.cpu", device("cpudevnuma001", {NUMA: 1}))
    place = places(with_overlay(cluster(*slices(), cpus), FILE))["cpudevnuma001"].socket
    assert (place.value, place.derived) == (1, True)


def pair() -> ClaimSketch:
    """A GPU and a NIC on one PCIe root."""
    requests = tuple(
        DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=wanted, count=1))
        for name, wanted in (("gpu", "gpu.nvidia.com"), ("nic", "dranet"))
    )
    return ClaimSketch(requests=requests, links=(Link(name="near", requests=("gpu", "nic"), where="pcieRoot"),))


def test_the_plan_names_the_overlay_and_the_manifest_does_without():
    """A plan that rests on the file says so; the manifest names no attribute that no driver publishes."""
    world = with_overlay(cluster(*slices()), FILE)
    plan = checked_plan(world, pair(), release=RELEASE)
    assert {chosen.device for chosen in plan.chosen()} == {"gpu-0", "pci-0000-14-00-0"}
    assert {"overlay", "link-not-writable"} <= {finding.rule for finding in plan.findings}
    assert "matchAttribute" not in manifest_yaml(plan.sketch, world, RELEASE).text


def test_nodes_with_and_without_an_overlay_are_not_equal():
    """If two nodes have the same slices, only the node with the overlay can keep the link."""
    world = with_overlay(cluster(*slices("n1"), *slices("n2")), FILE, nodes=["n2"])
    plan = checked_plan(world, pair(), release=RELEASE)
    assert (plan.node, len(plan.node_classes)) == ("n2", 2)


def test_oke_nics_and_gpus_meet_a_file_by_their_real_addresses():
    """On the recorded GB200 slices every GPU and NIC address is understood."""
    real = real_cluster("oke-gb200")
    node = real.node_names[0]
    found = [place for place in localities(real, node).values() if place.address]
    addresses = [place.address for place in found]
    classes = ["0x030200" if place.device.driver == "gpu.nvidia.com" else "0x020000" for place in found]
    pairs = zip(addresses, classes, strict=True)
    devices = "".join(f'<pci busid="{address}" class="{class_}"/>' for address, class_ in pairs)
    text = f'<system version="1"><cpu numaid="5" affinity="ff">{devices}</cpu></system>'
    world = with_overlay(real, decode_inventory(text.encode(), "tray.xml"))
    assert len(addresses) == 12
    assert len(world.overlays[node].places) == 12


def test_five_thousand_nodes_take_seconds():
    """Equal nodes are joined once: 5,000 nodes with 15,000 devices are done within five seconds."""
    many = cluster(*(slice_ for number in range(5000) for slice_ in slices(f"n{number:04d}")))
    began = time.process_time()
    world = with_overlay(many, FILE)
    assert len({id(overlay) for overlay in world.overlays.values()}) == 1
    assert time.process_time() - began < 5
