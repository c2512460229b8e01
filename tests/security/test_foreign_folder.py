"""`dra-lab lab` in a folder that a stranger prepared: nothing in it runs, and nothing outside it is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def start(folder):
    """Start `dra-lab lab` in a folder up to the moment in which JupyterLab has read its options."""
    command = [Path(sys.executable).parent / "dra-lab", "lab", "--version"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with a package `dra_lab` and with links where a notebook was written once; it has been started in."""
    pytest.importorskip("jupyterlab", reason="needs JupyterLab")
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "dra_lab").mkdir()
    (folder / "dra_lab" / "__init__.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    (folder / "victim").write_text("mine")
    (folder / "plan.ipynb.new").symlink_to(folder / "victim")
    (folder / "plan.ipynb").symlink_to(folder / "made")
    start(folder)
    return folder


@pytest.mark.long
def test_a_start_imports_nothing_from_the_current_folder(prepared):
    """A package `dra_lab` in the current folder is not imported in place of the installed one."""
    assert not (prepared / "ran").exists()


@pytest.mark.long
@pytest.mark.parametrize("name", ["victim", "made"])
def test_a_notebook_is_never_written_through_a_link(prepared, name):
    """A link with the notebook's name, or with that of an unfinished one, is not followed."""
    path = prepared / name
    assert (path.read_text() if path.exists() else None) == {"victim": "mine", "made": None}[name]


@pytest.mark.long
def test_a_notebook_takes_the_next_free_name(prepared):
    """A name that a link has is left alone."""
    assert (prepared / "plan-2.ipynb").is_file()


@pytest.mark.long
def test_no_two_starts_create_the_same_notebook(tmp_path):
    """The content of a new notebook cannot be written in advance."""
    pytest.importorskip("jupyterlab", reason="needs JupyterLab")
    marks = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        start(tmp_path / name)
        marks.add(json.dumps(json.loads((tmp_path / name / "plan.ipynb").read_text())["metadata"]))
    assert len(marks) == 2
