"""Where boxes and devices stand."""

from __future__ import annotations

import pytest
from small_nodes import NUMA, a_slice, cluster, device, real_cluster
from small_plans import busy_cluster

from dra_lab import load_cluster
from dra_lab.pictures.boxes import SIZE, Frame
from dra_lab.pictures.captions import text_width
from dra_lab.pictures.scene import node_scene
from dra_lab.topology.locality import localities


def boxes(frame: Frame):
    """Yield every box of a scene with what is directly in it."""
    yield frame, (*frame.frames, *frame.marks)
    for inner in frame.frames:
        yield from boxes(inner)


def many_cpus():
    """A node with 2 x 96 CPUs, each a device."""
    cpus = [device(f"cpudev{n:03}", {NUMA: n // 96, "cpuID": n, "socketID": n // 96}) for n in range(192)]
    return cluster(a_slice("dra.cpu", *cpus))


WORLDS = {
    "busy": busy_cluster,
    "many": many_cpus,
    "p4d": lambda: real_cluster("eks-p4d"),
    "mig": lambda: load_cluster("sample:mig"),
    "h100": lambda: load_cluster("sample:dgx-h100"),
    "shared": lambda: load_cluster("sample:shared-gpu"),
    "vfs": lambda: load_cluster("sample:inference-l40s"),
}
WIDTHS = (440, 640, 840)


@pytest.fixture(scope="module", params=[(world, width) for world in sorted(WORLDS) for width in WIDTHS], ids=str)
def scene(request):
    """The scene of the first node of each world in the narrowest pane and in wider ones, with the world."""
    name, width = request.param
    world = WORLDS[name]()
    return node_scene(world, world.node_names[0], width), world


def test_every_device_is_drawn_once(scene):
    drawn = [locality.device for mark in scene[0].all_marks() for locality in mark.localities]
    assert sorted(drawn) == sorted(localities(scene[1], scene[1].node_names[0]))


def test_everything_lies_inside_its_box(scene):
    for frame, inner in boxes(scene[0]):
        for item in inner:
            assert frame.x <= item.x
            assert item.x + item.width <= frame.x + frame.width + 0.01
            is_beside = frame.lines and frame.x + text_width(frame.lines[0], SIZE) <= item.x
            assert frame.y + (15 if frame.lines and not is_beside else 0) <= item.y
            assert item.y + item.height <= frame.y + frame.height + 0.01


def test_nothing_overlaps(scene):
    for _, inner in boxes(scene[0]):
        for at, one in enumerate(inner):
            for other in inner[at + 1 :]:
                apart = one.x + one.width <= other.x + 0.01 or other.x + other.width <= one.x + 0.01
                above = one.y + one.height <= other.y + 0.01 or other.y + other.height <= one.y + 0.01
                assert apart or above


def test_headings_and_names_fit_their_boxes(scene):
    for frame, _ in boxes(scene[0]):
        assert all(text_width(line, SIZE) <= frame.width - 14 for line in (*frame.lines, *frame.source))
    for mark in (mark for mark in scene[0].all_marks() if mark.shape != "slice"):
        assert all(text_width(line, SIZE) <= mark.width for line in mark.lines)


def test_no_name_is_cut(scene):
    for mark in scene[0].all_marks():
        if len(mark.localities) == 1 and mark.shape != "slice":
            assert "".join(mark.lines).replace(" ", "") == mark.locality.name.replace(" ", "")


def test_every_device_is_large_enough_to_hit(scene):
    assert min(min(mark.width, mark.height) for mark in scene[0].all_marks()) >= 24


def test_the_source_of_a_derived_numa_node_is_reported():
    """Where only the NICs publish a NUMA node, the heading says so."""
    frames = [frame for frame, _ in boxes(node_scene(busy_cluster(), "n1")) if frame.branch.level == "numaNode"]
    text = " ".join(line for frame in frames for line in (*frame.lines, *frame.source))
    assert "inferred from the NICs (the GPUs report none)" in text


def test_devices_without_locality_are_in_a_dotted_box():
    last = node_scene(busy_cluster(), "n1").frames[-1]
    assert (last.branch.level, last.lines) == ("unknown", ("Location unknown",))
    assert {mark.locality.device.device for mark in last.marks} == {"gpu-4", "x"}


def test_more_than_twelve_like_devices_are_one_block():
    """96 CPUs of a NUMA node are one block; twelve are drawn one by one."""
    world = many_cpus()
    assert [len(mark.localities) for mark in node_scene(world, world.node_names[0]).all_marks()] == [96, 96]
    few = cluster(a_slice("dra.cpu", *(device(f"cpudev{n}", {NUMA: 0, "cpuID": n}) for n in range(12))))
    assert [len(mark.localities) for mark in node_scene(few, few.node_names[0]).all_marks()] == [1] * 12
