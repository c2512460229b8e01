"""States of devices on the picture: each has a line or pattern of its own and a word; the legend has what occurs."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic
from small_plans import a_plan, busy_cluster, held, request

from dra_lab import DeviceID, load_cluster, make_plan, read_sketch
from dra_lab.model.device import DeviceCapacity
from dra_lab.model.placement import Placement
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pictures.hardware import hardware_svg, tree_svg

SVG = "{http://www.w3.org/2000/svg}"


def legend(svg: str) -> list[str]:
    """Return the words of the legend."""
    group = next(e for e in ET.fromstring(svg).iter() if e.get("class") == "dra-hw-legend")
    return [e.text for e in group.iter(f"{SVG}text") if e.get("class") == "dra-hw-heading"]


def words_on(svg: str, name: str) -> list[str]:
    """Return the texts on a device."""
    item = next(e for e in ET.fromstring(svg).iter() if (e.get("data-id") or "").endswith(f"/{name}"))
    return [e.text for e in item.iter(f"{SVG}text")]


def test_no_text_is_smaller_than_thirteen_pixels():
    """One size for all text of a picture; nothing in the style makes any of it smaller."""
    svg = hardware_svg(busy_cluster(), "n1", plan=a_plan(), show="both")
    sizes = [float(size) for size in re.findall(r"font-size: ([0-9.]+)px", svg)]
    assert sizes
    assert min(sizes) >= 13


def test_the_legend_has_only_what_occurs():
    """No sign for taints, NICs or a comparison on a node that has none of them."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0), gpu(1)))
    assert legend(hardware_svg(world, "n1")) == ["free"]


def test_who_uses_devices_is_written_below():
    """Readable without a pointer."""
    root = ET.fromstring(hardware_svg(busy_cluster(), "n1"))
    notes = next(e for e in root.iter() if e.get("class") == "dra-hw-notes")
    assert "".join(notes.itertext()).strip() == "In use by team/other (2 devices)."


def test_a_shareable_device_says_what_is_left():
    """Each of its capacities in words, because any of them may decide."""
    words = words_on(hardware_svg(load_cluster("sample:shared-gpu"), "gpu-hami"), "hami-gpu-0")
    assert words[-2:] == ["4,596 of 23,028 Mi memory free", "20 of 100 cores free"]


def test_a_device_that_its_driver_reports_as_unhealthy_says_so():
    """Intel's driver publishes `health`, Gaudi's `healthy`."""
    sick = device("card-0", {"health": "Unhealthy"})
    ill = device("card-1", {"healthy": False})
    svg = hardware_svg(cluster(a_slice("gpu.intel.com", sick, ill)), "n1")
    assert [words_on(svg, name)[-1] for name in ("card-0", "card-1")] == ["unhealthy", "unhealthy"]
    assert "unhealthy" in legend(svg)


def test_without_claims_the_use_of_a_device_is_unknown():
    """It is not known whether it is free, neither of a whole device nor of the CPUs of a shareable one."""
    cpus = device(
        "c", {NUMA: 0, "numCPUs": 8}, capacity={"dra.cpu/cpu": DeviceCapacity("8")}, allow_multiple_allocations=True
    )
    world = cluster(a_slice("gpu.nvidia.com", gpu(0)), a_slice("dra.cpu", cpus), claims_known=False)
    svg = hardware_svg(world, "n1")
    assert (words_on(svg, "gpu-0"), words_on(svg, "c")) == (["gpu-0"], ["c 8 CPUs"])
    assert "use unknown" in legend(svg)
    assert "free" not in legend(svg)


def test_a_shareable_device_shows_what_the_plan_takes_of_it():
    """32 of 112 CPUs are taken, not the device."""
    world = load_cluster("sample:dgx-h100")
    plan = make_plan(world, read_sketch("sample:dgx-h100/gpu-nic-cpu"))
    svg = hardware_svg(world, plan.node, plan=plan)
    assert words_on(svg, "cpudevnuma000") == ["C1 cpudevnuma000", "takes 32 of 112 CPUs"]
    assert words_on(svg, "cpudevnuma001") == ["cpudevnuma001", "112 of 112 CPUs free"]


def test_the_devices_of_a_request_are_numbered_in_pairs():
    """A1 and B1 are one pair, A2 and B2 the other, as in Trace."""
    world = load_cluster("sample:dgx-h100")
    plan = make_plan(world, read_sketch("sample:dgx-h100/gpu-nic-cpu"))
    svg = hardware_svg(world, plan.node, plan=plan)
    signs = [words_on(svg, name)[0].split()[0] for name in ("gpu-0", "pci-0000-18-00-0", "gpu-1", "pci-0000-40-00-0")]
    assert signs == ["A1", "B1", "A2", "B2"]


def test_a_high_picture_folds_the_roots_that_the_drawing_cannot_use():
    """One line says how many there are; unfolded, they are drawn as well."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r")), a_slice("dra.net", nic("a", "s")))
    gpus = ClaimSketch(requests=(request("gpu", "gpu.nvidia.com"),))
    high = hardware_svg(world, "n1", sketch=gpus, width=300)
    low = hardware_svg(world, "n1", sketch=gpus, width=300, height=60)
    again = hardware_svg(world, "n1", sketch=gpus, width=300, height=60, unfolded=True)
    assert [("/a" in svg, "1 PCIe root without" in svg) for svg in (high, low, again)] == [
        (True, False),
        (False, True),
        (True, True),
    ]


def test_a_block_counts_what_is_chosen_in_use_and_free():
    """64 CPUs, two chosen and one in use."""
    cpus = [device(f"cpudev{n:03}", {NUMA: 0, "cpuID": n}) for n in range(64)]
    names = [DeviceID("dra.cpu", "n1", f"cpudev{n:03}") for n in range(64)]
    world = cluster(a_slice("dra.cpu", *cpus), claims=(held(names[0]),))
    chosen = tuple(Placement("gpu", name) for name in names[4:6])
    svg = hardware_svg(world, "n1", plan=a_plan(devices=chosen), sketch=None)
    block = next(e for e in ET.fromstring(svg).iter() if e.get("data-ids"))
    assert block.get("aria-label").startswith("64 CPUs A 2 · 1 in use")
    assert "chosen: cpu4, cpu5" in block.get("aria-label")


def test_a_claim_that_fits_nowhere_shows_the_part_that_would_fit():
    """Four of five pairs have a place on the nearest node; one GPU has no NIC left."""
    world = load_cluster("sample:eks-p4d")
    plan = make_plan(world, read_sketch("sample:eks-p4d/five-pairs"))
    svg = hardware_svg(world, plan.reasons.nearest, plan=plan)
    signs = [words_on(svg, f"gpu-{n}")[0] for n in range(8)]
    assert signs == ["A1 gpu-0", "✕ gpu-1", "A2 gpu-2", "gpu-3", "A3 gpu-4", "gpu-5", "A4 gpu-6", "gpu-7"]
    assert "no place left" in legend(svg)
    assert "no place left" not in legend(hardware_svg(world, "ip-192-168-128-17.ec2.internal", plan=plan))


def test_the_nvlink_domain_is_named_and_drawn():
    """GB200 nodes carry the label of their domain; other nodes have the same one."""
    world = load_cluster("sample:oke-gb200")
    svg = hardware_svg(world, world.node_names[0])
    assert "NVLink domain" in legend(svg)
    assert re.search(r"NVLink domain [0-9a-f-]+\.1, with 3 other nodes", svg)


def test_devices_of_a_place_keep_their_order():
    """A device without a model stands between its neighbours, not after them."""
    gpus = [gpu(0, "r"), device("gpu-1", {"type": "gpu", ROOT: "r"}), gpu(2, "r")]
    svg = hardware_svg(cluster(a_slice("gpu.nvidia.com", *gpus)), "n1")
    assert re.findall(r'data-id="[^"]*/(gpu-[0-9])"', svg) == ["gpu-0", "gpu-1", "gpu-2"]


def test_the_tree_has_the_devices_of_the_picture():
    """Each device, or block of devices, is one row of the tree beside the picture."""
    world = load_cluster("sample:mi300x")
    ids = re.compile(r'data-ids?="([^"]*)"')
    picture, tree = (draw(world, world.node_names[0]) for draw in (hardware_svg, tree_svg))
    assert sorted(ids.findall(tree)) == sorted(ids.findall(picture))
