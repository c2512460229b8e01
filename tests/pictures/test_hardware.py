"""The hardware picture as SVG text."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic
from small_plans import HOSTILE, SKETCH, a_plan, busy_cluster, held, hostile_cluster, hostile_plan, request

from dra_lab import DeviceID, load_cluster, make_plan, read_sketch, samples
from dra_lab.model.device import DeviceCapacity
from dra_lab.model.placement import Placement
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pictures.hardware import hardware_svg, tree_svg
from dra_lab.topology.locality import localities

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def world():
    """A node with every state."""
    return busy_cluster()


def devices(svg: str) -> dict[str, ET.Element]:
    """Return the elements of the devices by name."""
    root = ET.fromstring(svg)
    return {e.get("data-id").rsplit("/", 1)[1]: e for e in root.iter(f"{SVG}g") if e.get("data-id")}


def classes(element: ET.Element) -> set[str]:
    """Return the classes of an element without our prefix."""
    return {name.removeprefix("dra-hw-") for name in element.get("class").split()} - {"device"}


def test_a_plan_moves_nothing(world):
    def outlines(svg: str):
        tree = next(e for e in ET.fromstring(svg).iter() if e.get("role") == "tree")
        marks = (e for e in tree.iter() if "dra-hw-shape" in e.get("class", ""))
        return [{k: v for k, v in e.attrib.items() if k != "style"} for e in marks]

    assert outlines(hardware_svg(world, "n1")) == outlines(hardware_svg(world, "n1", plan=a_plan()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpu-0", {"chosen"}),
        ("gpu-1", {"free"}),
        ("gpu-3", {"in-use"}),
        ("gpu-4", {"tainted"}),
        ("cpudevnuma001", {"ineligible"}),
        ("eth", {"ineligible"}),
        ("x", {"skipped"}),
    ],
)
def test_state_is_the_class_of_a_device(world, name: str, expected: set[str]):
    """State is a pattern; devices that no request can take are not eligible."""
    assert classes(devices(hardware_svg(world, "n1", plan=a_plan()))[name]) == expected


def test_without_a_drawing_nothing_is_ineligible_and_shares_show(world):
    assert classes(devices(hardware_svg(world, "n1"))["cpudevnuma001"]) == {"shared"}


def test_one_request_decides_alone_when_it_is_named(world):
    """With `request` the devices of the other request are not eligible."""
    drawn = devices(hardware_svg(world, "n1", sketch=SKETCH, request="nic"))
    assert (classes(drawn["gpu-0"]), classes(drawn["a"])) == ({"ineligible"}, {"free"})


@pytest.mark.parametrize(
    ("show", "expected"),
    [
        ("best", {"gpu-0": {"chosen"}, "gpu-1": {"free"}, "gpu-2": {"chosen"}}),
        ("scheduler", {"gpu-0": {"chosen"}, "gpu-1": {"chosen"}, "gpu-2": {"free"}}),
        ("plain", {"gpu-0": {"free"}, "gpu-1": {"free"}, "gpu-2": {"free"}}),
        ("both", {"gpu-0": {"chosen"}, "gpu-1": {"free", "only-k"}, "gpu-2": {"chosen", "only-best"}}),
        ("both-plain", {"gpu-0": {"chosen", "only-best"}, "gpu-1": {"free"}, "gpu-2": {"chosen", "only-best"}}),
    ],
)
def test_what_is_shown(world, show: str, expected: dict[str, set[str]]):
    """Best, kube-scheduler, or both: the same devices plain, different ones dashed."""
    drawn = devices(hardware_svg(world, "n1", plan=a_plan(), show=show))
    assert {name: classes(drawn[name]) for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpu-3", "in use by team/other"),
        ("gpu-4", "tainted sick:NoExecute"),
        ("x", "pool incomplete"),
        ("eth", "does not match any request"),
    ],
)
def test_the_label_says_why(world, name: str, words: str):
    assert words in devices(hardware_svg(world, "n1", plan=a_plan()))[name].get("aria-label")


def test_the_selector_that_says_no_is_named(world):
    label = devices(hardware_svg(world, "n1", sketch=SKETCH, request="nic"))["eth"].get("aria-label")
    assert "its selector is false: has(device.attributes" in label


def test_text_on_patterns_has_a_plain_ground(world):
    for name in ("gpu-3", "gpu-4"):
        drawn = devices(hardware_svg(world, "n1"))[name]
        grounds = [e for e in drawn.iter(f"{SVG}rect") if e.get("class") == "dra-hw-backing"]
        assert len(grounds) == len(list(drawn.iter(f"{SVG}text")))


def test_one_item_takes_the_focus_and_all_others_wait(world):
    """Roving tabindex: the first item has 0, every other one -1."""
    root = ET.fromstring(hardware_svg(world, "n1"))
    assert [e.get("tabindex") for e in root.iter() if e.get("role") == "treeitem"].count("0") == 1
    assert next(e for e in root.iter() if e.get("role") == "treeitem").get("tabindex") == "0"


def test_items_are_owned_by_groups_of_the_tree(world):
    root = ET.fromstring(hardware_svg(world, "n1"))
    parents = {child: parent for parent in root.iter() for child in parent}
    owners = {parents[e].get("role") for e in root.iter() if e.get("role") == "treeitem"}
    assert owners == {"group"}
    assert all(e.get("aria-label") for e in root.iter() if e.get("role") in ("tree", "group", "treeitem"))


def test_pictures_on_one_page_share_no_ids(world):
    plan = a_plan()
    one, other = hardware_svg(world, "n1", plan=plan), hardware_svg(world, "n1", plan=plan, show="both")
    assert set(re.findall(r' id="([^"]+)"', one)).isdisjoint(re.findall(r' id="([^"]+)"', other))
    assert 'id="mine-hatch"' in hardware_svg(world, "n1", prefix="mine")


def test_hostile_names_stay_text():
    svg = hardware_svg(hostile_cluster(), HOSTILE, plan=hostile_plan())
    root = ET.fromstring(svg)
    assert {e.tag.removeprefix(SVG) for e in root.iter()}.isdisjoint({"img", "script", "image", "a", "foreignObject"})
    assert not [name for e in root.iter() for name in e.attrib if name.startswith("on") or name.endswith("href")]
    assert "<img" not in svg
    assert "\u202e" not in svg


def test_control_signs_do_not_break_the_picture():
    from small_nodes import a_slice, cluster, device

    svg = hardware_svg(cluster(a_slice("d.io", device("a\x00\x1b\ud800b"))), "n1")
    assert "a\ufffd\ufffd\ufffdb" in "".join(ET.fromstring(svg).itertext())


def test_the_picture_fetches_nothing(world):
    assert set(re.findall(r"[a-z]+://[^\"' )]+", hardware_svg(world, "n1"))) == {"http://www.w3.org/2000/svg"}


def test_a_plan_for_another_node_is_not_drawn(world):
    assert "dra-hw-chosen" not in classes(devices(hardware_svg(world, "n1", plan=a_plan(node="n2")))["gpu-0"])


def test_unknown_words_are_refused(world):
    """An unknown node is a KeyError, an unknown `show` a ValueError that lists the known ones."""
    with pytest.raises(KeyError):
        hardware_svg(world, "nowhere")
    with pytest.raises(ValueError, match="best, scheduler, plain, both"):
        hardware_svg(world, "n1", show="all")


@pytest.mark.parametrize("sample", [sample.name for sample in samples()])
def test_every_node_of_every_sample_is_drawn(sample: str):
    world = load_cluster(f"sample:{sample}")
    for node in world.node_names:
        items = [e for e in ET.fromstring(hardware_svg(world, node)).iter() if e.get("role") == "treeitem"]
        drawn = [name for e in items for name in (e.get("data-ids") or e.get("data-id")).split(" ")]
        assert sorted(drawn) == sorted(str(device) for device in localities(world, node))


def test_fabric_partitions_of_a_node_are_named_below_the_picture():
    gpus = [device(f"gpu-{at}", {"type": "gpu", "partition2": at // 2, "partition4": 0}) for at in range(4)]
    svg = hardware_svg(cluster(a_slice("gpu.nvidia.com", *gpus)), "n1")
    assert "Fabric partitions of 2 (partition2): gpu-0 + gpu-1; gpu-2 + gpu-3." in " ".join(
        re.findall(">([^<]+)<", svg)
    )
    assert "partition4" not in svg


def legend(svg: str) -> list[str]:
    group = next(e for e in ET.fromstring(svg).iter() if e.get("class") == "dra-hw-legend")
    return [e.text for e in group.iter(f"{SVG}text") if e.get("class") == "dra-hw-heading"]


def words_on(svg: str, name: str) -> list[str]:
    item = next(e for e in ET.fromstring(svg).iter() if (e.get("data-id") or "").endswith(f"/{name}"))
    return [e.text for e in item.iter(f"{SVG}text")]


def test_no_text_is_smaller_than_thirteen_pixels():
    svg = hardware_svg(busy_cluster(), "n1", plan=a_plan(), show="both")
    sizes = [float(size) for size in re.findall(r"font-size: ([0-9.]+)px", svg)]
    assert sizes
    assert min(sizes) >= 13


def test_the_legend_has_only_what_occurs():
    world = cluster(a_slice("gpu.nvidia.com", gpu(0), gpu(1)))
    assert legend(hardware_svg(world, "n1")) == ["free"]


def test_who_uses_devices_is_written_below():
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
    cpus = device(
        "c", {NUMA: 0, "numCPUs": 8}, capacity={"dra.cpu/cpu": DeviceCapacity("8")}, allow_multiple_allocations=True
    )
    world = cluster(a_slice("gpu.nvidia.com", gpu(0)), a_slice("dra.cpu", cpus), claims_known=False)
    svg = hardware_svg(world, "n1")
    assert (words_on(svg, "gpu-0"), words_on(svg, "c")) == (["gpu-0"], ["c 8 CPUs"])
    assert "use unknown" in legend(svg)
    assert "free" not in legend(svg)


def test_a_shareable_device_shows_what_the_plan_takes_of_it():
    world = load_cluster("sample:dgx-h100")
    plan = make_plan(world, read_sketch("sample:dgx-h100/gpu-nic-cpu"))
    svg = hardware_svg(world, plan.node, plan=plan)
    assert words_on(svg, "cpudevnuma000") == ["C1 cpudevnuma000", "takes 32 of 112 CPUs"]
    assert words_on(svg, "cpudevnuma001") == ["cpudevnuma001", "112 of 112 CPUs free"]


def test_the_devices_of_a_request_are_numbered_in_pairs():
    world = load_cluster("sample:dgx-h100")
    plan = make_plan(world, read_sketch("sample:dgx-h100/gpu-nic-cpu"))
    svg = hardware_svg(world, plan.node, plan=plan)
    signs = [words_on(svg, name)[0].split()[0] for name in ("gpu-0", "pci-0000-18-00-0", "gpu-1", "pci-0000-40-00-0")]
    assert signs == ["A1", "B1", "A2", "B2"]


def test_a_high_picture_folds_the_roots_that_the_drawing_cannot_use():
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
    cpus = [device(f"cpudev{n:03}", {NUMA: 0, "cpuID": n}) for n in range(64)]
    names = [DeviceID("dra.cpu", "n1", f"cpudev{n:03}") for n in range(64)]
    world = cluster(a_slice("dra.cpu", *cpus), claims=(held(names[0]),))
    chosen = tuple(Placement("gpu", name) for name in names[4:6])
    svg = hardware_svg(world, "n1", plan=a_plan(devices=chosen), sketch=None)
    block = next(e for e in ET.fromstring(svg).iter() if e.get("data-ids"))
    assert block.get("aria-label").startswith("64 CPUs A 2 · 1 in use")
    assert "chosen: cpu4, cpu5" in block.get("aria-label")


def test_a_claim_that_fits_nowhere_shows_the_part_that_would_fit():
    world = load_cluster("sample:eks-p4d")
    plan = make_plan(world, read_sketch("sample:eks-p4d/five-pairs"))
    svg = hardware_svg(world, plan.reasons.nearest, plan=plan)
    signs = [words_on(svg, f"gpu-{n}")[0] for n in range(8)]
    assert signs == ["A1 gpu-0", "✕ gpu-1", "A2 gpu-2", "gpu-3", "A3 gpu-4", "gpu-5", "A4 gpu-6", "gpu-7"]
    assert "no place left" in legend(svg)
    assert "no place left" not in legend(hardware_svg(world, "ip-192-168-128-17.ec2.internal", plan=plan))


def test_the_nvlink_domain_is_named_and_drawn():
    world = load_cluster("sample:oke-gb200")
    svg = hardware_svg(world, world.node_names[0])
    assert "NVLink domain" in legend(svg)
    assert re.search(r"NVLink domain [0-9a-f-]+\.1, with 3 other nodes", svg)


def test_devices_of_a_place_keep_their_order():
    gpus = [gpu(0, "r"), device("gpu-1", {"type": "gpu", ROOT: "r"}), gpu(2, "r")]
    svg = hardware_svg(cluster(a_slice("gpu.nvidia.com", *gpus)), "n1")
    assert re.findall(r'data-id="[^"]*/(gpu-[0-9])"', svg) == ["gpu-0", "gpu-1", "gpu-2"]


def test_the_tree_has_the_devices_of_the_picture():
    world = load_cluster("sample:mi300x")
    ids = re.compile(r'data-ids?="([^"]*)"')
    picture, tree = (draw(world, world.node_names[0]) for draw in (hardware_svg, tree_svg))
    assert sorted(ids.findall(tree)) == sorted(ids.findall(picture))
