"""Running pods on screen with a real mouse: room is made for a claim, and a node is drained."""

from __future__ import annotations

import pytest
from lab_server import until
from planner_page import Planner

pytestmark = [pytest.mark.browser, pytest.mark.long]

OPEN = "from dra_lab import Lab\nlab = Lab('sample:h100-busy', file=None)\nlab"


@pytest.fixture
def planner(open_notebook) -> Planner:
    """Give the planner on the busy sample with its example, which asks for eight GPUs and fits nowhere."""
    return Planner(open_notebook, OPEN, state="misfit")


def chosen(planner: Planner, name: str, *, on: bool) -> None:
    """Tick the box of a namespace, or clear it, and wait until the answer follows."""
    box = planner.root.get_by_role("checkbox", name=name, exact=True)
    box.set_checked(on)
    planner.answered()
    until(lambda: planner.lab.eval("not lab.session.seeking_room"), "room was looked for")


def test_a_new_user_makes_room_and_undoes_it(planner):
    """From the card to the arrows: a narrower choice finds nothing, the first one is applied, drawn and undone."""
    lab, root = planner.lab, planner.root
    root.locator(".dra-fix", has_text="Move 2 pods, no fewer").wait_for()
    planner.button("Show the moves").click()
    moves = root.get_by_role("region", name="Moves", exact=True)
    assert moves.locator(".dra-mv-arrow").count() == 1
    for name in ("research", "serving", "training"):
        chosen(planner, name, on=False)
    moves.get_by_text("No move makes room: 4 running pods may move.").wait_for()
    moves.get_by_text("3 pods of serving may not move.").wait_for()
    chosen(planner, "serving", on=True)
    planner.button("Apply as what-if").click()
    planner.sentence("Fits on 1 of 5 nodes now")
    root.locator(".dra-modes label", has_text="Fleet").click()
    picture = root.locator(".dra-fleet-mode .dra-moves svg[role=img]")
    picture.wait_for()
    assert "1. Move batch/tune-0 from dgx-14 to dgx-13." in (picture.get_attribute("aria-label") or "")
    planner.button("Undo", root.locator(".dra-what-if")).click()
    root.locator(".dra-what-if").wait_for(state="detached")
    assert lab.eval("list(lab.session.fleet.layers)") == []


def test_a_new_user_drains_a_node_and_reads_what_happens_to_its_pods(planner):
    """One sentence says how many pods leave and which do not come back; the arrows say where the others go."""
    root = planner.root
    root.locator(".dra-modes label", has_text="Fleet").click()
    pane = root.locator(".dra-fleet-mode")
    pane.get_by_role("button", name="Drain…").click()
    form = pane.locator(".dra-fleet-form:popover-open")
    form.get_by_label("Node").fill("dgx-13")
    form.locator("input").last.press("Enter")
    sentence = "3 pods leave dgx-13; 2 of them fit elsewhere. research/notebook-ada will not come back by itself"
    root.locator(".dra-what-if", has_text=sentence).wait_for()
    pane.locator(".dra-moves .dra-mv-lost", has_text="notebook-ada").wait_for()
    assert pane.locator(".dra-mv-arrow").count() == 1


def test_the_steps_are_saved_as_markdown(planner):
    """The file has lines for kubectl that ask the server and change nothing."""
    planner.button("Show the moves").click()
    with planner.page.expect_download() as download:
        planner.button("Save as Markdown").click()
    text = download.value.path().read_text()
    assert "kubectl cordon dgx-14 --dry-run=server" in text
