"""The hardware picture as SVG text."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from small_nodes import a_slice, cluster, device
from small_plans import HOSTILE, SKETCH, a_plan, busy_cluster, hostile_cluster, hostile_plan

from dra_lab import load_cluster, samples
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.topology import localities

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


def test_every_device_is_in_the_picture_once(world):
    """`data-id` is the device's id, each exactly once."""
    ids = re.findall(r'data-id="([^"]*)"', hardware_svg(world, "n1"))
    assert sorted(ids) == sorted(str(device) for device in localities(world, "n1"))


def test_the_same_input_gives_the_same_text(world):
    """Byte for byte."""
    assert hardware_svg(busy_cluster(), "n1", plan=a_plan()) == hardware_svg(world, "n1", plan=a_plan())


def test_a_plan_moves_nothing(world):
    """With and without a plan every outline is at the same place."""

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
    """A shareable device of which a part is taken is partly in use."""
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
    """The label contains the claim that holds a device, its taint, and why it is not eligible."""
    assert words in devices(hardware_svg(world, "n1", plan=a_plan()))[name].get("aria-label")


def test_the_selector_that_says_no_is_named(world):
    """With one request the reason is the selector's text."""
    label = devices(hardware_svg(world, "n1", sketch=SKETCH, request="nic"))["eth"].get("aria-label")
    assert "its selector is false: has(device.attributes" in label


def test_text_on_patterns_has_a_plain_ground(world):
    """Hatched and crossed devices have a backing under every line of text."""
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
    """Places are groups with a name of their own, devices the items of the tree."""
    root = ET.fromstring(hardware_svg(world, "n1"))
    parents = {child: parent for parent in root.iter() for child in parent}
    owners = {parents[e].get("role") for e in root.iter() if e.get("role") == "treeitem"}
    assert owners == {"group"}
    assert all(e.get("aria-label") for e in root.iter() if e.get("role") in ("tree", "group", "treeitem"))


def test_pictures_on_one_page_share_no_ids(world):
    """Ids carry a prefix, by default one of the node and what is shown."""
    plan = a_plan()
    one, other = hardware_svg(world, "n1", plan=plan), hardware_svg(world, "n1", plan=plan, show="both")
    assert set(re.findall(r' id="([^"]+)"', one)).isdisjoint(re.findall(r' id="([^"]+)"', other))
    assert 'id="mine-hatch"' in hardware_svg(world, "n1", prefix="mine")


def test_hostile_names_stay_text():
    """Whatever a cluster's names say, the picture is well-formed and has no element or attribute of theirs."""
    svg = hardware_svg(hostile_cluster(), HOSTILE, plan=hostile_plan())
    root = ET.fromstring(svg)
    assert {e.tag.removeprefix(SVG) for e in root.iter()}.isdisjoint({"img", "script", "image", "a", "foreignObject"})
    assert not [name for e in root.iter() for name in e.attrib if name.startswith("on") or name.endswith("href")]
    assert "<img" not in svg
    assert "\u202e" not in svg


def test_control_signs_do_not_break_the_picture():
    """A NUL or an escape in a name, which XML cannot hold, is shown as a replacement sign."""
    from small_nodes import a_slice, cluster, device

    svg = hardware_svg(cluster(a_slice("d.io", device("a\x00\x1b\ud800b"))), "n1")
    assert "a\ufffd\ufffd\ufffdb" in "".join(ET.fromstring(svg).itertext())


def test_the_picture_fetches_nothing(world):
    """There is no URL in it besides the name of the SVG namespace."""
    assert set(re.findall(r"[a-z]+://[^\"' )]+", hardware_svg(world, "n1"))) == {"http://www.w3.org/2000/svg"}


def test_a_plan_for_another_node_is_not_drawn(world):
    """A plan shows only on its own node."""
    assert "dra-hw-chosen" not in classes(devices(hardware_svg(world, "n1", plan=a_plan(node="n2")))["gpu-0"])


def test_unknown_words_are_refused(world):
    """An unknown node is a KeyError, an unknown `show` a ValueError that lists the known ones."""
    with pytest.raises(KeyError):
        hardware_svg(world, "nowhere")
    with pytest.raises(ValueError, match="best, scheduler, plain, both"):
        hardware_svg(world, "n1", show="all")


@pytest.mark.parametrize("sample", [sample.name for sample in samples()])
def test_every_node_of_every_sample_is_drawn(sample: str):
    """Each is well-formed and has each of its devices once, skipped ones too."""
    world = load_cluster(f"sample:{sample}")
    for node in world.node_names:
        items = [e for e in ET.fromstring(hardware_svg(world, node)).iter() if e.get("role") == "treeitem"]
        drawn = [name for e in items for name in (e.get("data-ids") or e.get("data-id")).split(" ")]
        assert sorted(drawn) == sorted(str(device) for device in localities(world, node))


def test_fabric_partitions_of_a_node_are_named_below_the_picture():
    """GPUs with one number are linked; a number that all of them have says nothing."""
    gpus = [device(f"gpu-{at}", {"type": "gpu", "partition2": at // 2, "partition4": 0}) for at in range(4)]
    svg = hardware_svg(cluster(a_slice("gpu.nvidia.com", *gpus)), "n1")
    assert "Fabric partitions of 2 (partition2): gpu-0 + gpu-1; gpu-2 + gpu-3." in " ".join(
        re.findall(">([^<]+)<", svg)
    )
    assert "partition4" not in svg
