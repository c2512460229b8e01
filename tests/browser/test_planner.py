"""The planner under strain: without a mouse, without its kernel, with hostile names, on a second thread."""

from __future__ import annotations

import shutil
import uuid
from itertools import groupby
from pathlib import Path

import pytest
import yaml
from drawn_canvas import Drawn
from lab_page import box_of
from lab_server import until
from planner_page import Planner

from dra_lab.shipped import samples_dir

pytestmark = [pytest.mark.browser, pytest.mark.long]


HOSTILE = "<img src=x onerror=alert(1)>"
COUNT = "lab.sketch.requests[0].exactly.count"


def opened(open_notebook, arguments: str) -> Planner:
    """Return the planner of a cell with these arguments, in a wide window."""
    code = f"from dra_lab import Lab\nlab = Lab({arguments})\nlab"
    return Planner(open_notebook, code, width=1600, height=1000)


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


def test_a_killed_kernel_loses_nothing(open_notebook):
    shown = opened(open_notebook, f'file="{uuid.uuid4().hex}.dralab.yaml"')
    shown.button("More gpu").click()
    shown.page.get_by_text("You ask for 3 A100").wait_for()
    before = shown.sentence("Fits on")
    shown.lab.kill_kernel()
    shown.lab.wait_for_new_kernel()
    shown.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    shown.page.get_by_role("button", name="Restart and run to here").click()
    shown.page.locator(".dra-lost").first.wait_for(state="detached")
    until(lambda: shown.lab.eval(COUNT) == 3, "three GPUs again")
    until(lambda: shown.sentence("Fits on") == before, "the answer is back")


def test_the_keyboard_alone_goes_from_an_empty_drawing_to_manifests(open_notebook, server):
    """Tab goes through the panes as they stand on the screen; what is drawn, linked and written needs no mouse."""
    shown = opened(open_notebook, "file=None")
    canvas, keyboard, folder = Drawn(shown.lab, 2), shown.page.keyboard, uuid.uuid4().hex
    shown.page.locator(".dra-bar-source").focus()
    tab_to(shown, "Start empty")
    keyboard.press("Enter")
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 0, "an empty drawing")
    assert pane(shown), "the focus stays in the planner"
    tab_to(shown, "A100")
    keyboard.press("Enter")
    until(lambda: canvas.focused().startswith("r:"), "the new box has the focus")
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 1, "one request")
    keyboard.press("+")
    until(lambda: shown.lab.eval(COUNT) == 2, "two of them")
    for key in ("Shift+Tab", "ArrowDown", "Enter"):
        keyboard.press(key)
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 2, "a second request")
    until(lambda: canvas.focused().startswith("r:"), "its box has the focus")
    for key in ("l", "ArrowLeft", "Enter"):
        keyboard.press(key)
    until(lambda: shown.lab.eval("len(lab.sketch.links)") == 1, "a link")
    shown.sentence("Fits")
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


def test_text_from_a_cluster_stays_text_everywhere(open_notebook, server):
    hostile_cluster(server.root / "hostile")
    lesson = '__import__("dra_lab").read_sketch("sample:two-sockets/lesson")'
    shown = opened(open_notebook, f'"hostile", file=None, sketch={lesson}')
    shown.page.evaluate("() => { window.alert = () => { window.wasHacked = true; }; }")
    until(lambda: "onerror" in (shown.page.locator("svg.dra-hw").first.text_content() or ""), "names are drawn")
    for name in ("Devices", "Findings", "Why ", "Goals", "YAML"):
        shown.page.locator(".dra-tab", has_text=name).click()
    shown.page.get_by_role("button", name="Graph").click()
    shown.page.locator(".dra-graph [role=treeitem]").first.wait_for()
    assert shown.page.locator("img[src='x']").count() == 0
    assert not shown.page.evaluate("() => window.wasHacked")


def test_a_question_about_the_file_covers_nothing_and_loses_nothing(open_notebook, server):
    """It stands in a row of its own: strip and buttons can be seen, and are where they were once it is gone."""
    shown = opened(open_notebook, 'file="asked.dralab.yaml"')
    file = server.root / "asked.dralab.yaml"
    shown.button("More gpu").click()
    until(file.exists, "the drawing is on disk")
    shown.page.get_by_text("You ask for 3 A100").wait_for()
    strip, chips = (box_of(shown.page.locator(name)) for name in (".dra-answer", ".dra-palette"))
    file.write_text(file.read_text(encoding="utf-8").replace("name: gpu-nic-pairs", "name: from-disk"))
    shown.button("More gpu").click()
    ask = shown.page.locator(".dra-ask")
    ask.wait_for()
    low = box_of(ask)
    until(lambda: box_of(shown.page.locator(".dra-palette"))["y"] >= low["y"] + low["height"], "nothing is covered")
    assert box_of(shown.page.locator(".dra-answer")) == strip
    ask.get_by_role("button", name="Use the file").click()
    until(lambda: shown.lab.eval("lab.sketch.name") == "from-disk", "the file's drawing")
    until(lambda: box_of(shown.page.locator(".dra-palette")) == chips, "the row is gone")


SUBSHELLS = "[t.name for t in __import__('threading').enumerate() if t.name.startswith('subshell')]"
_SEND = "where => { window.jupyterapp.serviceManager.kernels.commsOverSubshells = where; }"


@pytest.fixture
def on_a_second_thread(planner):
    """The planner in a JupyterLab with its own default, which `dra-lab` does not start it with."""
    planner.page.evaluate(_SEND, "perCommTarget")
    until(lambda: planner.lab.eval(SUBSHELLS), "the kernel has a second thread for widgets")
    yield planner
    planner.page.evaluate(_SEND, "disabled")
    until(lambda: not planner.lab.eval(SUBSHELLS), "the second thread has ended")


def test_the_kernel_has_no_second_thread_for_widgets(planner):
    """As `dra-lab` starts JupyterLab, a drawing by hand and one by a cell never change the planner at the same time."""
    planner.button("Clear").click()
    planner.sentence("Nothing is drawn yet")
    assert planner.lab.eval(SUBSHELLS) == []


def test_the_planner_answers_from_a_second_thread(on_a_second_thread):
    """Where JupyterLab was started by itself, what is cleared and undone by hand is answered as well."""
    planner = on_a_second_thread
    planner.button("Clear").click()
    planner.sentence("Nothing is drawn yet")
    planner.button("Undo").click()
    planner.sentence("Fits on 3 of 4")
