"""What a notebook stores for a planner, and what the page shows in its place without a kernel."""

from __future__ import annotations

import nbformat
import pytest
from lab_page import LabPage, write_notebook
from lab_server import LabServer, until
from playwright.sync_api import Browser

from dra_lab.widgets.stored_output import as_image

pytestmark = [pytest.mark.browser, pytest.mark.long]

PLANNER = "from dra_lab import Lab\nlab = Lab(file=None)\nlab"
OTHER = "from dra_lab.session import read_sketch; lab.sketch = read_sketch('sample:eks-p4d/four-pairs')"
STORED_HTML = "window.jupyterapp.shell.currentWidget.content.widgets[0].model.toJSON().outputs[0].data['text/html']"


def stored(server: LabServer, name: str) -> dict[str, str]:
    """Return the only output of a saved notebook by MIME type."""
    ((output,),) = [cell.outputs for cell in nbformat.read(server.root / name, as_version=4).cells]
    return output.data


@pytest.fixture
def page(server: LabServer, chromium: Browser):
    """A page of its own: its notebook is saved and opened again."""
    made = LabPage(chromium.new_context(reduced_motion="reduce"), server)
    yield made
    made.check()
    made.close()


def test_what_is_stored_follows_the_planner(server, page):
    """Some seconds after an edit, and the view on the screen is the same as before."""
    write_notebook(server.root / "follows.ipynb", [PLANNER])
    page.open("follows.ipynb").run_all()
    page.page.locator(".dra-lab .dra-answer[data-state=fits]").first.wait_for()
    page.page.locator(".dra-lab").evaluate("element => { element.isTheFirst = true }")
    page.run(OTHER)
    until(lambda: "four-pairs" in page.page.evaluate(STORED_HTML), "the output follows")
    assert page.page.locator(".dra-lab").evaluate("element => element.isTheFirst")
    page.command("docmanager:save")
    assert "4 of 4 GPUs paired" in "".join(stored(server, "follows.ipynb")["text/html"])
    server.end_sessions("follows.ipynb")


def test_a_notebook_that_is_not_trusted_shows_the_stored_picture(server, page):
    """JupyterLab's sanitizer leaves the image and the words, and the words of the picture are not among them."""
    image = as_image('<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40"><text>gpu-4</text></svg>', "node")
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "gone", "version_major": 2, "version_minor": 0}}
    data["text/html"] = f'<div class="dra-result"><p>Fits here</p>{image}</div>'
    cell = nbformat.v4.new_code_cell("lab", outputs=[nbformat.v4.new_output("display_data", data=data)])
    write_notebook(server.root / "shared.ipynb", ["lab"])
    notebook = nbformat.read(server.root / "shared.ipynb", as_version=4)
    notebook.cells = [cell]
    nbformat.write(notebook, server.root / "shared.ipynb")
    page.open("shared.ipynb")
    output = page.page.locator(".jp-OutputArea-output")
    output.get_by_text("Fits here").wait_for()
    assert output.locator("img").evaluate("image => image.naturalWidth") == 90
    assert "gpu-4" not in (output.text_content() or "")
    server.end_sessions("shared.ipynb")
