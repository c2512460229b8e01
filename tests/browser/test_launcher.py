"""The ways into the planner: launcher card, palette, file menu, a notebook that runs when opened, its own tab."""

from __future__ import annotations

import json
import sys

import nbformat
import pytest
from code_of import code_of
from lab_page import LabPage, wait_for_cells
from lab_server import LabServer, until

pytestmark = [pytest.mark.browser, pytest.mark.long]


# A widget with nothing of ours in it, for what only concerns the extension.
@pytest.fixture(autouse=True)
def clean_folder(server):
    """A new plan takes the first free name, so every test begins without plans."""
    for path in server.root.glob("plan*"):
        path.unlink()


DRA_LAB = [sys.executable, "-c", "import sys; from dra_lab.cli import main; sys.exit(main(['lab', *sys.argv[1:]]))"]


def cell_of(server, name):
    """Return the source of the only code cell of a notebook on the server."""
    cells = nbformat.read(server.root / name, as_version=4).cells
    (code,) = [cell.source for cell in cells if cell.cell_type == "code"]
    return code


def opened(page):
    """Wait for a notebook on the screen that has run its code cell; return its name."""
    wait_for_cells(page)
    return page.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")


def test_a_new_plan_shows_the_planner_and_not_its_code(doorway):
    """The code is one click away; nothing says that a folder was not found while the notebook is made."""
    page = doorway()
    page.page.locator(".jp-LauncherCard", has_text="DRA Lab: new plan").first.click()
    opened(page)
    shown = page.page.locator(".jp-Notebook:visible")
    shown.locator(".jp-InputCollapser, .jp-Placeholder").first.wait_for()
    assert shown.locator(".jp-CodeCell .jp-InputArea-editor:visible").count() == 0
    assert page.page.locator(".jp-Dialog").count() == 0


def test_two_plans_never_share_a_drawing(doorway, server):
    (server.root / "plan-2.dralab.yaml").write_text("{}")
    page = doorway()
    page.command("dra-lab:new-plan")
    assert opened(page) == "plan.ipynb"
    page.command("dra-lab:new-plan")
    until(lambda: opened(page) == "plan-3.ipynb", "a third name")
    assert 'file="plan-3.dralab.yaml"' in cell_of(server, "plan-3.ipynb")


def test_context_menu_plans_on_a_file_with_a_hostile_name(doorway, server):
    name = "it's \"#{1}\\n) or print('x') <b>.json"
    (server.root / name).write_text("{}")
    page = doorway()
    page.command("filebrowser:refresh")
    page.page.locator(".jp-DirListing-item", has_text="or print").click(button="right")
    page.page.locator(".lm-Menu-item", has_text="Plan with DRA Lab").click()
    code = None
    try:
        assert opened(page) == "plan.ipynb"
        code = cell_of(server, "plan.ipynb").splitlines()[1]
    finally:
        (server.root / name).unlink()
    argument = code.removeprefix("lab = Lab(").removesuffix(', file="plan.dralab.yaml")')
    assert json.loads(argument) == f"./{name}"


def end_once(get_ipython):
    """Let the first kernel that finds the file end at the moment that the file names, as in a crash."""
    import os
    import pathlib
    import threading

    _moment = pathlib.Path("plan-ends-when")

    def _end(*args, **kwargs):
        os._exit(9)

    if _moment.exists():
        _when = _moment.read_text()
        _moment.unlink()
        if _when == "its cell runs":
            get_ipython().events.register("pre_run_cell", _end)
        elif _when == "its screen is shown":
            get_ipython().events.register("post_run_cell", lambda _: threading.Timer(0.3, _end).start())


@pytest.mark.parametrize("moment", ["its cell runs", "its screen is shown"])
def test_a_plan_is_there_after_its_kernel_ended_while_it_opened(doorway, server, moment):
    """Jupyter starts a kernel that crashed again; the planner that was being opened in it is opened again too."""
    startup = server.base / "ipython" / "profile_default" / "startup" / "90-ends.py"
    startup.parent.mkdir(parents=True, exist_ok=True)
    startup.write_text(code_of(end_once))
    (server.root / "plan-ends-when").write_text(moment)
    page = doorway()
    page.command("dra-lab:new-plan")
    page.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    page.adopt("plan.ipynb")
    page.wait_for_new_kernel()
    until(lambda: page.eval("'lab' in globals()"), "the new kernel holds a planner")
    page.page.locator(".dra-lab .dra-answer.has-figures").wait_for()
    page.page.locator(".dra-lost").first.wait_for(state="detached")
    startup.unlink()
    assert not (server.root / "plan-ends-when").exists()


def test_dra_lab_opens_a_planner_that_has_run(chromium, tmp_path):
    """`dra-lab` in an empty folder: JupyterLab opens on a planner notebook that has run, without a click."""
    server = LabServer(tmp_path / "lab", program=DRA_LAB)
    page = LabPage(chromium.new_context(), server)
    try:
        page.goto("")
        assert opened(page) == "plan.ipynb"
        assert page.foreign == []
    finally:
        page.close()
        server.end_sessions()
        server.close()
