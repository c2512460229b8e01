"""Ten flows of a person through the planner, from the first click to a notebook that is opened without its kernel."""

from __future__ import annotations

import pytest
from drawn_canvas import Drawn
from lab_page import LabPage, wait_for_cells, write_notebook
from lab_server import until
from planner_page import MISFIT, UNLINKED, Fleet
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

LESSON = "01-devices-and-slices"


def test_open(doorway, server):
    """One click in the launcher opens a planner with a solved example: its proof, its devices and its manifest."""
    for path in server.root.glob("plan*"):
        path.unlink()
    page = doorway(width=1600, height=1000)
    page.page.locator(".jp-LauncherCard", has_text="DRA Lab: new plan").first.click()
    wait_for_cells(page)
    shown = page.page.locator(".dra-lab")
    expect(shown.locator(".dra-sentence")).to_contain_text("Fits on 3 of 4 nodes now.")
    expect(shown.locator(".dra-sentence")).to_contain_text("proven optimal")
    expect(shown.locator("svg.dra-hw .dra-hw-chosen[data-request]")).to_have_count(4)
    expect(shown.locator(".dra-yaml")).to_contain_text("kind: ResourceClaimTemplate")


def test_draw(planner):
    """Two devices are dragged to the canvas and linked: the claim is answered, on the picture and in the manifest."""
    planner.page.set_viewport_size({"width": 1600, "height": 1000})
    planner.button("Start empty").click()
    canvas = Drawn(planner.lab, 0)
    board = canvas.root.locator(".dra-board")
    for chip, (x, y) in (("NVIDIA A100", (140, 170)), ("RDMA NIC", (200, 320))):
        wanted = canvas.boxes.count() + 1
        canvas.root.locator(".dra-chip", has_text=chip).drag_to(board, target_position={"x": x, "y": y})
        expect(canvas.boxes).to_have_count(wanted)
    canvas.settle()
    gpu, nic = (canvas.boxes.nth(index) for index in (0, 1))
    canvas.drag(canvas.handle(gpu, "right"), canvas.handle(nic, "left"))
    planner.sentence("Fits on")
    expect(planner.hardware.locator(".dra-hw-chosen[data-request]")).to_have_count(2)
    planner.tab("YAML").click()
    expect(planner.tabs).to_contain_text("matchAttribute: resource.kubernetes.io/pcieRoot")


def test_plan(planner):
    """Another count, another order of goals and a chosen node are each answered, with a proof of every goal."""
    before = planner.sentence("Fits on 3 of 4 nodes")
    planner.button("More gpu").click()
    planner.page.get_by_text("You ask for 3 A100").wait_for()
    planner.button("Undo").click()
    until(lambda: planner.sentence("Fits on") == before, "the answer is back")
    planner.tab("Goals").click()
    goals = planner.tabs.locator(".dra-goals > li")
    expect(goals).to_have_count(6)
    expect(planner.tabs.locator("[data-goal=numa]")).to_contain_text("proven")
    planner.tabs.locator('[data-key="up-roots"]').focus()
    planner.page.keyboard.press("ArrowUp")
    expect(goals.nth(3)).to_have_attribute("data-goal", "roots")
    planner.answered()
    planner.hardware.locator(".dra-tile").nth(3).click()
    expect(planner.hardware).to_contain_text("158-9.ec2.internal")
    planner.button("Plan here", planner.hardware).click()
    planner.sentence("Does not fit")
    planner.button("Best node again", planner.hardware).click()
    planner.sentence("Fits on 3 of 4 nodes")


def test_misfit_and_fix(planner):
    """A claim that fits nowhere has its reason and a change that helps: Enter makes it, and Undo reverts it."""
    planner.lab.run(MISFIT)
    planner.sentence("Does not fit")
    planner.tab("Why not").click()
    planner.why.get_by_text("pci0000:10 has 2 gpu").first.wait_for(state="attached")
    planner.strip.locator(".dra-fix").first.wait_for()
    planner.strip.focus()
    planner.page.keyboard.press("Enter")
    planner.sentence("Fits on 3 of 4 nodes")
    planner.button("Undo").click()
    planner.sentence("Does not fit")


def test_export(planner, server):
    """The sheet simulates kube-scheduler, writes the files, and replaces an edited one only if the person allows it."""
    planner.button("Export…").click()
    sheet = planner.root.get_by_role("dialog", name="Export")
    sheet.get_by_label("Folder").fill("flow")
    sheet.get_by_label("Folder").press("Enter")
    expect(sheet.get_by_role("switch")).to_be_checked()
    expect(sheet.locator(".dra-outcome")).to_contain_text("2 of 2 pairs on every node it may choose")
    write = sheet.get_by_role("button", name="Export 5 files")
    write.click()
    sheet.get_by_text("Written: ").wait_for()
    pod = server.root / "flow" / "pod.yaml"
    pod.write_text("mine: true\n", encoding="utf-8")
    planner.page.keyboard.press("Escape")
    planner.button("Export…").click()
    sheet.get_by_role("button", name="Browse").last.click()
    sheet.get_by_role("button", name="Up", exact=True).click()
    sheet.get_by_role("button", name="flow", exact=True).click()
    sheet.get_by_role("button", name="Choose this folder").click()
    expect(sheet.get_by_label("Folder")).to_have_value("flow")
    only = sheet.get_by_label("Only changed")
    only.check()
    expect(sheet.locator(".dra-files li")).to_have_count(1)
    sheet.get_by_role("button", name="pod.yaml you edited it").click()
    sheet.locator(".dra-diff-line[data-sign='-']", has_text="mine: true").wait_for()
    only.uncheck()
    sheet.get_by_label("Write pod.yaml").uncheck()
    sheet.get_by_text("1 file left out").wait_for()
    sheet.get_by_label("Write pod.yaml").check()
    write.click()
    sheet.locator("footer .dra-wrong").wait_for()
    assert pod.read_text(encoding="utf-8") == "mine: true\n"
    sheet.get_by_label("Overwrite my edits").check()
    write.click()
    until(lambda: "kind: Pod" in pod.read_text(encoding="utf-8"), "the file is replaced")


def test_fleet(open_notebook):
    """Two workloads are planned, the answer is kept, a node is drained, and both answers stand side by side."""
    fleet = Fleet(open_notebook)
    fleet.pane.get_by_label("pods of gpu-nic-cpu").and_(fleet.page.locator("input")).fill("8")
    fleet.page.keyboard.press("Enter")
    fleet.planned()
    fleet.form("+ From a file…", **{"Drawing, claim": "sample:dgx-h100/gpu-nic-cpu"})
    fleet.pane.get_by_role("button", name="gpu-nic-cpu-2 (rename)").click()
    fleet.page.keyboard.type("second")
    fleet.page.keyboard.press("Enter")
    fleet.pane.get_by_role("button", name="More pods of second").click()
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


def test_compare(planner):
    """Two kept plans are columns with their differences; a plan is renamed, drawn again, and removed."""
    keep = planner.tabs.get_by_role("button", name="Keep")
    for kept in (1, 2):
        keep.click()
        until(lambda n=kept: planner.lab.eval("len(lab.session.comparing.plans)") == n, "the plan is kept")
        planner.lab.run(UNLINKED)
        planner.answered()
    planner.root.get_by_role("radio", name="Compare").click(force=True)
    pane = planner.root.locator(".dra-compare")
    row = pane.locator("tr", has_text="Bandwidth with kube-scheduler")
    row.wait_for()
    assert row.get_attribute("data-differs") is not None
    pane.get_by_role("button", name="Diff of").click()
    for sign in "+-":
        pane.locator(f".dra-diff-line[data-sign='{sign}']").first.wait_for()
    pane.locator(".dra-editable").first.click()
    planner.page.keyboard.press("Control+a")
    planner.page.keyboard.type("linked")
    planner.page.keyboard.press("Enter")
    pane.locator(".dra-editable", has_text="linked").wait_for()
    pane.get_by_role("button", name="Make this the drawing").click()
    until(lambda: planner.lab.eval("len(lab.sketch.links)") == 1, "the link is drawn again")
    pane.get_by_role("button", name="Remove linked").click()
    expect(pane.locator(".dra-editable")).to_have_count(1)


def test_trace(planner):
    """The search of kube-scheduler is read step by step, and a prediction is scored."""
    planner.bar.get_by_role("radio", name="Trace").click(force=True)
    pane = planner.hardware.get_by_role("region", name="Trace")
    heading = pane.get_by_role("heading", level=2)
    expect(heading).to_contain_text("Step 1 of 87.")
    pane.get_by_role("button", name="Next", exact=True).click()
    planner.page.keyboard.press("ArrowRight")
    expect(heading).to_contain_text("Step 3 of 87.")
    planner.page.keyboard.press("Home")
    pane.get_by_role("button", name="Predict first").click()
    pane.locator('svg [data-id$="gpu-3"]').first.click()
    expect(pane.locator(".dra-trace-predict")).to_contain_text("Right: kube-scheduler allocates gpu-3")
    expect(pane.locator(".dra-trace-predict")).to_contain_text("Score: 1 of 1")
    pane.get_by_role("button", name="Predict first").click()
    planner.page.keyboard.press("End")
    expect(pane.locator("svg .dra-hw-chosen[data-request]")).to_have_count(4)


def test_learn(planner):
    """A lesson is played with the mouse: predict, read the trace, draw, check, explain; the plan stays as it is."""
    before = planner.lab.eval("[lab.sketch.name, lab.cluster.name]")
    planner.bar.get_by_role("radio", name="Learn").click(force=True)
    pane = planner.page.locator(".dra-learn")
    pane.get_by_role("button", name="Devices and slices").click()
    search = f"__import__('dra_lab').Lesson('{LESSON}', folder=__import__('tempfile').mkdtemp()).run.searched"
    for device in planner.lab.eval(f"[str(one.device) for one in {search}.first_fit.placements]"):
        pane.locator(f'.dra-lesson-picture [data-id="{device}"]').first.click()
    for step in ("This is my prediction", "Go to Trace", "Go to Draw"):
        pane.get_by_role("button", name=step).click()
    judged = pane.locator(".dra-lesson-judged")
    board = pane.locator(".react-flow__pane")
    for at, (chip, check, verdict) in enumerate((("A100", "my drawing", "Not yet."), ("NIC", "again", "Right."))):
        place = {"x": 120 + 300 * at, "y": 120}
        pane.locator(".dra-chip", has_text=chip).first.drag_to(board, target_position=place)
        expect(pane.locator(".dra-canvas")).to_have_attribute("data-requests", str(at + 1))
        pane.get_by_role("button", name=f"Check {check}").click()
        expect(judged).to_contain_text(verdict)
    pane.get_by_role("button", name="Go to Explain").click()
    pane.get_by_label("Your sentence").fill("The driver publishes devices in slices.")
    planner.page.keyboard.press("Enter")
    expect(pane.locator(".dra-lesson-head")).to_contain_text("You finished this lesson.")
    planner.bar.get_by_role("radio", name="Plan").click(force=True)
    assert planner.lab.eval("[lab.sketch.name, lab.cluster.name]") == before


def test_reopen_without_a_kernel(server, chromium):
    """A saved notebook shows the answer and the picture without its kernel, and a button leads back to the planner."""
    write_notebook(server.root / "stored.ipynb", ["from dra_lab import Lab\nlab = Lab(file=None)\nlab"])
    page = LabPage(chromium.new_context(reduced_motion="reduce"), server).open("stored.ipynb").run_all()
    page.page.locator(".dra-lab .dra-answer[data-state=fits]").first.wait_for()
    page.command("docmanager:save")
    page.release()
    server.end_sessions("stored.ipynb")
    page.open("stored.ipynb")
    page.page.locator(".dra-result", has_text="Fits on 3 of 4 nodes").wait_for()
    assert page.page.locator(".dra-result img").evaluate("image => image.naturalWidth") > 300
    page.page.get_by_role("button", name="Run the cell to plan").click()
    page.page.locator(".dra-lab .dra-answer[data-state=fits]").first.wait_for()
    server.end_sessions("stored.ipynb")
    page.check()
    page.close()
