"""The Export sheet in a real JupyterLab: its verdict, the pin with its price, the diff, the write, the keyboard."""

from __future__ import annotations

import pytest
from code_of import code_of
from lab_server import until
from planner_page import Planner

pytestmark = pytest.mark.browser


def six():
    """Six GPUs and six NICs without links."""
    from dra_lab import ClaimSketch, DeviceRequest, ExactDeviceRequest, Lab

    def request(name, kind):
        return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=kind, count=6))

    sketch = ClaimSketch(name="six", requests=(request("gpu", "gpu.nvidia.com"), request("nic", "dranet")))
    lab = Lab("sample:dgx-h100", file=None, sketch=sketch)
    return lab


@pytest.fixture
def planner(open_notebook):
    """Six GPUs and six NICs of any kind, of which kube-scheduler pairs five."""
    return Planner(open_notebook, code_of(six))


@pytest.fixture
def sheet(planner):
    """The sheet, opened by its button, once pins are found."""
    planner.lab.run("lab.session.exporting.choice = type(lab.session.exporting.choice)(folder='out-six')")
    planner.button("Export…").click()
    found = planner.root.get_by_role("dialog", name="Export")
    found.get_by_role("switch").wait_for()
    yield found
    if found.is_visible():
        planner.page.keyboard.press("Escape")
        found.wait_for(state="detached")


def test_the_pin_is_on_where_the_manifest_misses_the_plan(sheet):
    """Both sentences are there, and the pin has its price."""
    words = sheet.locator(".dra-outcome")
    assert "kube-scheduler allocates 5 of 6 pairs on a node like dgx-08; the plan has 6 of 6." in words.inner_text()
    assert "allocates 6 of 6 pairs on every node it may choose. Price: it still fits" in words.inner_text()
    assert sheet.get_by_role("switch").is_checked()


@pytest.mark.long
def test_without_the_pin_the_sentence_stands_beside_the_button(planner, sheet, server):
    """It is written only by a button that says anyway, beside what kube-scheduler does."""
    sheet.get_by_role("switch").click()
    button = sheet.get_by_role("button", name="Export anyway")
    button.wait_for()
    assert "do not achieve the plan. kube-scheduler allocates 5 of 6" in sheet.locator("footer").inner_text()
    button.click()
    sheet.get_by_text("Written: ").wait_for()
    assert "5 of 6 pairs" in (server.root / "out-six" / "README.md").read_text()


def test_a_changed_file_is_shown_and_kept_until_a_person_allows_it(planner, sheet, server):
    """An edit on disk is in the diff, refuses the write, and is replaced where that is ticked."""
    sheet.get_by_role("button", name="Export 5 files").click()
    sheet.get_by_text("Written: ").wait_for()
    pod = server.root / "out-six" / "pod.yaml"
    pod.write_text("mine: true\n")
    planner.page.keyboard.press("Escape")
    sheet.wait_for(state="detached")
    planner.button("Export…").click()
    sheet.get_by_role("button", name="pod.yaml you edited it").click()
    sheet.locator(".dra-diff-line[data-sign='-']", has_text="mine: true").wait_for()
    sheet.get_by_role("button", name="Export 5 files").click()
    sheet.locator("footer .dra-wrong").wait_for()
    assert pod.read_text() == "mine: true\n"
    sheet.get_by_label("Overwrite my edits").check()
    sheet.get_by_role("button", name="Export 5 files").click()
    until(lambda: "kind: Pod" in pod.read_text(), "the file is replaced")


def test_the_focus_stays_in_the_sheet_and_returns(planner, sheet):
    """Tab goes round inside; Escape closes it, and the button has the focus again."""
    for _ in range(40):
        planner.page.keyboard.press("Tab")
        assert planner.page.evaluate("() => Boolean(document.activeElement.closest('.dra-sheet'))")
    planner.page.keyboard.press("Escape")
    sheet.wait_for(state="detached")
    assert "Export" in planner.page.evaluate("() => document.activeElement.textContent")


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_and_accessibility_of_the_sheet(planner, sheet, theme):
    """In both themes axe finds nothing serious in the sheet, and every text can be read."""
    planner.lab.theme(theme)
    assert planner.lab.low_contrast(".dra-sheet") == []
    assert planner.lab.axe(".dra-sheet") == []
    planner.lab.picture(f"export-sheet-{theme}")


def test_the_sheet_of_a_fleet_has_all_workloads(open_notebook, server):
    """In mode Fleet, Export writes a template and an example of each workload."""
    planner = Planner(open_notebook, code_of(six))
    planner.lab.run("lab.session.fleet.set_replicas('six', 2)")
    planner.lab.run("lab.session.fleet.add(ClaimSketch(name='b', requests=sketch.requests[:1]))")
    planner.lab.run("lab.session.show_mode('fleet')")
    planner.button("Export…").click()
    sheet = planner.root.get_by_role("dialog", name="Export")
    sheet.get_by_label("Folder").fill("out-fleet")
    sheet.get_by_label("Folder").press("Enter")
    sheet.get_by_text("six, b, planned on sample:dgx-h100").wait_for()
    until(lambda: planner.lab.eval("lab.session.exporting.stage") == "", "the fleet is simulated", 60)
    sheet.get_by_role("button", name="Export 6 files").click()
    sheet.get_by_text("Written: ").wait_for()
    names = {path.name for path in (server.root / "out-fleet").iterdir()}
    assert {"resourceclaimtemplate-b.yaml", "deployment-six.yaml", "plan.json"} <= names
    planner.page.keyboard.press("Escape")
    sheet.wait_for(state="detached")
