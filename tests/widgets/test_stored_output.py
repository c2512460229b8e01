"""What a notebook stores of the planner and of each view: the answer as HTML with the picture, and as text."""

from __future__ import annotations

from base64 import b64decode
from xml.etree import ElementTree as ET

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from small_plans import HOSTILE, hostile_cluster
from widget_messages import answered, set_traits

from dra_lab import ClaimCanvas, HardwareView, Lab, PlanView, Session, read_sketch
from dra_lab.widgets.stored_output import as_image

WIDGET = "application/vnd.jupyter.widget-view+json"
SENTENCE = "Fits on 3 of 4 nodes now"


def bundle_of(view):
    """Return what a notebook gets of a view, by MIME type."""
    shown = view._repr_mimebundle_()
    return shown[0] if isinstance(shown, tuple) else shown


def stored(view):
    """Return the document that the browser stores for a view."""
    return view.get_state("_stored")["_stored"]


def picture_in(html):
    """Return the picture of a stored document as XML."""
    code = html.partition("data:image/svg+xml;base64,")[2].partition('"')[0]
    return ET.fromstring(b64decode(code))


@pytest.fixture(scope="module")
def executed():
    """A notebook with a planner, run by a program; no person could use the widget."""
    cells = ["from dra_lab import Lab\nlab = Lab(file=None)", "lab", "lab.bar"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook


@pytest.mark.parametrize("view", [ClaimCanvas, HardwareView, PlanView])
def test_each_view_stores_the_sentence_of_the_answer(session, view):
    shown = bundle_of(view(session))
    assert WIDGET in shown
    assert SENTENCE in shown["text/html"]
    assert SENTENCE in shown["text/plain"]


def test_a_planner_stores_its_answer_with_the_picture(session):
    """The picture is an image: a notebook that is not trusted would lose the elements of an SVG."""
    shown = bundle_of(Lab(session=session))
    assert SENTENCE in shown["text/html"]
    assert "<svg" not in shown["text/html"]
    assert picture_in(shown["text/html"]).get("aria-label") == f"Hardware of node {session.answer.node}"


def test_a_misfit_is_stored_with_its_reason(session):
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    assert "Does not fit" in bundle_of(Lab(session=session))["text/html"]


def test_hostile_names_are_text_in_what_is_stored():
    session = Session(hostile_cluster(), sketch=read_sketch("sample:eks-p4d/four-pairs"))
    answered(session)
    html = bundle_of(PlanView(session))["text/html"]
    session.close()
    assert "<img src=x" not in html
    assert "<script" not in html
    assert "&lt;img src=x" in as_image("<svg/>", HOSTILE)


def test_the_browser_gets_what_to_store_only_where_it_can_store_it(session):
    """The extension of JupyterLab says so; each further answer is sent once it has settled."""
    view = PlanView(session)
    assert stored(view) == ""
    set_traits(view, _stores=True)
    assert SENTENCE in stored(view)
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    answered(session)
    assert "4 of 4 GPUs paired" in stored(view)


def test_one_view_of_a_planner_speaks_for_its_cell(session):
    """The others would put their own document into the same output."""
    lab = Lab(session=session)
    answered(session)
    views = (lab.bar, lab.canvas, lab.hardware, lab.plan_view)
    for view in views:
        set_traits(view, _stores=True)
    assert [bool(stored(view)) for view in views] == [False, False, False, True]


def test_a_notebook_that_a_program_runs_stores_the_answer_alone(executed):
    """The answer is waited for, and no page says later that there is no widget."""
    (output,) = executed.cells[1].outputs
    assert set(output.data) == {"text/plain", "text/html"}
    assert SENTENCE in output.data["text/html"]


def test_nbconvert_shows_sentence_and_picture(executed):
    page, _ = HTMLExporter().from_notebook_node(executed)
    assert SENTENCE in page
    assert "data:image/svg+xml;base64," in page


def test_nbconvert_shows_the_answer_of_a_notebook_that_a_person_saved(session):
    """JupyterLab saves no state of widgets, so the page takes the HTML."""
    output = nbformat.v4.new_output("display_data", data=bundle_of(Lab(session=session)))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("lab", outputs=[output])])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert SENTENCE in page
    assert "data:image/svg+xml;base64," in page
