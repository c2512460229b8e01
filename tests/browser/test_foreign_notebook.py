"""Notebooks of strangers, and folders with Python files: nothing runs because a notebook was opened."""

from __future__ import annotations

import json
import shutil

import pytest
from lab_page import wait_for_cells
from lab_server import until

pytestmark = pytest.mark.browser

EVIL = "import pathlib; pathlib.Path('ran').touch()"
IMPORTED = "Python could import {} in place of dra_lab"


@pytest.fixture
def folder(server):
    """A folder of the server for one test."""
    path = server.root / "stranger"
    path.mkdir()
    yield path
    shutil.rmtree(path)
    for left in server.root.glob("plan*"):
        left.unlink()


def new_plan(page, folder=""):
    """Do what a click on the launcher card does, in a folder of the server."""
    page.page.evaluate("cwd => window.jupyterapp.commands.execute('dra-lab:new-plan', { cwd })", folder)


def wait_for_planner(page):
    wait_for_cells(page)
    page.page.locator(".dra-lab .dra-answer.has-figures").wait_for()


def executed(page):
    """Return the cells that ran in the kernel of the notebook on the screen."""
    return page.eval("get_ipython().history_manager.input_hist_raw[1:]")


def as_created(server):
    """Return the text of the server's `plan.ipynb` as it was when it was created."""
    notebook = json.loads((server.root / "plan.ipynb").read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return json.dumps(notebook)


def test_the_content_of_our_own_notebook_runs_nothing_in_a_strangers_folder(doorway, server, folder):
    """A copy of a notebook that ran here, beside a `dra_lab.py`, runs nothing, trusted or not."""
    page = doorway()
    new_plan(page)
    wait_for_planner(page)
    (folder / "plan.ipynb").write_text(as_created(server))
    (folder / "dra_lab.py").write_text(EVIL)
    page.open_here("stranger/plan.ipynb")
    page.page.get_by_text(IMPORTED.format("dra_lab.py")).wait_for()
    assert (executed(page), (folder / "ran").exists()) == ([], False)


@pytest.mark.parametrize("name", ["dra_lab.py", "numpy/__init__.py", "google/protobuf/message.py", "pyarrow.so"])
def test_a_new_plan_waits_beside_python_files(doorway, folder, name):
    """A click that creates a plan runs nothing where Python could import a file of the folder, and names the file."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(EVIL)
    page = doorway()
    new_plan(page, "stranger")
    page.page.get_by_text(IMPORTED.format(name.partition("/")[0])).wait_for()
    page.adopt("stranger/plan.ipynb")
    assert executed(page) == []


def test_a_plan_that_did_not_run_waits_behind_one_button_when_it_is_reopened(doorway, server, folder):
    page = doorway()
    new_plan(page)
    wait_for_planner(page)
    copy = as_created(server)
    save = """content => window.jupyterapp.serviceManager.contents.save(
        'stranger/plan.ipynb', { type: 'notebook', format: 'json', content })"""
    page.page.evaluate(save, json.loads(copy))
    page.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    page.open_here("stranger/plan.ipynb")
    button = page.page.get_by_role("button", name="Run the cell to plan")
    button.wait_for()
    assert executed(page) == []
    button.click()
    wait_for_planner(page)


def test_a_plan_that_ran_shows_its_stored_answer_and_one_button_when_it_is_reopened(doorway, server, folder):
    """Without its kernel a reopened plan runs nothing: the answer is the stored one."""
    page = doorway()
    new_plan(page)
    wait_for_planner(page)
    outputs = "() => JSON.stringify(window.jupyterapp.shell.currentWidget.context.model.toJSON().cells)"
    until(lambda: "dra-result" in page.page.evaluate(outputs), "the notebook stores the answer")
    page.command("docmanager:save")
    page.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    server.end_sessions("plan.ipynb")
    page.open_here("plan.ipynb")
    page.page.get_by_role("button", name="Run the cell to plan").wait_for()
    assert executed(page) == []
