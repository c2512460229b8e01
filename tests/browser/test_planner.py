"""The whole planner in a real JupyterLab: load, draw, solve, see, export, with a real mouse, keyboard and kernel."""

from __future__ import annotations

import os
import shutil
import uuid
from itertools import groupby
from pathlib import Path

import pytest
import yaml
from drawn_canvas import Drawn
from lab_page import LabPage, box_of, wait_for_cells
from lab_server import until

from dra_lab.shipped import samples_dir

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
README_PICTURE = Path(__file__).parents[2] / "notebooks" / "planner.png"


def cell(arguments: str) -> str:
    """The planner cell, as the templates write it."""
    return f"from dra_lab import Lab\nlab = Lab({arguments})\nlab"


class Planner:
    """The planner on a page: what a person reads on it."""

    def __init__(self, lab: LabPage, requests: int = 2) -> None:
        self.lab, self.page = lab, lab.page
        self.page.locator(".dra-lab .dra-sentence").wait_for()
        self.answered()
        self.canvas = Drawn(lab, requests)

    @property
    def sentence(self) -> str:
        return self.page.locator(".dra-sentence").text_content() or ""

    @property
    def chosen(self) -> list[str]:
        """The device ids with a request on the hardware picture, sorted."""
        found = self.page.locator("svg.dra-hw [data-request]")
        return sorted(found.evaluate_all("nodes => nodes.filter(n => n.dataset.request).map(n => n.dataset.id)"))

    @property
    def yaml(self) -> str:
        lines = self.page.locator(".dra-yaml .dra-code")
        return "\n".join(lines.evaluate_all("nodes => nodes.map(n => n.textContent)"))

    def answered(self, words: str = "") -> None:
        """Wait until the kernel has answered the present drawing, and the strip shows that answer and has the words."""

        def shown() -> bool:
            answered = self.lab.eval("not lab.session.stale and lab.plan_view.answer.get('sentence')")
            stale = self.page.locator(".dra-answer.is-stale").count()
            return bool(answered) and self.sentence == answered and words in answered and not stale

        until(shown, f"an answer with {words!r} (now {self.sentence!r})")

    def tab(self, name: str) -> str:
        """Open a tab at the bottom and return its text."""
        self.page.locator(".dra-tab", has_text=name).click()
        return self.page.locator(".dra-panel:visible").text_content() or ""


def pane(shown: Planner) -> str:
    """The pane of the planner that has the focus; "INPUT" for the field of an opened panel, "" outside."""
    return shown.page.evaluate("""() => {
        const at = document.activeElement;
        if (at.matches('.dra-popover input')) return at.tagName;
        return [...at.closest('.dra-lab-grid > *')?.classList ?? []].find(name => name.startsWith('dra-lab-')) ?? '';
    }""")


def tab_to(shown: Planner, words: str) -> list[str]:
    """Press Tab until something with these words has the focus; return the panes on the way, each once."""
    panes = [pane(shown)]
    for _ in range(60):
        shown.page.keyboard.press("Tab")
        panes.append(pane(shown))
        if words in shown.page.evaluate("document.activeElement.innerText ?? ''"):
            return [name for name, _ in groupby(panes)]
    raise AssertionError(f"Tab does not come to {words!r}: {panes}")


@pytest.fixture
def planner(open_notebook):
    """Open a notebook with one planner cell and wait for its answer."""

    def make(arguments: str = "", *, requests: int = 2) -> Planner:
        # a file of its own: a drawing outlives its notebook, so one test must not find another's
        lab = open_notebook([cell(arguments or f'file="{uuid.uuid4().hex}.dralab.yaml"')])
        lab.page.set_viewport_size({"width": 1600, "height": 1000})
        lab.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        return Planner(lab, requests)

    return make


def test_the_planner_opens_on_a_solved_example(planner):
    """Without a click there is a cluster, a drawing, a proven answer, the devices on the picture and the YAML."""
    shown = planner()
    assert "Fits on 3 of 4 nodes now." in shown.sentence
    assert "proven optimal" in shown.sentence
    assert len(shown.chosen) == 4
    assert "kind: ResourceClaimTemplate" in shown.yaml
    assert "matchAttribute: resource.kubernetes.io/pcieRoot" in shown.yaml


def test_a_claim_is_drawn_with_the_mouse_and_answered(planner):
    """Drag two requests in, connect them: the kernel has the sketch, the picture the devices, the YAML the link."""
    shown = planner()
    shown.page.get_by_text("Start empty").click()
    until(lambda: shown.canvas.boxes.count() == 0, "the drawing is empty")
    board = shown.canvas.root.locator(".dra-board")
    for chip, place in (("NVIDIA A100", (140, 170)), ("RDMA NIC", (200, 320))):
        wanted = shown.canvas.boxes.count() + 1
        source = shown.canvas.root.locator(".dra-chip", has_text=chip)
        source.drag_to(board, target_position={"x": place[0], "y": place[1]})
        until(lambda wanted=wanted: shown.canvas.boxes.count() == wanted, f"{chip} is on the canvas")
    shown.canvas.settle()
    gpu, nic = (shown.canvas.boxes.nth(index) for index in (0, 1))
    shown.canvas.drag(shown.canvas.handle(gpu, "right"), shown.canvas.handle(nic, "left"))
    until(lambda: shown.lab.eval("len(lab.sketch.links)") == 1, "the link is in the kernel")
    assert shown.lab.eval("[str(l.how) for l in lab.sketch.links]") == ["pairwise"]
    assert shown.lab.eval("[l.where for l in lab.sketch.links]") == ["pcieRoot"]
    shown.answered("Fits on")
    until(lambda: len(shown.chosen) == 2, "both devices are on the picture")
    until(lambda: "matchAttribute: resource.kubernetes.io/pcieRoot" in shown.yaml, "the link is in the YAML")


def test_a_change_in_python_is_followed_by_the_canvas_and_can_be_undone(planner):
    """One history for Python and the browser."""
    shown = planner()
    shown.lab.run(
        "from msgspec.structs import replace\n"
        "lab.sketch = replace(lab.sketch, requests=tuple(replace(r, exactly=replace(r.exactly, count=5))"
        " for r in lab.sketch.requests))"
    )
    shown.answered("Does not fit")
    assert "5" in (shown.canvas.box("gpu").text_content() or "")
    assert "pci0000:10" in shown.tab("Why not")
    shown.page.get_by_label("Undo (Ctrl+Z)").click()
    shown.answered("Fits on 3 of 4")
    until(lambda: len(shown.chosen) == 4, "the devices are back on the picture")


def test_a_killed_kernel_loses_nothing(planner):
    """The planner says that its kernel is gone; its button brings back the same drawing and the same answer."""
    shown = planner()
    shown.canvas.box("gpu").get_by_label("More gpu").click()
    until(lambda: shown.lab.eval("lab.sketch.requests[0].exactly.count") == 3, "three GPUs in the kernel")
    shown.answered()
    before = shown.sentence
    shown.lab.kill_kernel()
    shown.lab.wait_for_new_kernel()
    shown.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    shown.page.get_by_role("button", name="Restart and run to here").click()
    shown.page.locator(".dra-lost").first.wait_for(state="detached")
    until(lambda: shown.page.locator(".dra-lab").count() >= 1, "the planner is back")
    until(lambda: shown.lab.eval("lab.sketch.requests[0].exactly.count") == 3, "three GPUs again")
    shown.answered(before)


def test_the_keyboard_alone_goes_from_an_empty_drawing_to_manifests(planner, server):
    """Tab goes through the panes as they stand on the screen; what is drawn, linked and written needs no mouse."""
    shown = planner("file=None")
    keyboard, folder = shown.page.keyboard, uuid.uuid4().hex
    shown.page.locator(".dra-bar-source").focus()
    tab_to(shown, "Start empty")
    keyboard.press("Enter")
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 0, "an empty drawing")
    assert pane(shown), "the focus stays in the planner"
    tab_to(shown, "A100")
    keyboard.press("Enter")
    until(lambda: shown.canvas.focused().startswith("r:"), "the new box has the focus")
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 1, "one request")
    keyboard.press("+")
    until(lambda: shown.lab.eval("lab.sketch.requests[0].exactly.count") == 2, "two of them")
    keyboard.press("Shift+Tab")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 2, "a second request")
    until(lambda: shown.canvas.focused().startswith("r:"), "its box has the focus")
    for key in ("l", "ArrowLeft", "Enter"):
        keyboard.press(key)
    until(lambda: shown.lab.eval("len(lab.sketch.links)") == 1, "a link")
    shown.answered("Fits")
    assert tab_to(shown, "Copy") == ["dra-lab-canvas", "dra-lab-hardware", "dra-lab-dock"]
    shown.page.locator(".dra-export").focus()
    keyboard.press("Enter")
    shown.page.get_by_role("dialog", name="Export").wait_for()
    shown.page.get_by_role("textbox", name="Folder", exact=True).focus()
    keyboard.press("Control+a")
    keyboard.type(folder)
    keyboard.press("Enter")
    until(lambda: shown.lab.eval("lab.session.exporting.choice.folder") == folder, "the folder is taken")
    ready = shown.page.get_by_role("button", name="Export 5 files")
    until(lambda: shown.lab.eval("lab.session.exporting.stage") == "" and ready.is_enabled(), "it is simulated", 30)
    ready.focus()
    keyboard.press("Enter")
    until((server.root / folder / "resourceclaimtemplate.yaml").exists, "the file is there")


def test_another_cluster_keeps_the_drawing_and_says_why_it_does_not_fit(planner):
    """Choosing a sample in the bar is an edit of the cluster, not of the drawing."""
    shown = planner("file=None")
    shown.page.locator(".dra-bar button", has_text="sample:eks-p4d").click()
    shown.page.locator(".dra-option", has_text="sample:oke-gb200").click()
    shown.answered("Does not fit")
    assert shown.lab.eval("len(lab.sketch.links)") == 1
    reasons = shown.tab("Why not")
    assert "different PCIe roots" in reasons
    assert "no NUMA" in reasons or "No NUMA" in reasons


def test_a_cluster_of_a_file_is_loaded_by_its_path(planner, server):
    """A dump beside the notebook is one path away; what is missing from it is told."""
    text = (samples_dir() / "mi300x" / "resourceslices.yaml").read_text(encoding="utf-8")
    (server.root / "slices.yaml").write_text(text, encoding="utf-8")
    shown = planner("file=None")
    shown.page.get_by_text("Load your cluster").click()
    shown.page.get_by_label("Path of a file, folder or .tar.gz").fill("slices.yaml")
    shown.page.keyboard.press("Enter")
    until(lambda: shown.lab.eval("lab.cluster.name") == "slices.yaml", "the file's cluster is in the kernel")
    assert "claims-missing" in shown.lab.eval("[f.rule for f in lab.findings]")
    until(lambda: "AMD" in (shown.canvas.root.locator(".dra-palette").text_content() or ""), "its palette is shown")


def hostile_cluster(folder: Path) -> None:
    """Two-sockets with text from the cluster that would like to be markup."""
    shutil.copytree(samples_dir() / "two-sockets", folder)
    for file in folder.glob("*.yaml"):
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
        for item in (item for document in documents for item in document.get("items", [document])):
            for device in item.get("spec", {}).get("devices") or () if item["kind"] == "ResourceSlice" else ():
                device["name"] = HOSTILE + device["name"]
                for attribute in device.get("attributes", {}).values():
                    if "string" in attribute and len(attribute["string"]) > 12:
                        attribute["string"] = HOSTILE + attribute["string"]
        file.write_text(yaml.safe_dump_all(documents), encoding="utf-8")


def test_text_from_a_cluster_stays_text_everywhere(planner, server):
    """A device named like an image tag is letters on canvas, picture, graph and tables, and never an element."""
    hostile_cluster(server.root / "hostile")
    lesson = '__import__("dra_lab").read_sketch("sample:two-sockets/lesson")'
    shown = planner(f'"hostile", file=None, sketch={lesson}', requests=1)
    shown.page.evaluate("() => { window.alert = () => { window.wasHacked = true; }; }")
    until(lambda: "onerror" in (shown.page.locator("svg.dra-hw").first.text_content() or ""), "names are drawn")
    for name in ("Devices", "Findings", "Why ", "Goals", "YAML"):
        shown.tab(name)
    shown.page.get_by_role("button", name="Graph").click()
    shown.page.locator(".dra-graph [role=treeitem]").first.wait_for()
    assert shown.page.locator("img[src='x']").count() == 0
    assert not shown.page.evaluate("() => window.wasHacked")


def test_the_planner_is_readable_in_both_themes(planner):
    """Axe finds nothing serious, and text on every box has a contrast of at least 4.5 to 1."""
    shown = planner("file=None")
    for theme in ("light", "dark"):
        shown.lab.theme(theme)
        assert shown.lab.axe(".dra-lab") == [], theme
        assert shown.lab.low_contrast("svg.dra-hw") == [], theme
        picture = shown.lab.picture(f"planner-{theme}", ".dra-lab")
        if theme == "light" and os.environ.get("DRA_LAB_UPDATE_PICTURES"):
            shutil.copy(picture, README_PICTURE)


@pytest.mark.long
def test_the_launcher_card_shows_the_solved_example(doorway):
    """From the click on the card to the answer on the screen, kernel start included."""
    lab = doorway(width=1600, height=1000)
    card = lab.page.locator(".jp-LauncherCard", has_text="DRA Lab")
    card.first.wait_for()
    card.first.click()
    sentence = lab.page.locator(".dra-answer.has-figures .dra-sentence", has_text="Fits on")
    sentence.wait_for()
    assert sentence.is_visible()
    wait_for_cells(lab)


def test_a_question_about_the_file_covers_nothing_and_loses_nothing(planner, server):
    """It stands in a row of its own: strip and buttons can be seen, and are where they were once it is gone."""
    shown = planner('file="asked.dralab.yaml"')
    file = server.root / "asked.dralab.yaml"
    shown.canvas.box("gpu").get_by_label("More gpu").click()
    until(file.exists, "the drawing is on disk")
    shown.answered()
    strip, tools = (box_of(shown.page.locator(name)) for name in (".dra-answer", ".dra-tools"))
    file.write_text(file.read_text(encoding="utf-8").replace("name: gpu-nic-pairs", "name: from-disk"))
    shown.canvas.box("gpu").get_by_label("More gpu").click()
    ask = shown.page.locator(".dra-ask")
    ask.wait_for()
    low = box_of(ask)
    until(lambda: box_of(shown.page.locator(".dra-tools"))["y"] >= low["y"] + low["height"], "nothing is covered")
    assert box_of(shown.page.locator(".dra-answer")) == strip
    ask.get_by_role("button", name="Use the file").click()
    until(lambda: shown.lab.eval("lab.sketch.name") == "from-disk", "the file's drawing")
    until(lambda: box_of(shown.page.locator(".dra-tools")) == tools, "the row is gone")
