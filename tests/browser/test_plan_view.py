"""PlanView in a real JupyterLab: the answer strip, the tabs, what is copied and written."""

from __future__ import annotations

import pytest
from code_of import code_of
from lab_page import box_of
from lab_server import until

pytestmark = pytest.mark.browser


NO_FIT = "from dra_lab import read_sketch\nlab.sketch = read_sketch('sample:eks-p4d/five-pairs')"


def test_the_answer_follows_the_drawing_and_its_reasons(planner):
    """A drawing that does not fit has a short cause, and its reasons in "Why not?"; undo brings the answer back."""
    assert planner.sentence("Fits on 3 of 4 nodes now.") == "Fits on 3 of 4 nodes now. Best on 128-17, proven optimal."
    assert 100 <= box_of(planner.strip)["height"] <= 120
    planner.lab.run(NO_FIT)
    why = "No node has 5 free RDMA NICs. The most that one node has is 4."
    assert planner.sentence("Does not fit") == f"Does not fit. {why}"
    planner.strip.locator(".dra-fix").first.wait_for()
    assert 100 <= box_of(planner.strip)["height"] <= 120
    planner.tab("Why not").click()
    planner.why.get_by_text("pci0000:10 has 2 gpu").first.wait_for(state="attached")
    planner.lab.run("lab.undo()")
    planner.sentence("Fits on 3 of 4 nodes")


def answer_slowly():
    """Let the next plan report one goal and wait until it is cancelled."""
    from dra_lab import planner
    from dra_lab.errors import Cancelled

    real = planner.make_plan

    def slow(*arguments, cancel, progress, **options):
        progress(planner.Progress("numa", "goal 4: NUMA nodes", 2, 1))
        cancel.wait(30)
        planner.make_plan = real
        raise Cancelled("cancelled before there was any answer")

    planner.make_plan = slow


@pytest.mark.long
def test_a_slow_answer_leaves_the_last_one_dimmed_and_can_be_cancelled(planner):
    """While the solver works the strip says for which drawing its words are; Cancel ends it."""
    planner.lab.run(f"{code_of(answer_slowly)}\n{NO_FIT}")
    work = planner.strip.locator(".dra-work")
    work.get_by_text("for the previous drawing").wait_for()
    work.get_by_text("goal 4: NUMA nodes, best 2, bound 1").wait_for()
    assert "Fits on 3 of 4" in planner.sentence("Fits on")
    assert planner.lab.low_contrast(".dra-answer") == []
    planner.button("Cancel", planner.strip).click()
    work.get_by_text("cancelled before").wait_for()
    assert "Fits on 3 of 4" in planner.sentence("Fits on")


def test_tabs_by_keyboard_show_goals_and_devices(planner):
    """Arrows choose a tab; goals stand beside kube-scheduler's; the table filters, and its rows light the picture."""
    planner.tab("YAML").focus()
    planner.page.keyboard.press("ArrowRight")
    rows = planner.tabs.locator(".dra-goals > li")
    assert rows.count() == 6
    numa = planner.tabs.locator("[data-goal=numa]")
    assert numa.locator(".dra-goal-value").text_content() == "1 NUMA node proven"
    assert numa.locator("dd").all_text_contents()[:2] == ["1", "2"]
    planner.page.keyboard.press("End")
    assert planner.tab("Findings").get_attribute("aria-selected") == "true"
    planner.tab("Devices").click()
    planner.tabs.get_by_role("searchbox").fill("gpu-4 128-17")
    row = planner.tabs.locator(".dra-panel:visible .dra-tbody .dra-tr")
    until(lambda: row.count() == 1, "one row is left")
    row.hover()
    planner.hardware.locator(".dra-hw-lit").wait_for()
    assert planner.hardware.locator(".dra-hw-lit").get_attribute("data-id") == row.get_attribute("data-id")


def test_goals_are_put_in_another_order_by_keyboard(planner):
    """An arrow key on a goal's button moves it, the plan is computed again, the order is kept and can be undone."""
    planner.tab("Goals").click()
    rows = planner.tabs.locator(".dra-goals > li")
    planner.tabs.locator('[data-key="up-roots"]').focus()
    planner.page.keyboard.press("ArrowUp")
    until(lambda: rows.nth(3).get_attribute("data-goal") == "roots", "the goal has moved")
    assert planner.page.evaluate("document.activeElement.dataset.key") == "up-roots"
    assert planner.lab.eval("lab.session.drawing.goals[:2]") == ["numa", "roots"]
    planner.tabs.get_by_text("kube-scheduler without links: 1.0 on 1 of 2 GPUs").wait_for()
    planner.button("Usual order", planner.tabs).click()
    until(lambda: rows.nth(4).get_attribute("data-goal") == "roots", "the usual order is back")


def make_write(lab):
    """Define `write`, which gives the first request a selector."""
    from msgspec.structs import replace

    from dra_lab import CELDeviceSelector, DeviceSelector

    def write(text):
        sketch = lab.sketch
        first, *others = sketch.requests
        selectors = (DeviceSelector(cel=CELDeviceSelector(expression=text)),)
        first = replace(first, exactly=replace(first.exactly, selectors=selectors))
        lab.sketch = replace(sketch, requests=(first, *others))

    return write


def test_a_half_written_selector_keeps_the_last_answer(planner):
    """Strip and picture stay, dimmed, with the error beside them; finishing the selector brings the answer."""
    planner.lab.run(f"{code_of(make_write)}\nwrite('device.driver ==')")
    planner.strip.locator(".dra-trouble", has_text="does not compile").wait_for()
    assert "Fits on 3 of 4" in planner.sentence("Fits on")
    assert 100 <= box_of(planner.strip)["height"] <= 120
    assert planner.lab.low_contrast(".dra-answer") == []
    planner.lab.picture("planner-trouble")
    planner.lab.run("write('device.driver == \"gpu.nvidia.com\"')")
    planner.strip.locator(".dra-trouble").wait_for(state="detached")


def test_a_line_of_the_yaml_lights_its_request_everywhere(planner):
    """Hovering the lines of a request lights its devices on the picture, and the kernel knows."""
    planner.tab("YAML").click()
    planner.tabs.locator(".dra-code-line[data-letter=A]").first.hover()
    until(lambda: planner.hardware.locator(".dra-hw-lit").count() == 2, "both GPUs light up")
    until(lambda: planner.lab.eval("lab.session.highlight") == "gpu", "the session knows")


@pytest.mark.long
def test_copy_where_the_clipboard_is_barred_selects_the_text(planner):
    """No permission is asked for: the text is selected and the person told what to press."""
    planner.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('barred')); }")
    planner.button("Copy", planner.tabs.locator(".dra-tools-right")).click()
    planner.tabs.get_by_text("press Ctrl+C").wait_for()
    selected = planner.page.evaluate("() => window.getSelection().toString()")
    # The letters in the margin are no part of it.
    assert selected.strip() == planner.lab.eval("lab.plan_view.yaml").strip()


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_and_accessibility_of_every_tab(planner, theme):
    """In both themes axe finds nothing serious and every text can be read, on every tab."""
    planner.lab.theme(theme)
    planner.lab.run(NO_FIT.replace("five", "four"))
    planner.answered()
    for name in ("YAML", "Goals", "Why not", "What you export", "Devices", "Nodes", "Findings"):
        planner.tab(name).click()
        assert planner.lab.low_contrast(".dra-plan-view") == [], name
    assert planner.lab.axe(".dra-cluster-bar", ".dra-plan-view", ".dra-hardware") == []
    assert planner.lab.low_contrast(".dra-cluster-bar") == []
    planner.lab.picture(f"planner-{theme}")
