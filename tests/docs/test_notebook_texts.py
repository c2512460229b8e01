"""The notebooks: short texts, imports from the public API only, no outputs."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").rglob("*.ipynb"))
by_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


@by_notebook
def test_a_notebook_imports_from_the_public_api_only(path: Path):
    """Names come from `dra_lab`, never from a module inside it."""
    assert re.findall(r"(?:from|import) dra_lab\.\S+", "\n".join(cells(path, "code"))) == []


@by_notebook
def test_the_text_of_a_cell_is_short(path: Path):
    """A cell of text has one point, in at most 70 words."""
    assert [text for text in cells(path, "markdown") if len(text.split()) > 70] == []


@by_notebook
def test_a_notebook_is_kept_without_outputs(path: Path):
    """Outputs are made where a notebook runs."""
    kept = nbformat.read(path, as_version=4).cells
    assert [cell.source for cell in kept if cell.get("outputs") or cell.get("execution_count")] == []
