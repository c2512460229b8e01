"""Fleet, gangs and running pods with a real mouse and keyboard."""

from __future__ import annotations

import pytest
from lab_server import until
from planner_page import Fleet, Planner

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def fleet(open_notebook) -> Fleet:
    """Give the Fleet mode of the shipped fleet of eight nodes."""
    return Fleet(open_notebook)


def test_a_pod_that_is_dragged_to_a_node_is_pinned_there(fleet):
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    there = "dgx-06" if here != "dgx-06" else "dgx-08"
    fleet.node(here).locator(".dra-fleet-pod").drag_to(fleet.node(there))
    fleet.pane.locator("tbody th", has_text=f"1 pinned to {there}").wait_for()
    fleet.planned()
    assert fleet.lab.eval("list(lab.fleet.answer.plan.nodes)") == [there]


def test_a_device_of_the_picture_is_broken_by_right_click(fleet):
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    fleet.node(here).dblclick()
    device = fleet.pane.locator(".dra-fleet-picture [data-id][data-request]").first
    device.click(button="right")
    fleet.page.get_by_role("menuitem", name="Remove this device").click()
    fleet.pane.locator(".dra-fleet-chips li", has_text="Remove ").wait_for()
    assert fleet.lab.eval("str(lab.fleet.layers[0])").startswith("--without ")


CELL = """
from dra_lab import Lab, read_sketch
lab = Lab("sample:h100-pod", file="gangs-on-screen.yaml")
if not lab.sketch.requests:
    lab.sketch = read_sketch("sample:h100-pod/eight-pairs")
lab
"""
POD = "eight-pairs"
PLANNED = "lab.fleet.answer is not None and lab.fleet.answer.complete and not lab.fleet.stale"


class Gangs(Planner):
    """The planner in Fleet mode, on 16 nodes below four leaf switches."""

    def __init__(self, open_notebook, cell: str = CELL) -> None:
        super().__init__(open_notebook, cell)
        self.show()
        self.root.locator(".dra-modes label", has_text="Fleet").click()
        self.pane.wait_for()

    def show(self) -> None:
        """Take the planner that the cell has shown last."""
        self.root = self.page.locator(".dra-lab").first
        self.pane = self.root.locator(".dra-fleet-mode")

    def field(self, label: str, text: str) -> None:
        """Type into a field of the gang and press Enter."""
        field = self.pane.locator(f'input[aria-label="{label}"]')
        field.fill(text)
        field.press("Enter")

    def level(self, name: str) -> None:
        """Choose the level of which one domain has all pods."""
        self.pane.locator(".dra-fleet-levels label", has_text=name).click()

    def verdict(self, begins: str) -> None:
        """Wait until the verdict begins so, and the answer is complete."""
        words = self.pane.locator("h2")
        until(lambda: (words.text_content() or "").startswith(begins), f"the verdict begins {begins!r}")
        until(lambda: self.lab.eval(PLANNED), "the fleet is planned")

    def domain(self, name: str):
        """Return the row of a domain."""
        return self.pane.locator(".dra-domain").filter(has=self.page.get_by_text(name, exact=True))


def test_a_gang_is_made_refused_explained_and_kept(open_notebook):
    """A gang of four is refused; the reason is read, the level changed and undone, and a reload has it all."""
    gangs = Gangs(open_notebook)
    gangs.pane.get_by_role("button", name=f"Actions for {POD}").click()
    gangs.page.get_by_role("menuitem", name="Make it a gang").click()
    gangs.verdict("The gang fits in spine-1/leaf-1: 2 pods on 2 nodes.")
    gangs.field(f"pods of one gang of {POD}", "4")
    gangs.verdict("No leaf switch has all 4 pods of the gang, proven.")
    assert gangs.domain("leaf-1").get_attribute("data-state") == "refused"
    gangs.domain("leaf-1").click()
    card = gangs.pane.get_by_role("region", name="Why not leaf-1?")
    card.wait_for()
    assert card.locator(".dra-bars .dra-number").all_text_contents() == ["4", "2"]
    assert "h100-01" in gangs.pane.get_by_role("region", name="What would make it fit").inner_text()
    gangs.level("spine")
    gangs.verdict("The gang fits in spine-")
    gangs.pane.get_by_role("button", name="Undo").click()
    gangs.verdict("No leaf switch has all 4 pods of the gang, proven.")
    gangs.lab.run_all()
    gangs.show()
    gangs.verdict("No leaf switch has all 4 pods of the gang, proven.")
    assert gangs.pane.locator(".dra-fleet-levels input:checked + span").text_content() == "leaf switch"


OPEN = "from dra_lab import Lab\nlab = Lab('sample:h100-busy', file=None)\nlab"


@pytest.fixture
def busy(open_notebook) -> Planner:
    """Give the planner on the busy sample with its example, which asks for eight GPUs and fits nowhere."""
    return Planner(open_notebook, OPEN, state="misfit")


def chosen(busy: Planner, name: str, *, on: bool) -> None:
    """Tick the box of a namespace, or clear it, and wait until the answer follows."""
    box = busy.root.get_by_role("checkbox", name=name, exact=True)
    box.set_checked(on)
    busy.answered()
    until(lambda: busy.lab.eval("lab.session.sought != 'room'"), "room was looked for")


def test_a_new_user_makes_room_and_undoes_it(busy):
    """From the card to the arrows: a narrower choice finds nothing, the first one is applied, drawn and undone."""
    lab, root = busy.lab, busy.root
    root.locator(".dra-fix", has_text="Move 2 pods, no fewer").wait_for()
    busy.button("Show the moves").click()
    moves = root.get_by_role("region", name="Moves", exact=True)
    assert moves.locator(".dra-mv-arrow").count() == 1
    for name in ("research", "serving", "training"):
        chosen(busy, name, on=False)
    moves.get_by_text("No move makes room: 4 running pods may move.").wait_for()
    moves.get_by_text("3 pods of serving may not move.").wait_for()
    chosen(busy, "serving", on=True)
    busy.button("Apply as what-if").click()
    busy.sentence("Fits on 1 of 5 nodes now")
    root.locator(".dra-modes label", has_text="Fleet").click()
    picture = root.locator(".dra-fleet-mode .dra-moves svg[role=img]")
    picture.wait_for()
    assert "1. Move batch/tune-0 from dgx-14 to dgx-13." in (picture.get_attribute("aria-label") or "")
    busy.button("Undo", root.locator(".dra-what-if")).click()
    root.locator(".dra-what-if").wait_for(state="detached")
    assert lab.eval("list(lab.session.fleet.layers)") == []


def test_the_steps_are_saved_as_markdown(busy):
    busy.button("Show the moves").click()
    with busy.page.expect_download() as download:
        busy.button("Save as Markdown").click()
    text = download.value.path().read_text()
    assert "kubectl cordon dgx-14 --dry-run=server" in text
