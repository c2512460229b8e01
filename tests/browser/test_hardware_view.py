"""HardwareView in a real JupyterLab: picture, fleet strip, graph, comparison, PNG."""

from __future__ import annotations

import pytest
from lab_page import box_of
from lab_server import until
from planner_page import Planner

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_the_tree_by_keyboard_lights_canvas_and_yaml(planner):
    """Arrows walk through the picture; Enter on a chosen device lights its request in every view."""
    planner.hardware.locator('[role=treeitem][tabindex="0"]').first.focus()
    device = "() => document.activeElement.dataset.request ?? ''"
    for _ in range(40):
        planner.page.keyboard.press("ArrowDown")
        if planner.page.evaluate(device):
            break
    request = planner.page.evaluate(device)
    assert request in ("gpu", "nic")
    planner.page.keyboard.press("Enter")
    until(lambda: planner.lab.eval("lab.canvas.highlight") == request, "the canvas is told")
    planner.tabs.locator(".dra-code-line.is-lit").first.wait_for(state="attached")


def test_the_graph_stands_beside_the_picture_and_closes_with_escape(planner):
    planner.button("Graph", planner.hardware).click()
    graph, picture = planner.hardware.locator(".dra-graph"), planner.hardware.locator(".dra-picture")
    graph.locator("svg.dra-hw-tree").wait_for()
    one, other = box_of(picture), box_of(graph)
    apart = one["x"] + one["width"] <= other["x"] or one["y"] + one["height"] <= other["y"]
    assert apart
    assert graph.locator("[role=treeitem]").count() == picture.locator("[role=treeitem]").count()
    planner.page.keyboard.press("Escape")
    graph.wait_for(state="hidden")
    until(lambda: planner.lab.eval("lab.hardware.graph") == "", "the tree is forgotten")


def test_text_is_never_scaled_or_cut(planner):
    texts = """svg => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        const right = svg.getBoundingClientRect().right;
        return [...svg.querySelectorAll("text")].map(text => [
            parseFloat(getComputedStyle(text).fontSize) * scale, text.getBoundingClientRect().right <= right]);
    }"""

    def legible() -> bool:
        found = planner.hardware.locator(".dra-picture-pane svg").first.evaluate(texts)
        return bool(found) and all(size >= 13 and inside for size, inside in found)

    until(legible, "the picture is laid out for its pane and its text is legible")
    until(lambda: planner.lab.eval("lab.hardware.width") > 0, "the kernel knows the width of the pane")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1440, 900)])
def test_every_device_of_a_dgx_can_be_brought_into_sight(open_notebook, width, height):
    code = "from dra_lab import Lab\nlab = Lab('sample:dgx-h100', file=None)\nlab"
    planner = Planner(open_notebook, code, width=width, height=height)
    until(lambda: planner.lab.eval("lab.hardware.width") > 0, "the picture is laid out for its pane")
    inside = planner.hardware.locator(".dra-picture-pane").evaluate(
        """pane => [...pane.querySelectorAll('[role=treeitem] .dra-hw-shape')].map(shape => {
            shape.scrollIntoView({block: 'nearest', inline: 'nearest'});
            const [box, room] = [shape.getBoundingClientRect(), pane.getBoundingClientRect()];
            return room.left <= box.left && box.right <= room.right + 1
                && room.top <= box.top + 1 && box.bottom <= room.bottom + 1;
        })"""
    )
    assert len(inside) > 16
    assert all(inside)


def _saved(planner, tmp_path, kind):
    """Save the picture from its menu, and return the name that was proposed and the file."""
    planner.button("Picture", planner.hardware).click()
    with planner.page.expect_download() as download:
        planner.button(f"Save as {kind.upper()}", planner.hardware).click()
    path = tmp_path / f"node.{kind}"
    download.value.save_as(path)
    return download.value.suggested_filename, path


def test_the_picture_is_saved_as_png(planner, tmp_path):
    from PIL import Image

    name, path = _saved(planner, tmp_path, "png")
    assert name == f"{planner.lab.eval('lab.hardware.node')}.png"
    with Image.open(path) as image:
        wide = planner.lab.eval("lab.hardware.svg.split('width=\"')[1].split('\"')[0]")
        assert image.width == 2 * float(wide)
        colours = {colour for _, colour in image.convert("RGB").getcolors(maxcolors=1 << 20)}
    assert {(255, 255, 255), (0, 114, 178), (213, 94, 0)} <= colours


def test_the_picture_is_copied(planner):
    """The clipboard holds a PNG; where the browser bars it the pane says what to do instead."""
    planner.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    planner.button("Picture", planner.hardware).click()
    planner.button("Copy the picture", planner.hardware).click()
    planner.hardware.locator(".dra-picture-menu [role=status]").get_by_text("Copied").wait_for()
    kinds = planner.page.evaluate("async () => (await navigator.clipboard.read()).flatMap(item => [...item.types])")
    assert "image/png" in kinds


def test_a_narrow_cell_is_one_column_in_the_same_order(open_notebook):
    """Below 880 pixels the panes stand under each other: bar, verdict, picture, canvas, dock; nothing is cut off."""
    planner = Planner(open_notebook, width=900, height=1000)
    parts = [planner.bar, planner.strip, planner.hardware, planner.root.locator(".dra-lab-canvas"), planner.tabs]
    boxes = [box_of(part) for part in parts]
    tops = [box["y"] for box in boxes]
    assert tops == sorted(tops)
    width = box_of(planner.root)["width"]
    assert all(box["width"] <= width for box in boxes)
    assert planner.root.evaluate("node => node.scrollWidth <= node.clientWidth")
