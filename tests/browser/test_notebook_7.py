"""The planner in Notebook 7, which has one notebook in a page and no tabs."""

from __future__ import annotations

import sys

import pytest
from lab_page import LabPage, write_notebook
from lab_server import LabServer, until

pytestmark = [pytest.mark.browser, pytest.mark.long]

NOTHING_OF_OURS = "1 + 1"
PLANNER = "from dra_lab import Lab\nlab = Lab(file=None)\nlab"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory, chromium):
    """Open a notebook of cells in Notebook 7 and run it."""
    server = LabServer(tmp_path_factory.mktemp("notebook7"), program=(sys.executable, "-m", "notebook"))
    pages = []

    def shown(name, *cells):
        write_notebook(server.root / f"{name}.ipynb", cells)
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        page = LabPage(context, server).goto(f"notebooks/{name}.ipynb")
        pages.append((page, context))
        page.notebook = f"{name}.ipynb"
        status = "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        page.page.wait_for_function(status)
        return page.run_all()

    yield shown
    for page, context in pages:
        page.release()
        context.close()
    server.close()


@pytest.fixture(scope="module")
def planner(notebook):
    """The planner in a cell."""
    return notebook("planner", PLANNER)


def first_lines(page):
    """Return the first line of each error of a page."""
    return [error.splitlines()[0] for error in page.errors]


def test_the_planner_answers_and_adds_no_error_of_its_own(notebook, planner):
    """A count is changed by a click, and the page reports what it reports without our widgets."""
    before = notebook("empty", NOTHING_OF_OURS)
    until(lambda: before.page.locator(".jp-OutputArea-output").count(), "the cell has run")
    box = planner.page.locator(".react-flow__node").filter(has_text="gpu").first
    box.get_by_role("button", name="More gpu").click()
    until(lambda: planner.eval("lab.sketch.requests[0].exactly.count") == 3, "three GPUs")
    planner.page.get_by_text("You ask for 3 A100").wait_for()
    assert first_lines(planner) == first_lines(before)


def test_a_tab_of_its_own_needs_jupyterlab(planner):
    """The button says so instead of doing nothing."""
    planner.page.get_by_role("button", name="Open in a tab").click()
    button = planner.page.get_by_role("button", name="Open in a tab")
    until(button.is_disabled, "the button says that it needs JupyterLab")
    assert button.get_attribute("title") == "A separate tab needs JupyterLab"
