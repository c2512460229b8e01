"""Notebook 7, the lesson: it runs from top to bottom, judges the student's drawing, and never overwrites it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from dra_lab.session import read_sketch

LESSON = Path(__file__).parents[1] / "notebooks" / "07_lesson.ipynb"
DRAWING = """\
apiVersion: dra-lab/v1
kind: Drawing
cluster: sample:two-sockets
sketch:
  name: mine
  requests:
  - {name: mine, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
"""
CHANGED = "from msgspec.structs import replace\ntask1.sketch = replace(answer2, name='mine')"
SHOWN = "print([request.name for request in task1.sketch.requests], task1.sketch.name)"


def lesson(*after: str, again: bool = False) -> nbformat.NotebookNode:
    """Return the lesson with more cells after it, and with `again` all of its cells once more before the last."""
    notebook = nbformat.read(LESSON, as_version=4)
    cells = list(notebook.cells)
    more = [nbformat.v4.new_code_cell(code) for code in after]
    repeated = [nbformat.from_dict({**cell, "id": f"again-{number}"}) for number, cell in enumerate(cells)]
    notebook.cells = [*cells, *more[:-1], *(repeated if again else []), *more[-1:]]
    return notebook


def run(notebook: nbformat.NotebookNode, folder: Path) -> str:
    """Run a notebook in a folder and return what its cells print."""
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    return "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")


@pytest.mark.parametrize("drawn", [False, True], ids=["nothing drawn", "a drawing of the student"])
def test_run_all_judges_the_drawing_and_keeps_its_file(drawn, tmp_path):
    """The tasks ask about the student's drawing, the answers about their own, and no file is written."""
    file = tmp_path / "lesson-task-1.dralab.yaml"
    if drawn:
        file.write_text(DRAWING)
    told = run(lesson(), tmp_path)
    assert told.splitlines()[0] == f"{'done:   ' if drawn else 'not yet:'} two GPUs are requested"
    assert (file.read_text() if file.exists() else "") == (DRAWING if drawn else "")


def test_run_all_keeps_what_was_drawn_since(tmp_path):
    """Running every cell again in the same kernel restores the drawing from its file."""
    told = run(lesson(CHANGED, SHOWN, again=True), tmp_path)
    assert told.splitlines()[-1] == "['gpu', 'nic'] mine"
    assert read_sketch(str(tmp_path / "lesson-task-1.dralab.yaml")).name == "mine"
