"""The notebooks of the course: short, without answers, and they run from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from dra_lab import Lesson
from dra_lab.course.lesson_text import lessons

COURSE = Path(__file__).parents[2] / "notebooks" / "course"
LESSONS = sorted(COURSE.glob("[0-9]*.ipynb"))


def cells(path: Path, kind: str) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def test_every_lesson_has_a_notebook():
    """Lessons and notebooks have the same names, in the same order."""
    assert [path.stem for path in LESSONS] == [lesson.id.replace("-", "_") for lesson in lessons()]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_notebook_has_nothing_but_the_lesson(path: Path):
    """Its code opens the lesson: no checker, no answer."""
    name = path.stem.replace("_", "-")
    assert cells(path, "code") == [f'from dra_lab import Lesson\n\nlesson = Lesson("{name}")\nlesson']


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_writes_nothing(path: Path, tmp_path, monkeypatch):
    """Run All shows the lesson, and leaves the folder empty."""
    monkeypatch.chdir(tmp_path)
    made: dict[str, Lesson] = {}
    for source in cells(path, "code"):
        exec(source, made)
    assert made["lesson"].run.lesson.number == int(path.stem[:2])
    assert list(tmp_path.iterdir()) == []
    made["lesson"].close()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_next_lesson_is_linked(path: Path):
    """The link at the end leads to a notebook that is there."""
    (target,) = re.findall(r"\]\(([^)]+)\)", cells(path, "markdown")[-1])
    assert (COURSE / target).is_file()
