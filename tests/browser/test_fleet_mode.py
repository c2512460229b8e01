"""The Fleet mode with a real mouse and keyboard: two workloads, a node that is drained, before and after."""

from __future__ import annotations

import pytest
from lab_server import until
from planner_page import Planner

pytestmark = pytest.mark.browser

CELL = "from dra_lab import Lab\nlab = Lab('sample:dgx-h100', file=None)\nlab"
POD = "gpu-nic-cpu"


class Fleet(Planner):
    """The planner in Fleet mode: what a person reads and does there."""

    def __init__(self, open_notebook) -> None:
        super().__init__(open_notebook, CELL)
        self.root.locator(".dra-modes label", has_text="Fleet").click()
        self.pane = self.root.locator(".dra-fleet-mode")
        self.pane.wait_for()
        self.planned()

    def planned(self) -> None:
        """Wait until the fleet is planned, and the screen shows that answer."""
        done = "not lab.fleet.stale and lab.fleet.answer.complete and lab.plan_view.fleet_answer['verdict']"
        verdict = self.pane.locator("h2")
        until(lambda: self.lab.eval(done) == (verdict.text_content() or "-"), "the fleet is planned")

    def form(self, button: str, **fields: str) -> None:
        """Fill in the form of a button and press Enter."""
        self.pane.get_by_role("button", name=button).click()
        form = self.pane.locator(".dra-fleet-form:popover-open")
        for label, value in fields.items():
            form.get_by_label(label).fill(value)
        form.locator("input").last.press("Enter")

    def scenario(self, name: str) -> list[str]:
        """Return the cells of a scenario."""
        heading = self.page.get_by_role("rowheader", name=name, exact=True)
        row = self.pane.get_by_role("row").filter(has=heading)
        row.wait_for()
        return row.locator("td").all_text_contents()[:-1]

    def node(self, name: str):
        """Return the row of a node."""
        return self.pane.locator(f'.dra-fleet-row[data-id="{name}"]')


@pytest.fixture
def fleet(open_notebook) -> Fleet:
    """Give the Fleet mode of the shipped fleet of eight nodes."""
    return Fleet(open_notebook)


def test_two_workloads_are_compared_with_the_same_fleet_after_a_drain(fleet):
    """A person adds a workload, keeps the answer, drains a node, and reads both answers side by side."""
    fleet.pane.get_by_label(f"pods of {POD}").and_(fleet.page.locator("input")).fill("8")
    fleet.page.keyboard.press("Enter")
    fleet.planned()
    fleet.form("+ From a file…", **{"Drawing, claim": f"sample:dgx-h100/{POD}"})
    fleet.pane.locator("tbody th", has_text=f"{POD}-2").wait_for()
    fleet.pane.get_by_role("button", name=f"More pods of {POD}-2").click()
    fleet.planned()
    fleet.pane.get_by_role("button", name="Keep as scenario").click()
    before = fleet.scenario("As it is")
    fleet.node("dgx-01").click(button="right")
    fleet.page.get_by_role("menuitem", name="Drain this node").click()
    fleet.node("dgx-01").wait_for(state="detached")
    fleet.planned()
    after = fleet.scenario("now: Drain dgx-01")
    assert before[0] == after[0] == "10 of 10"
    assert int(after[1]) < int(before[1])
    fleet.pane.get_by_role("button", name="Remove the change: Drain dgx-01").click()
    fleet.node("dgx-01").wait_for()


def test_a_pod_that_is_dragged_to_a_node_is_pinned_there(fleet):
    """The pod runs where it was dropped, and its row says that it is pinned."""
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    there = "dgx-06" if here != "dgx-06" else "dgx-08"
    fleet.node(here).locator(".dra-fleet-pod").drag_to(fleet.node(there))
    fleet.pane.locator("tbody th", has_text=f"1 pinned to {there}").wait_for()
    fleet.planned()
    assert fleet.lab.eval("list(lab.fleet.answer.plan.nodes)") == [there]


@pytest.mark.long
def test_a_pod_is_pinned_by_keyboard(fleet):
    """The card of a node has a form that does what dragging does."""
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    there = "dgx-06" if here != "dgx-06" else "dgx-08"
    fleet.node(here).click()
    fleet.form("Pin to…", Node=there)
    fleet.pane.locator("tbody th", has_text=f"1 pinned to {there}").wait_for()
    assert fleet.lab.eval(f"lab.fleet.workload({POD!r}).pins") == {there: 1}


def test_a_device_of_the_picture_is_broken_by_right_click(fleet):
    """The picture of a node shows its pods, and a device can be removed from it."""
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    fleet.node(here).dblclick()
    device = fleet.pane.locator(".dra-fleet-picture [data-id][data-request]").first
    device.click(button="right")
    fleet.page.get_by_role("menuitem", name="Remove this device").click()
    fleet.pane.locator(".dra-fleet-chips li", has_text="Remove ").wait_for()
    assert fleet.lab.eval("str(lab.fleet.layers[0])").startswith("--without ")


@pytest.mark.long
def test_what_cannot_be_done_is_reported_with_the_nearest_name(fleet):
    """A node that is not there is refused in the pane."""
    fleet.form("Drain…", Node="dgx-011")
    fleet.pane.get_by_text("did you mean").wait_for()
    assert not fleet.lab.eval("lab.fleet.layers")


def test_the_fleet_has_nothing_that_axe_finds(fleet):
    """Roles, names and contrast are right in light and dark."""
    fleet.node("dgx-01").click()
    light = fleet.lab.axe(".dra-fleet-mode")
    fleet.lab.theme("dark")
    assert light + fleet.lab.axe(".dra-fleet-mode") == []
